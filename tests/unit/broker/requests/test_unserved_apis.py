from pathlib import Path

import pytest

from harness.running_node import RunningNode, run_node
from ottla.broker import handlers
from ottla.broker.requests.unserved_apis import _HINTS, UnservedApi, describe_api
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest


def test_an_api_that_is_not_served_comes_with_what_to_set() -> None:
    assert str(UnservedApi(68, "billing")) == (
        "API key 68 (CONSUMER_GROUP_HEARTBEAT) is not served; the client wants the group protocol of KIP-848: "
        "set group.protocol=classic in it (client id 'billing')"
    )
    assert describe_api(ApiKey.CREATE_ACLS) == "API key 30 (CREATE_ACLS) is not served"
    assert describe_api(999) == "API key 999 is not one of Kafka's"


def test_a_client_id_of_any_length_takes_one_line() -> None:
    assert str(UnservedApi(999, "x" * 32_767)).endswith(f"(client id '{'x' * 100}'...)")
    assert str(UnservedApi(999, None)).endswith("(client id None)")


def test_no_hint_is_about_an_api_that_is_served() -> None:
    served = {module.API_KEY for module in handlers.load_handlers()}
    assert not served & _HINTS.keys()


def test_a_client_that_tries_the_protocol_of_kip_848_is_told_of_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def try_it(running: RunningNode) -> None:
        for _ in range(3):
            client = await running.connect()
            client.send(ConsumerGroupHeartbeatRequest(group_id="g"), 1, "billing")
            assert await client.is_closed_by_peer()

    run_node(tmp_path, try_it)
    told = [record.getMessage() for record in caplog.records if "KIP-848" in record.getMessage()]
    assert len(told) == 1
    assert told[0].startswith("Closing the connection from 127.0.0.1: API key 68 (CONSUMER_GROUP_HEARTBEAT)")
    assert "set group.protocol=classic in it (client id 'billing')" in told[0]
