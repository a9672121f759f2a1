"""What records come to, in whatever order requests wrote them."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ottla.registry.errors import RegistryError
from ottla.registry.records import DamagedRecord, Record, SchemaKey
from ottla.registry.state import RegistryState, references_of
from ottla.registry.subjects import context_of
from ottla.schemas.schema import Reference
from unit.registry.registries import Registry

SUBJECTS = st.sampled_from(["a", "b", ":.c:a"])
NAMES = st.sampled_from(["x", "y"])


class RegistryLife(RuleBasedStateMachine):
    """Requests of all kinds. Whatever is refused leaves no trace."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = Registry()
        self.registry.configure(None, compatibilityLevel="NONE")

    @rule(subject=SUBJECTS, names=st.lists(NAMES, max_size=2), referred=st.none() | SUBJECTS)
    def register(self, subject: str, names: list[str], referred: str | None) -> None:
        references = () if referred is None else (Reference("R", referred, 1),)
        self._try(lambda: self.registry.register(subject, *names, references=references))

    @rule(subject=SUBJECTS, version=st.none() | st.integers(1, 3), is_permanent=st.booleans())
    def delete(self, subject: str, version: int | None, is_permanent: bool) -> None:
        self._try(lambda: self.registry.delete(subject, version, is_permanent=is_permanent))

    @rule(scope=st.none() | SUBJECTS | st.just(":.c:"), mode=st.sampled_from(["READWRITE", "IMPORT"]))
    def set_mode(self, scope: str | None, mode: str) -> None:
        self._try(lambda: self.registry.set_mode(scope, mode))

    @rule(subject=SUBJECTS, schema_id=st.integers(1, 5), name=NAMES)
    def bring_in(self, subject: str, schema_id: int, name: str) -> None:
        self._try(lambda: self.registry.register(subject, name, id=schema_id))

    def _try(self, request: object) -> None:
        before = self.registry.state
        try:
            request()  # type: ignore[operator]
        except RegistryError:
            assert self.registry.state is before

    @invariant()
    def an_id_is_one_schema(self) -> None:
        state = self.registry.state
        everything = [one for versions in state.versions.values() for one in versions.values()]
        for one in everything:
            same = state.with_id(context_of(one.subject), one.id)
            assert same is not None
            assert (same.schema, same.metadata) == (one.schema, one.metadata)
        assert {(context_of(one.subject), one.id) for one in everything} == set(state.ids)
        assert {(key, schema_id) for key, ids in state.guids.items() for schema_id in ids} == {
            ((context_of(one.subject), one.guid), one.id) for one in everything
        }

    @invariant()
    def referrers_are_those_that_are_not_deleted(self) -> None:
        state = self.registry.state
        alive = [one for versions in state.versions.values() for one in versions.values() if not one.is_deleted]
        expected = {(target, one.key) for one in alive for target in references_of(one)}
        assert {(target, key) for target, keys in state.referrers.items() for key in keys} == expected

    @invariant()
    def others_read_the_same(self) -> None:
        assert self.registry.read_again() == self.registry.state
        compacted = self.registry.compacted()
        assert (compacted.versions, compacted.configs, compacted.modes) == (
            self.registry.state.versions,
            self.registry.state.configs,
            self.registry.state.modes,
        )


RegistryLife.TestCase.settings = settings(max_examples=150, stateful_step_count=25)
TestRegistryLife = RegistryLife.TestCase


def test_a_record_that_makes_no_sense_changes_nothing() -> None:
    state = RegistryState()
    for value in ({}, {"id": "1", "schema": "x"}, {"id": 1}, {"id": 1, "schema": "x", "schemaType": "XML"}):
        try:
            state.apply(Record(SchemaKey("a", 1), value))
        except DamagedRecord:
            continue
        raise AssertionError(value)


def test_fields_of_newer_releases_are_kept() -> None:
    value = {"subject": "a", "version": 1, "id": 4, "schema": "x", "deleted": False, "ts": 17}
    state = RegistryState().apply(Record(SchemaKey("a", 1), value))
    stored = state.find("a", 1)
    assert stored is not None
    record = stored.to_record()
    assert record.value is not None
    assert record.value["ts"] == 17
