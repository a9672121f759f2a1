"""What an instance says of things that it does not know yet."""

import pytest

from ottla.registry.errors import timed_out
from unit.registry.rest.apis import Api, record, schema

X = schema(record("id"))


class Behind(Api):
    """An instance that has not read what another one has written, until it looks again."""

    def __init__(self) -> None:
        super().__init__()
        self.ask("POST", "/subjects/a/versions", X)
        self.newest = self.memory.registry.state
        self.memory.registry.state = type(self.newest)()
        self.look_count = 0
        self.can_look = True
        self.memory.refresh = self._look  # type: ignore[method-assign]

    async def _look(self) -> None:
        self.look_count += 1
        if not self.can_look:
            raise timed_out("no broker answers")
        self.memory.registry.state = self.newest


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/schemas/ids/1", None),
        ("GET", "/subjects/a/versions", None),
        ("GET", "/subjects/a/versions/latest", None),
        ("POST", "/subjects/a", X),
        ("POST", "/compatibility/subjects/a/versions/1", X),
        ("DELETE", "/subjects/a/versions/latest", None),
    ],
)
def test_what_another_instance_has_written_is_found(method: str, path: str, body: object) -> None:
    api = Behind()
    assert api.ask(method, path, body)[0] == 200
    assert api.look_count == 1


def test_what_is_known_needs_no_second_look() -> None:
    api = Behind()
    api.memory.registry.state = api.newest
    assert api.ask("GET", "/schemas/ids/1")[0] == 200
    assert api.look_count == 0


def test_what_is_not_there_is_looked_for_once() -> None:
    api = Behind()
    api.memory.registry.state = api.newest
    assert api.ask("GET", "/schemas/ids/2")[1]["error_code"] == 40403
    assert api.look_count == 1


def test_nothing_is_said_to_be_missing_while_nobody_can_look() -> None:
    api = Behind()
    api.can_look = False
    assert api.ask("GET", "/schemas/ids/1")[1]["error_code"] == 50002
