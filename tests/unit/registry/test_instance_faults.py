"""Instances whose topic, group or requests fail them: they answer in time, and never what is not so."""

import asyncio
from collections.abc import Iterator
from functools import partial

import pytest

from harness.waiting import eventually_async
from ottla.client import Client, NewTopic
from ottla.registry.deletion import delete_subject
from ottla.registry.election import Choice
from ottla.registry.errors import RegistryError
from ottla.registry.instance import RegistryInstance
from ottla.registry.registration import Registered
from ottla.testing import EmbeddedCluster
from unit.registry.test_instance import play, register, settings, until_leading


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with EmbeddedCluster(config={"group.min.session.timeout.ms": 100}) as cluster:
        yield cluster.bootstrap_servers


async def until_refused(instance: RegistryInstance, subject: str, text: str) -> int:
    with pytest.raises(RegistryError) as refused:
        await register(instance, subject, text)
    return refused.value.code


async def sleep_as(instance: RegistryInstance) -> None:
    """From now on it takes no part in the group, and reads nothing."""
    instance._tasks[0].cancel()
    heartbeats = instance._session._heartbeats
    assert heartbeats is not None
    heartbeats.cancel()
    await asyncio.gather(instance._tasks[0], heartbeats, return_exceptions=True)
    instance.topic._consumer.pause([instance.topic.partition])


def test_a_change_that_is_not_read_back_in_time_is_told_and_found_later(bootstrap: str) -> None:
    async def scenario(client: Client) -> None:
        instance = RegistryInstance(client, settings(1, "unread", timeout_ms=500))
        await instance.start()
        await until_leading(instance)
        instance.topic._consumer.pause([instance.topic.partition])
        assert await until_refused(instance, "a", '"string"') == 50002
        assert await until_refused(instance, "b", '"string"') == 50004, "it does not decide with what it has not read"
        instance.topic._consumer.resume([instance.topic.partition])
        await until_leading(instance)
        assert (await register(instance, "b", '"int"')).stored.id == 2
        assert instance.state.with_id(".", 1) is not None
        await instance.stop()

    play(bootstrap, scenario)


def test_a_change_is_carried_through_when_whoever_asked_has_gone(bootstrap: str) -> None:
    async def scenario(client: Client) -> None:
        instance = RegistryInstance(client, settings(1, "gone"))
        await instance.start()
        await until_leading(instance)
        asked = asyncio.ensure_future(register(instance, "a", '"string"'))
        await asyncio.sleep(0)
        asked.cancel()
        assert (await register(instance, "b", '"int"')).stored.id == 2
        assert instance.state.find("a", 1) is not None
        await instance.stop()

    play(bootstrap, scenario)


def test_one_that_was_asleep_neither_answers_from_memory_nor_fences_its_successor(bootstrap: str) -> None:
    async def scenario(client: Client) -> None:
        async with Client(bootstrap) as other_client:
            sleeper = RegistryInstance(client, settings(1, "sleeper", session_timeout_ms=1_000))
            await sleeper.start()
            await until_leading(sleeper)
            for subject in ("a", "b"):
                await register(sleeper, subject, f'{{"type":"fixed","name":"{subject}","size":1}}')
            await sleep_as(sleeper)

            other = RegistryInstance(other_client, settings(2, "sleeper", session_timeout_ms=1_000))
            await other.start()
            await until_leading(other)
            for is_permanent in (False, True):
                await other.write(partial(delete_subject, subject="a", is_permanent=is_permanent))

            # It wakes, and believes that it leads.
            assert sleeper.is_leading
            sleeper.topic._consumer.resume([sleeper.topic.partition])
            assert await until_refused(sleeper, "a", '{"type":"fixed","name":"a","size":1}') == 50001
            await register(other, "c", '"int"')

            async def is_no_member() -> bool:
                return not sleeper._session.is_stable

            await eventually_async(is_no_member)
            assert not sleeper.is_leading
            assert (await register(other, "d", '"long"')).stored.id == 4, "nobody has fenced it"
            await sleeper.stop()
            await other.stop()

    play(bootstrap, scenario)


