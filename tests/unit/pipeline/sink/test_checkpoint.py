from ottla.client import TopicPartition
from ottla.pipeline.sink.checkpoint import topic_offsets

ABOUT = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{"a":"1"}}'


def test_the_offsets_of_all_kafka_sources_are_found() -> None:
    planned = f'v1\n{ABOUT}\n{{"a":{{"0":5,"12":7}},"b":{{"0":1}}}}\n-\n{{"c":{{"3":0}}}}'
    assert topic_offsets(planned) == {
        TopicPartition("a", 0): 5,
        TopicPartition("a", 12): 7,
        TopicPartition("b", 0): 1,
        TopicPartition("c", 3): 0,
    }


def test_what_other_sources_write_is_left_out() -> None:
    sources = ['{"logOffset":3}', '{"offset":400,"timestamp":4000}', "17", '"text"', '{"a":{}}', "{", '{"a":{"x":1}}']
    assert topic_offsets("\n".join(["v1", ABOUT, *sources])) == {}


def test_sources_with_names_are_one_level_deeper() -> None:
    assert topic_offsets(f'v2\n{ABOUT}\n{{"orders":{{"a":{{"0":5}}}}}}') == {TopicPartition("a", 0): 5}


def test_of_two_sources_that_read_one_partition_the_one_behind_counts() -> None:
    planned = f'v1\n{ABOUT}\n{{"a":{{"0":5}}}}\n{{"a":{{"0":9,"1":2}}}}'
    assert topic_offsets(planned) == {TopicPartition("a", 0): 5, TopicPartition("a", 1): 2}
