"""What an administrator may expect of its topics."""

from ottla.testing.history import AnomalyKind
from ottla.testing.sim.administered_topics import AdministeredLog, AdministeredTopic, AdministeredTopics

ONE, TWO = b"1" * 16, b"2" * 16


def topics_with(name: str, topic_id: bytes = ONE) -> AdministeredTopics:
    topics = AdministeredTopics()
    topics.created(name, topic_id, 2, {"retention.ms": "5"})
    return topics


def kinds(topics: AdministeredTopics, found: dict[bytes, tuple[str, int]]) -> list[AnomalyKind]:
    return [anomaly.kind for anomaly in topics.check_listing(found)]


def test_a_topic_stays_until_its_deletion_is_asked_for() -> None:
    topics = topics_with("a")
    assert kinds(topics, {ONE: ("a", 2)}) == []
    assert kinds(topics, {}) == [AnomalyKind.LOST_CHANGE]
    # A topic of the same name is another one.
    assert kinds(topics, {TWO: ("a", 2)}) == [AnomalyKind.LOST_CHANGE]
    topics.ask_deletion("a")
    assert kinds(topics, {}) == kinds(topics, {ONE: ("a", 2)}) == []


def test_a_topic_whose_deletion_was_acknowledged_does_not_come_back() -> None:
    topics = topics_with("a")
    topics.acknowledge_deletion(topics.ask_deletion("a"), was_repeated=False)
    assert kinds(topics, {ONE: ("a", 2)}) == [AnomalyKind.UNDONE_DELETION]
    assert kinds(topics, {TWO: ("a", 2)}) == []


def test_a_name_is_used_again_unless_a_copy_of_some_change_may_still_come() -> None:
    for was_repeated, in_doubt_count, is_free in ((False, 0, True), (True, 0, False), (False, 1, False)):
        topics = AdministeredTopics()
        name = topics.take_name()
        topics.created(name, ONE, 1, {})
        topics.topics[name].in_doubt_count = in_doubt_count
        topics.acknowledge_deletion(topics.ask_deletion(name), was_repeated=was_repeated)
        assert (topics.take_name() == name) is is_free


def test_partitions_are_at_least_those_acknowledged_and_at_most_those_asked_for() -> None:
    topics = topics_with("a")
    topics.topics["a"].partitions_asked = 3
    found = {count: kinds(topics, {ONE: ("a", count)}) for count in range(1, 5)}
    assert found == {1: [AnomalyKind.LOST_CHANGE], 2: [], 3: [], 4: [AnomalyKind.LOST_CHANGE]}


def setting_anomalies(topic: AdministeredTopic, value: str | None) -> int:
    return len(list(topic.check_settings({"retention.ms": value})))


def test_a_setting_has_the_value_acknowledged_last_or_one_in_doubt() -> None:
    topic = topics_with("a").topics["a"]
    assert setting_anomalies(topic, "5") == 0
    assert setting_anomalies(topic, "6") == setting_anomalies(topic, None) == 1
    setting = topic.setting("retention.ms")
    setting.ask("6")
    assert setting_anomalies(topic, "5") == setting_anomalies(topic, "6") == 0
    setting.acknowledge("6", was_repeated=False)
    assert setting_anomalies(topic, "5") == 1
    setting.ask("7")
    setting.acknowledge("7", was_repeated=True)
    setting.ask("8")
    setting.acknowledge("8", was_repeated=False)
    # Another copy of the change to 7 may have come last.
    assert setting_anomalies(topic, "7") == setting_anomalies(topic, "8") == 0
    assert setting_anomalies(topic, "6") == 1


def log_anomalies(log: AdministeredLog, start: int, found: dict[int, bytes], life: int | None = 1) -> list[AnomalyKind]:
    return [anomaly.kind for anomaly in log.check("a-0", start, found, life)]


def test_records_from_the_offset_asked_for_stay() -> None:
    log = AdministeredLog({0: b"x", 1: b"y"})
    log.start_asked = 1
    assert log_anomalies(log, 1, {1: b"y"}) == log_anomalies(log, 0, {0: b"x", 1: b"y"}) == []
    assert log_anomalies(log, 1, {}) == log_anomalies(log, 1, {1: b"z"}) == [AnomalyKind.LOST_WRITE]
    assert log_anomalies(log, 2, {1: b"y"}) == [AnomalyKind.LOST_WRITE]


def test_the_start_of_a_log_does_not_go_back_within_a_life_of_its_server() -> None:
    log = AdministeredLog({0: b"x", 1: b"y"})
    log.start_asked = 2
    log.saw_start(2, life=1)
    assert log_anomalies(log, 1, {}, life=1) == [AnomalyKind.LOG_START_WENT_BACK]
    assert log_anomalies(log, 1, {}, life=2) == log_anomalies(log, 1, {}, life=None) == []
