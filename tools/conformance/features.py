"""What tests wait for: features that Ottla does not have yet. A test that passes must not be named here."""

ACLS = "ACLs"
SCRAM = "SASL/SCRAM"
SHARE_GROUPS = "share groups (KIP-932)"
REASSIGNMENT = "reassignment"

WAITING = {
    "librdkafka": {
        "0081_admin": f"{ACLS}, {SCRAM}",
        "0081_admin: CreateAcls": ACLS,
        "0081_admin: DescribeAcls": ACLS,
        "0081_admin: DeleteAcls": ACLS,
        "0081_admin: UserScramCredentials": SCRAM,
        "0109_auto_create_topics": ACLS,
        "0115_producer_auth": ACLS,
        "0119_consumer_auth": ACLS,
        "0170_share_consumer_subscription": SHARE_GROUPS,
        "0171_share_consumer_consume": SHARE_GROUPS,
        "0172_share_consumer_acknowledge": SHARE_GROUPS,
        "0173_share_consumer_commit_async": SHARE_GROUPS,
        "0174_share_consumer_concurrency": SHARE_GROUPS,
        "0175_share_consumer_groups": SHARE_GROUPS,
        "0176_share_consumer_commit_sync": SHARE_GROUPS,
        "0177_share_consumer_transactions": SHARE_GROUPS,
        "0178_share_consumer_close": SHARE_GROUPS,
        "0179_share_consumer_destroy": SHARE_GROUPS,
        "0180_share_consumer_config": SHARE_GROUPS,
        "0181_share_consumer_topic_delete": SHARE_GROUPS,
        "0184_share_consumer_topic_recreate": SHARE_GROUPS,
        "0185_share_consumer_max_poll_interval": SHARE_GROUPS,
    },
    "kafka-python": {
        "admin: test_create_describe_delete_acls": ACLS,
        "admin: test_alter_partition_reassignments": REASSIGNMENT,
    },
}

SASL_TESTS = ("test_admin", "test_client", "test_produce_and_consume")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

# Why a test leaves itself out, on any server.
LEFT_OUT = {
    "librdkafka": {
        "0028_long_topicnames": "is known to fail, says librdkafka",
        "0047_partial_buf_tmout": "is known to fail, says librdkafka",
        "0092_mixed_msgver": "wants message formats that Kafka 4 has dropped",
        "0097_ssl_verify": "wants TLS",
        "0101_fetch_from_follower": "wants brokers in racks",
        "0126_oauthbearer_oidc": "wants SASL",
        "0135_sasl_credentials": "wants SASL",
        "0142_reauthentication": "wants SASL",
    },
    "kafka-python": {
        "consumer: test_kafka_consumer_offsets_for_time_old": "wants a broker before 0.10.1",
        "producer: test_end_to_end[snappy]": "wants python-snappy",
        "producer: test_kafka_producer_proper_record_metadata[snappy]": "wants python-snappy",
        **{f"sasl: {test}[{mechanism}]": "wants SASL" for test in SASL_TESTS for mechanism in MECHANISMS},
    },
}
