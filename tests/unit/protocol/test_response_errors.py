from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions_response import ApiVersionsResponse
from ottla.protocol.messages.describe_configs_response import DescribeConfigsResponse
from ottla.protocol.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from ottla.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from ottla.protocol.response_errors import error_codes
from ottla.protocol.schema import Message


def test_codes_are_found_at_every_depth() -> None:
    rows = [OffsetFetchResponsePartitions(error_code=code) for code in (0, 3, 3)]
    topics = [OffsetFetchResponseTopics(partitions=rows), OffsetFetchResponseTopics()]
    groups = [OffsetFetchResponseGroup(error_code=16, topics=topics), OffsetFetchResponseGroup()]
    assert sorted(error_codes(OffsetFetchResponse(error_code=25, groups=groups))) == [3, 3, 16, 25]


def test_an_answer_without_errors_has_none() -> None:
    partitions = [PartitionData(partition_index=0, records=b"x"), PartitionData(partition_index=1)]
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)])
    assert error_codes(response) == []
    assert error_codes(DescribeGroupsResponse(groups=[DescribedGroup()])) == []
    assert error_codes(DescribeConfigsResponse()) == []


def test_a_message_without_a_place_for_errors_has_none() -> None:
    class Unrelated(Message):
        __slots__ = ()
        FIELDS = (("throttle_time_ms", "int32", "0+", "", -1, ""),)

    assert error_codes(Unrelated()) == []


def test_an_error_of_the_whole_request_counts_once() -> None:
    assert error_codes(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)) == [35]
