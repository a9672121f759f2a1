from ottla.cli.kafka.quorum.broker_api_versions import api_lines


def test_each_api_is_told_with_the_version_that_both_sides_know() -> None:
    lines = api_lines({0: (0, 99), 1: (4, 5), 47: (0, 0), 3: (98, 99), 999: (1, 2)})
    assert lines[0] == "Produce(0): 0 to 99 [usable: 13]"
    assert "Fetch(1): 4 to 5 [usable: 5]" in lines
    assert "OffsetDelete(47): 0 [usable: 0]" in lines
    assert "Metadata(3): 98 to 99 [unusable: node too new]" in lines
    assert lines[-1] == "UNKNOWN(999): 1 to 2"


def test_what_clients_could_miss_is_named_and_what_brokers_do_among_themselves_is_not() -> None:
    lines = api_lines({})
    assert "UpdateFeatures(57): UNSUPPORTED" in lines
    assert not any(line.startswith(("LeaderAndIsr", "Vote(", "BrokerHeartbeat")) for line in lines)


def test_a_node_may_be_too_old() -> None:
    assert "Fetch(1): 0 to 3 [unusable: node too old]" in api_lines({1: (0, 3)})