def test_a_rebalance_does_not_interrupt_whoever_leads(bootstrap: str) -> None:
    """A group waits for a member that has died. Another one that joins meanwhile does not cost it its leader."""

    async def scenario(client: Client) -> None:
        first, dead, joining = (
            RegistryInstance(client, settings(port, "uninterrupted", session_timeout_ms=2_000)) for port in (1, 2, 3)
        )
        await first.start()
        await until_leading(first)
        leading = first._leading
        await dead.start()

        async def is_known_to(other: RegistryInstance) -> bool:
            return other.leader == first.settings.identity

        await eventually_async(partial(is_known_to, dead))
        await sleep_as(dead)
        await joining.start()
        number = 0
        while not await is_known_to(joining):
            number += 1
            assert (await register(first, f"s-{number}", f'{{"type":"fixed","name":"F","size":{number}}}')).stored.id
        assert number > 1
        assert first._leading is leading
        await joining.stop()
        await first.stop()

    play(bootstrap, scenario)


def test_a_schema_that_no_record_can_hold_is_refused_and_nothing_else_happens(bootstrap: str) -> None:
    async def scenario(client: Client) -> None:
        instance = RegistryInstance(client, settings(1, "large"))
        await instance.start()
        await until_leading(instance)
        leading = instance._leading
        # The second one fits into a request, and not into a batch of the topic.
        for size in (2_000_000, 1_048_400):
            text = '{"type":"fixed","name":"F","size":1,"doc":"%s"}' % ("x" * size)
            assert await until_refused(instance, "a", text) == 42209
        assert (await register(instance, "a", '"int"')).stored.id == 1
        # While the first of them is written, the others wait together.
        waiting = (
            register(instance, subject, one) for subject, one in (("b", '"long"'), ("c", text), ("d", '"float"'))
        )
        first, large, last = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(large, RegistryError)
        assert large.code == 42209
        assert isinstance(first, Registered)
        assert isinstance(last, Registered)
        assert (first.stored.id, last.stored.id) == (2, 3)
        assert instance._leading is leading
        await instance.stop()

    play(bootstrap, scenario)


def test_a_topic_that_was_made_anew_is_read_from_its_beginning(bootstrap: str) -> None:
    """Even if it has grown past the place where the old one was read, where no offset shows it."""

    async def scenario(client: Client) -> None:
        topic = "anew"
        instance = RegistryInstance(client, settings(1, topic))
        await instance.start()
        await until_leading(instance)
        await register(instance, "old", '"string"')
        await client.admin.delete_topics([topic])
        await eventually_async(partial(_is_made, client, topic))
        key = '{"keytype":"SCHEMA","subject":"new","version":%d,"magic":1}'
        value = '{"subject":"new","version":%d,"id":%d,"schema":"\\"int\\"","deleted":false}'
        async with Client(bootstrap) as other, other.producer() as producer:
            for number in range(1, 31):
                await producer.send(topic, (value % (number, number)).encode(), (key % number).encode(), partition=0)

        async def is_read() -> bool:
            return len(instance.state.all_of("new")) == 30

        await eventually_async(is_read)
        assert instance.state.find("old", 1) is None
        assert await until_refused(instance, "next", '"long"') == 50004
        await until_leading(instance)
        assert (await register(instance, "next", '"long"')).stored.id == 31
        await instance.stop()

    play(bootstrap, scenario)


async def _is_made(client: Client, topic: str) -> bool:
    created = await client.admin.create_topics([NewTopic(topic, 1, 1, {"cleanup.policy": "compact"})])
    return created[topic].error is None


def test_nobody_leads_who_cannot_find_out_where_the_topic_ends(bootstrap: str) -> None:
    async def scenario(client: Client) -> None:
        instance = RegistryInstance(client, settings(1, "endless", timeout_ms=1_000))
        await instance.start()
        await client.admin.delete_topics(["endless"])
        with pytest.raises(RegistryError) as refused:
            await instance.refresh()
        assert refused.value.code in (50001, 50002)
        instance._note_choice(Choice(None))
        await instance.stop()

    play(bootstrap, scenario)
