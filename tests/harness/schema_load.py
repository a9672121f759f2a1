"""Clients that use several instances of a registry at once, and write down what each of them was told.

Each client is a thread. It asks any instance, whatever happens to it, and takes an answer that is no success for what
it is: nothing is known then. All register in the same subjects; in one of its own each client deletes and configures.
"""

import itertools
import json
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from harness.schema_history import Configured, Deleting, Event, Found, Placed, Registered

_CLIENTS = 4
_SHARED_SUBJECTS = 5
# Longer than an instance needs to give up on a store or a leader that does not answer.
_TIMEOUT_S = 25.0
_PAUSE_S = 0.01
_LEVELS = ("NONE", "BACKWARD", "FULL")


class SchemaLoad:
    """Runs from its start until `stop`."""

    def __init__(self, urls: Sequence[str], seed: int) -> None:
        self.events: list[Event] = []
        self.failures: dict[str, int] = {}
        self._urls = list(urls)
        self._stopping = threading.Event()
        self._bugs: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(number, random.Random(f"{seed} {number}")))
            for number in range(_CLIENTS)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        if self._bugs:
            raise self._bugs[0]

    def registered(self) -> int:
        return sum(isinstance(event, Registered) for event in list(self.events))

    def _run(self, number: int, chance: random.Random) -> None:
        try:
            with httpx.Client(timeout=_TIMEOUT_S) as client:
                worker = _Worker(self, client, number, chance)
                while not self._stopping.wait(_PAUSE_S):
                    worker.step()
        except BaseException as error:  # noqa: BLE001 - the test's own thread raises it
            self._bugs.append(error)

    def ask(self, client: httpx.Client, chance: random.Random, method: str, path: str, body: Any = None) -> Any:
        """The answer of some instance; None if it was no success, unless something is said to be missing."""
        url = chance.choice(self._urls)
        try:
            answer = client.request(method, url + path, json=body)
        except httpx.HTTPError as error:
            self._count(type(error).__name__)
            return None
        if answer.is_success:
            return answer.json(), url
        code = answer.json()["error_code"]
        self._count(str(code))
        return (None, url) if str(code).startswith("404") else None

    def _count(self, failure: str) -> None:
        self.failures[failure] = self.failures.get(failure, 0) + 1


class _Worker:
    def __init__(self, load: SchemaLoad, client: httpx.Client, number: int, chance: random.Random) -> None:
        self._load = load
        self._client = client
        self._chance = chance
        self._name = f"client-{number}"
        self._numbers = itertools.count()
        self._own: list[Registered] = []
        self._levels = itertools.cycle(_LEVELS)
        self._kinds: list[Callable[[], None]] = [self._register] * 5 + [
            self._register_elsewhere,
            self._read,
            self._look_up,
            self._register_own,
            self._delete_own,
            self._configure_own,
        ]

    def step(self) -> None:
        self._chance.choice(self._kinds)()

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return self._load.ask(self._client, self._chance, method, path, body)

    def _tell(self, event: Event) -> None:
        self._load.events.append(event)

    def _shared_subject(self) -> str:
        return f"shared-{self._chance.randrange(_SHARED_SUBJECTS)}"

    def _new_text(self) -> str:
        return _text(f"{self._name}_{next(self._numbers)}".replace("-", "_"))

    def _some_registered(self) -> Registered | None:
        known = [event for event in self._load.events[-200:] if isinstance(event, Registered)]
        shared = [event for event in known if event.subject.startswith("shared")]
        return self._chance.choice(shared) if shared else None

    def _register(self) -> None:
        self._register_in(self._shared_subject(), self._new_text())

    def _register_elsewhere(self) -> None:
        known = self._some_registered()
        if known is not None:
            self._register_in(self._shared_subject(), known.text)

    def _register_in(self, subject: str, text: str) -> Registered | None:
        answer = self._ask("POST", f"/subjects/{subject}/versions", {"schema": text})
        if answer is None:
            return None
        registered = Registered(subject, text, answer[0]["id"])
        self._tell(registered)
        return registered

    def _read(self) -> None:
        known = self._some_registered()
        answer = None if known is None else self._ask("GET", f"/schemas/ids/{known.schema_id}")
        if known is not None and answer is not None:
            fields, where = answer
            self._tell(Found(known.schema_id, None if fields is None else fields["schema"], where))

    def _look_up(self) -> None:
        known = self._some_registered()
        answer = None if known is None else self._ask("POST", f"/subjects/{known.subject}", {"schema": known.text})
        if known is not None and answer is not None:
            fields, where = answer
            place = None if fields is None else (fields["version"], fields["id"])
            self._tell(Placed(known.subject, known.text, place, where))

    # -- what nobody else touches -------------------------------------------------------------------------------------

    def _register_own(self) -> None:
        registered = self._register_in(self._name, self._new_text())
        if registered is not None:
            self._own.append(registered)

    def _delete_own(self) -> None:
        if not self._own:
            return
        doomed = self._own.pop(self._chance.randrange(len(self._own)))
        found = self._ask("POST", f"/subjects/{self._name}", {"schema": doomed.text})
        if found is None:
            return
        fields, where = found
        if fields is None:
            self._tell(Placed(doomed.subject, doomed.text, None, where))
            return
        self._tell(Deleting(doomed.subject, doomed.text))
        path = f"/subjects/{self._name}/versions/{fields['version']}"
        if self._ask("DELETE", path) is not None and self._chance.random() < 0.5:
            self._ask("DELETE", f"{path}?permanent=true")

    def _configure_own(self) -> None:
        level = next(self._levels)
        # Not the one with versions: a subject that has lost its last one loses its settings, too.
        subject = f"{self._name}-level"
        answer = self._ask("PUT", f"/config/{subject}", {"compatibility": level})
        self._tell(Configured(subject, None if answer is None else level))


def _text(name: str) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": name, "type": "int"}]}, separators=(",", ":"))
