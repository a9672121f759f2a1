import pytest

from ottla.cli.kafka import TOOLS
from ottla.cli.kafka.run_class import tool_of


@pytest.mark.parametrize(
    ("class_name", "tool"),
    [
        ("kafka.tools.DumpLogSegments", "kafka-dump-log"),
        ("org.apache.kafka.tools.VerifiableProducer", "kafka-verifiable-producer"),
        ("org.apache.kafka.tools.consumer.ConsoleConsumer", "kafka-console-consumer"),
        ("kafka.admin.TopicCommand", "kafka-topics"),
        ("kafka.Kafka", "kafka-server-start"),
    ],
)
def test_a_class_has_the_tool_of_its_name_whatever_its_package(class_name: str, tool: str) -> None:
    assert tool_of(class_name) == tool
    assert tool in TOOLS


@pytest.mark.parametrize("class_name", ["DumpLogSegments", "com.example.DumpLogSegments", "kafka.tools.Nothing"])
def test_other_classes_have_none(class_name: str) -> None:
    assert tool_of(class_name) is None
