"""Instances over a real topic, of a node in a process of its own."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from harness.waiting import eventually_async
from ottla.client import Client, NewTopic
from ottla.registry.change import Change
from ottla.registry.election import Identity
from ottla.registry.errors import RegistryError
from ottla.registry.instance import InstanceSettings, RegistryInstance
from ottla.registry.registration import Registered, Registration, register_schema
from ottla.registry.schemas_topic import TopicSettings, UnusableTopic
from ottla.registry.state import RegistryState
from ottla.schemas.schema import Schema
from ottla.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with EmbeddedCluster() as cluster:
        yield cluster.bootstrap_servers


def settings(port: int, name: str, **others: Any) -> InstanceSettings:
    """Each test has a topic and a group of its own."""
    return InstanceSettings(
        Identity("127.0.0.1", port),
        topic=TopicSettings(name, replication_factor=1),
        group_id=name,
        **({"session_timeout_ms": 6_000} | others),
    )


async def register(instance: RegistryInstance, subject: str, text: str) -> Registered:
    def decide(state: RegistryState) -> Change[Registered]:
        asked = Registration(subject, Schema(text))
        return register_schema(state, asked, defaults=instance.defaults, parse=instance.parser(state))

    return await instance.write(decide)


def play(bootstrap: str, scenario: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(bootstrap) as client:
            await scenario(client)

    asyncio.run(run())


async def until_leading(instance: RegistryInstance) -> None:
    async def is_leading() -> bool:
        return instance.is_leading

    await eventually_async(is_leading)


def test_a_schema_is_there_again_after_a_restart(bootstrap: str) -> None:
    async def scenario(client: Client) -> None:
        instance = RegistryInstance(client, settings(1, "restarted"))
        await instance.start()
        await until_leading(instance)
        stored = (await register(instance, "a", '"string"')).stored
        assert instance.state.find("a", 1) == stored
        await instance.stop()
        again = RegistryInstance(client, settings(1, "restarted"))
        await again.start()
        assert again.state.find("a", 1) == stored
        await until_leading(again)
        assert (await register(again, "b", '"int"')).stored.id == stored.id + 1
        await again.stop()

    play(bootstrap, scenario)


def test_changes_that_come_together_are_written_together_and_in_order(bootstrap: str) -> None:
    async def scenario(client: Client) -> None:
        instance = RegistryInstance(client, settings(1, "together"))
        await instance.start()
        await until_leading(instance)
        registered = await asyncio.gather(*(register(instance, f"s{number}", '"string"') for number in range(20)))
        assert {one.stored.id for one in registered} == {1}
        texts = [json.dumps({"type": "fixed", "name": "F", "size": size}) for size in range(1, 21)]
        registered = await asyncio.gather(*(register(instance, f"f{one}", text) for one, text in enumerate(texts)))
        assert [one.stored.id for one in registered] == list(range(2, 22))
        gone = asyncio.create_task(register(instance, "gone", '"int"'))
        await asyncio.sleep(0)
        gone.cancel()
        assert (await register(instance, "stays", '"int"')).stored.version == 1
        with pytest.raises(RegistryError) as refused:
            await register(instance, "large", json.dumps({"type": "enum", "name": "E", "symbols": ["A" * 1_100_000]}))
        assert refused.value.code == 42209
        await instance.stop()
        with pytest.raises(RegistryError, match="does not lead"):
            await register(instance, "late", '"int"')

    play(bootstrap, scenario)


def test_one_of_two_leads_and_the_other_takes_over(bootstrap: str) -> None:
    async def scenario(client: Client) -> None:
        first, second = (RegistryInstance(client, settings(port, "two")) for port in (1, 2))
        for instance in (first, second):
            await instance.start()
        await until_leading(first)

        async def agree() -> bool:
            return first.leader == second.leader == first.settings.identity

        await eventually_async(agree)
        # It stopped when the other one joined, and begins again.
        await until_leading(first)
        assert not second.is_leading
        with pytest.raises(RegistryError, match="does not lead"):
            await register(second, "a", '"string"')
        stored = (await register(first, "a", '"string"')).stored

        async def seen() -> Any:
            return second.state.find("a", 1)

        assert await eventually_async(seen) == stored
        await first.stop()
        await until_leading(second)
        assert (await register(second, "a", '["null","string"]')).stored.version == 2
        await second.stop()

    play(bootstrap, scenario)


def test_a_leader_that_was_asleep_is_fenced(bootstrap: str) -> None:
    """It believes that it leads, because it has not heard of its group for a while."""

    async def scenario(client: Client) -> None:
        sleeper = RegistryInstance(client, settings(1, "asleep"))
        await sleeper.start()
        await until_leading(sleeper)
        await register(sleeper, "a", '"string"')
        for task in sleeper._tasks:
            task.cancel()
        other = RegistryInstance(client, settings(2, "asleep"))
        await other.start()
        other._note_choice(type(sleeper._choice)(other.settings.identity, "me"))  # type: ignore[misc]
        await until_leading(other)
        assert sleeper.is_leading, "or so it thinks"
        with pytest.raises(RegistryError) as refused:
            await register(sleeper, "b", '"string"')
        assert refused.value.code == 50001
        assert not sleeper.is_leading
        assert (await register(other, "c", '"int"')).stored.id == 2, "what was fenced has left no trace"
        assert other.state.find("b", 1) is None
        await sleeper.stop()
        await other.stop()

    play(bootstrap, scenario)


def test_a_cluster_that_does_not_answer_in_time_is_told() -> None:
    async def scenario(cluster: EmbeddedCluster, client: Client) -> None:
        instance = RegistryInstance(client, replace(settings(1, "paused"), timeout_ms=1_000))
        await instance.start()
        await until_leading(instance)
        cluster.pause(1)
        try:
            with pytest.raises(RegistryError) as refused:
                await register(instance, "a", '"string"')
        finally:
            cluster.resume(1)
        assert refused.value.code in (50001, 50002), "the client may give up first"
        await instance.stop()

    with EmbeddedCluster() as cluster:
        play(cluster.bootstrap_servers, partial(scenario, cluster))


def test_damaged_and_foreign_records_are_skipped_and_counted(bootstrap: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(client: Client) -> None:
        await client.admin.create_topics([NewTopic("damaged", 1, 1, {"cleanup.policy": "compact"})])
        good = {"subject": "a", "version": 1, "id": 7, "schema": '"string"', "deleted": False}
        key = b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}'
        async with client.producer() as producer:
            for name, value in ((b"nonsense", b"{}"), (b"[]", b"{}"), (key, json.dumps(good).encode())):
                await producer.send("damaged", value, name, partition=0)
            for number, strange in enumerate(({"metadata": {"tags": 5}}, {"schema": "\ud800"}), 1):
                other = b'{"keytype":"SCHEMA","subject":"b","version":%d,"magic":1}' % number
                await producer.send("damaged", json.dumps(good | strange).encode(), other, partition=0)
        instance = RegistryInstance(client, settings(1, "damaged"))
        await instance.start()
        assert instance.topic.damaged_count == 4
        stored = instance.state.find("a", 1)
        assert stored is not None
        assert stored.id == 7
        await instance.stop()

    play(bootstrap, scenario)
    assert "the record at offset 0 is skipped" in caplog.text


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        (NewTopic("deleting", 1, 1, {"cleanup.policy": "delete"}), "cleanup.policy=delete"),
        (NewTopic("parted", 3, 1, {"cleanup.policy": "compact"}), "3 partitions"),
    ],
)
def test_a_topic_that_cannot_keep_schemas_is_refused(bootstrap: str, topic: NewTopic, message: str) -> None:
    async def scenario(client: Client) -> None:
        await client.admin.create_topics([topic])
        with pytest.raises(UnusableTopic, match=message):
            await RegistryInstance(client, settings(1, topic.name)).start()

    play(bootstrap, scenario)
