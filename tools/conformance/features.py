"""What tests wait for: features that Ottla does not have yet. A test that passes must not be named here."""

TRANSACTIONS = "transactions"
ACLS = "ACLs"
SHARE_GROUPS = "share groups (KIP-932)"
ELECTIONS = "elections, several brokers"
REASSIGNMENT = "reassignment, several brokers"

WAITING = {
    "librdkafka": {
        "0081_admin": ACLS,
        "0098_consumer_txn": TRANSACTIONS,
        "0103_transactions": TRANSACTIONS,
        "0109_auto_create_topics": ACLS,
        "0115_producer_auth": ACLS,
        "0119_consumer_auth": ACLS,
        "0129_fetch_aborted_msgs": TRANSACTIONS,
        "0137_barrier_batch_consume": TRANSACTIONS,
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
        "admin: test_elect_leaders": ELECTIONS,
        "admin: test_alter_partition_reassignments": REASSIGNMENT,
        "producer: test_transactional_producer_messages": TRANSACTIONS,
        "producer: test_transactional_producer_offsets": TRANSACTIONS,
    },
}

# Why a test leaves itself out, on any server.
LEFT_OUT = {
    "librdkafka": {
        "0053_stats": "was built without RapidJSON",
        "0092_mixed_msgver": "wants message formats that Kafka 4 has dropped",
        "0097_ssl_verify": "wants TLS",
        "0101_fetch_from_follower": "wants several brokers",
        "0110_batch_size": "was built without RapidJSON",
        "0126_oauthbearer_oidc": "wants SASL",
        "0135_sasl_credentials": "wants SASL",
        "0142_reauthentication": "wants SASL",
    },
    "kafka-python": {},
}
