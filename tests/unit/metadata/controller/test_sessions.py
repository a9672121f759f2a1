from ottla.metadata.controller.sessions import BrokerSessions
from ottla.metadata.image import BrokerImage, ClusterImage
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from unit.metadata.clusters import applied, cluster

TIMEOUT_MS = 100


def sessions(image: ClusterImage, now_ms: int = 0) -> BrokerSessions:
    return BrokerSessions(TIMEOUT_MS, image, now_ms)


def hear(of: BrokerSessions, image: ClusterImage, broker_id: int, now_ms: int, offset: int = 0) -> None:
    of.heard(image, broker_id, 1000 + broker_id, offset, now_ms, is_local=False)


def broker(image: ClusterImage, broker_id: int) -> BrokerImage:
    found = image.brokers.get(broker_id)
    assert found is not None
    return found


def stale(of: BrokerSessions, image: ClusterImage, now_ms: int) -> int | None:
    found = of.stale(image, now_ms)
    return None if found is None else found.id


def test_a_silent_broker_expires() -> None:
    image = cluster(1, 2)
    watched = sessions(image)
    hear(watched, image, 1, 90)
    assert stale(watched, image, 99) is None
    assert stale(watched, image, 100) == 2
    assert (watched.is_alive(broker(image, 1), 100), watched.is_alive(broker(image, 2), 100)) == (True, False)


def test_the_one_that_was_silent_longest_comes_first() -> None:
    image = cluster(1, 2, 3)
    watched = sessions(image)
    hear(watched, image, 1, 20)
    hear(watched, image, 2, 10)
    hear(watched, image, 3, 30)
    assert stale(watched, image, 500) == 2


def test_a_new_controller_gives_everyone_a_whole_session() -> None:
    image = cluster(1)
    watched = sessions(image, now_ms=5000)
    assert stale(watched, image, 5099) is None
    assert stale(watched, image, 5100) == 1


def test_a_fenced_broker_has_nothing_to_lose() -> None:
    image = cluster(1, fenced=[1])
    watched = sessions(image)
    assert stale(watched, image, 5000) is None
    assert not watched.is_alive(broker(image, 1), 0)
    hear(watched, image, 1, 10)
    assert watched.is_alive(broker(image, 1), 20), "its id is in use"


def test_heartbeats_of_another_life_do_not_count() -> None:
    image = cluster(1)
    watched = sessions(image)
    watched.heard(image, 1, 77, 0, 90, is_local=False)
    watched.heard(image, 8, 1008, 0, 90, is_local=False)
    assert stale(watched, image, 100) == 1


def test_a_pause_of_the_controller_costs_nobody_the_session() -> None:
    image = cluster(1, 2)
    watched = sessions(image)
    watched.look(25)
    # The process stood still; heartbeats wait in its sockets.
    watched.look(10_000)
    assert stale(watched, image, 10_000) is None
    hear(watched, image, 1, 10_001)
    for now_ms in (10_025, 10_050, 10_075):
        watched.look(now_ms)
    assert stale(watched, image, 10_075) == 2


def test_looks_that_come_a_little_late_give_no_time_back() -> None:
    image = cluster(1)
    watched = sessions(image)
    for now_ms in (40, 80, 120):
        watched.look(now_ms)
    assert stale(watched, image, 120) == 1


def test_a_broker_in_the_controllers_process_needs_no_heartbeats() -> None:
    image = cluster(1)
    watched = sessions(image)
    watched.heard(image, 1, 1001, 0, 0, is_local=True)
    assert stale(watched, image, 1_000_000) is None


def test_a_forgotten_broker_has_no_session() -> None:
    image = cluster(1)
    watched = sessions(image)
    watched.forget(1)
    assert not watched.is_alive(broker(image, 1), 0)


def test_a_broker_that_comes_back_must_still_have_followed_its_registration() -> None:
    image = cluster(1, fenced=[1])
    watched = sessions(image)
    watched.registered(1, 1001, 1007, 50, is_local=False)
    watched.forget(1)
    hear(watched, image, 1, 60, offset=1000)
    assert watched.is_alive(broker(image, 1), 60)
    assert watched.registration_offset(broker(image, 1)) == 1007


def test_a_registration_starts_a_session_and_tells_what_must_be_followed() -> None:
    image = cluster(1, fenced=[1])
    watched = sessions(image)
    watched.registered(1, 1001, 1007, 50, is_local=False)
    assert watched.is_alive(broker(image, 1), 149)
    assert watched.registration_offset(broker(image, 1)) == 1007


def test_what_an_earlier_controller_registered_was_written_before_this_one_began() -> None:
    image = cluster(1)
    assert sessions(image).registration_offset(broker(image, 1)) == image.end_offset - 1


class TestShutdown:
    IMAGE = applied(
        cluster(1, 2, 3), [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1001, in_controlled_shutdown=1)]
    )

    def test_every_active_broker_must_have_followed(self) -> None:
        watched = sessions(self.IMAGE)
        watched.is_shutting_down(1, 51)
        hear(watched, self.IMAGE, 2, 10, offset=60)
        assert not watched.all_have_followed_shutdown(self.IMAGE, broker(self.IMAGE, 1)), "nothing is known of 3"
        hear(watched, self.IMAGE, 3, 10, offset=49)
        assert not watched.all_have_followed_shutdown(self.IMAGE, broker(self.IMAGE, 1))
        hear(watched, self.IMAGE, 3, 20, offset=50)
        assert watched.all_have_followed_shutdown(self.IMAGE, broker(self.IMAGE, 1))

    def test_nobody_waits_for_brokers_that_are_not_active(self) -> None:
        image = applied(
            self.IMAGE, [BrokerRegistrationChangeRecord(broker_id=i, broker_epoch=1000 + i, fenced=1) for i in (2, 3)]
        )
        watched = sessions(image)
        watched.is_shutting_down(1, 51)
        assert watched.all_have_followed_shutdown(image, broker(image, 1))

    def test_a_new_controller_waits_for_all_that_was_written_before_it(self) -> None:
        watched = sessions(self.IMAGE)
        last = self.IMAGE.end_offset - 1
        for broker_id in (2, 3):
            hear(watched, self.IMAGE, broker_id, 10, offset=last - 1)
        assert not watched.all_have_followed_shutdown(self.IMAGE, broker(self.IMAGE, 1))
        for broker_id in (2, 3):
            hear(watched, self.IMAGE, broker_id, 20, offset=last)
        assert watched.all_have_followed_shutdown(self.IMAGE, broker(self.IMAGE, 1))


def test_the_next_look_is_when_a_session_ends() -> None:
    image = cluster(1, 2)
    watched = sessions(image)
    hear(watched, image, 1, 10)
    hear(watched, image, 2, 60)
    assert watched.next_look_ms(100) == 10, "the session of the first ends"
    assert watched.next_look_ms(60) == watched.look_interval_ms, "no later than ever, since a pause may come"


def test_a_session_that_has_ended_asks_for_no_look() -> None:
    image = cluster(1, 2, 3)
    watched = sessions(image)
    hear(watched, image, 1, 1)
    hear(watched, image, 2, 10)
    watched.forget(2)
    watched.heard(image, 3, 1003, 0, 10, is_local=True)
    assert watched.next_look_ms(105) == watched.look_interval_ms
