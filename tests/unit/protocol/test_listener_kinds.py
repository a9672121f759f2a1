"""APIs by the kind of listener, and what this release serves on each."""

from ottla.broker.handlers import load_handlers
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.listener_kinds import BOTH, CONTROLLERS_ONLY, ListenerKind, is_served_on


def test_an_api_is_on_one_kind_of_listener_or_on_both() -> None:
    assert not BOTH & CONTROLLERS_ONLY
    assert not is_served_on(ListenerKind.BROKER, ApiKey.VOTE)
    assert is_served_on(ListenerKind.CONTROLLER, ApiKey.VOTE)
    assert is_served_on(ListenerKind.BROKER, ApiKey.PRODUCE)
    assert not is_served_on(ListenerKind.CONTROLLER, ApiKey.PRODUCE)


def test_no_listener_serves_what_belongs_to_the_other_kind() -> None:
    for kind in ListenerKind:
        served = [ApiKey(module.API_KEY) for module in load_handlers(kind)]
        assert served == sorted(served)
        assert [key for key in served if not is_served_on(kind, key)] == []


def test_brokers_find_on_controllers_what_they_need_to_live() -> None:
    served = {module.API_KEY for module in load_handlers(ListenerKind.CONTROLLER)}
    assert {ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT, ApiKey.ALLOCATE_PRODUCER_IDS} <= served
