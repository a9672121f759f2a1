"""Why one schema cannot read what another one has written: the rules of Java's SchemaCompatibility.

Pairs of types are compared as the reader walks. A pair that is met again while it is being compared says nothing new:
types are compatible unless something proves the contrary, so recursion ends. A pair that was compared is remembered
with its findings, whose paths are those of the first meeting.

Two graphs of types can be entangled so that the way through their pairs is far longer than either, so the walk keeps a
stack of its own: each comparison is a generator that yields the pairs that it needs the findings of.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Final

from ottla.schemas.avro.model import (
    Array,
    AvroType,
    Definite,
    Document,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Record,
    Union,
    describe,
)
from ottla.schemas.errors import InvalidSchema
from ottla.schemas.finding import Finding

# What people read; the list of a pair holds no more, so that entangled types cost no more either.
FINDINGS_MAX: Final = 100
PAIRS_MAX: Final = 500_000
DEPTH_MAX: Final = 5000

# What a reader takes beside its own type.
_PROMOTED: Final = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}

Findings = tuple[Finding, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A place in the reader, as the way to it; the root has no token."""

    parent: _Place | None
    token: str
    depth: int

    def at(self, token: str) -> _Place:
        return _Place(self, token, self.depth + 1)

    def __str__(self) -> str:
        tokens: list[str] = []
        here = self
        while here.parent is not None:
            tokens.append(here.token)
            here = here.parent
        return "/" + "/".join(reversed(tokens))


_ROOT: Final = _Place(None, "", 0)


@dataclass(frozen=True, slots=True)
class _Pair:
    reader: Definite
    writer: Definite
    place: _Place


_Walk = Generator[_Pair, Findings, Findings]


def compare(reader: Document, writer: Document) -> Findings:
    """Empty if the reader reads everything. InvalidSchema if the two are too entangled to tell."""
    return _Comparison(reader, writer).run()


class _Comparison:
    def __init__(self, reader: Document, writer: Document) -> None:
        self._reader = reader
        self._writer = writer
        # None while a pair is being compared.
        self._known: dict[tuple[Definite, Definite], Findings | None] = {}
        self._probes = 0

    def run(self) -> Findings:
        first = self._pair(self._reader.root, self._writer.root, _ROOT)
        stack = [(first, self._walk(first))]
        self._known[first.reader, first.writer] = None
        answer: Findings | None = None
        while stack:
            pair, walk = stack[-1]
            try:
                wanted = next(walk) if answer is None else walk.send(answer)
            except StopIteration as stop:
                stack.pop()
                answer = self._known[pair.reader, pair.writer] = stop.value
                continue
            answer = self._look_up(wanted)
            if answer is None:
                if len(stack) > DEPTH_MAX or len(self._known) + self._probes > PAIRS_MAX:
                    raise _too_entangled()
                self._known[wanted.reader, wanted.writer] = None
                stack.append((wanted, self._walk(wanted)))
        assert answer is not None
        return answer

    def _look_up(self, pair: _Pair) -> Findings | None:
        key = (pair.reader, pair.writer)
        return (self._known[key] or ()) if key in self._known else None

    def _pair(self, reader: AvroType, writer: AvroType, place: _Place) -> _Pair:
        return _Pair(self._reader.resolve(reader), self._writer.resolve(writer), place)

    def _walk(self, pair: _Pair) -> _Walk:
        reader, writer, place = pair.reader, pair.writer, pair.place
        match reader, writer:
            case Union(), Union():
                return (yield from self._unions(reader, writer, place))
            case _, Union():
                return (yield from self._all_branches(reader, writer, place))
            case Union(), _:
                return (yield from self._some_branch(reader, writer, place))
            case Array(), Array():
                return (yield self._pair(reader.items, writer.items, place.at("items")))
            case Map(), Map():
                return (yield self._pair(reader.values, writer.values, place.at("values")))
            case Record(), Record():
                return (yield from self._records(reader, writer, place))
            case Enum(), Enum():
                return _merge([_check_names(reader, writer, place), _check_symbols(reader, writer, place)])
            case Fixed(), Fixed():
                return _merge([_check_names(reader, writer, place), _check_sizes(reader, writer, place)])
        return _check_kinds(reader, writer, place)

    def _unions(self, reader: Union, writer: Union, place: _Place) -> _Walk:
        found: list[Findings] = []
        for index, branch in enumerate(writer.branches):
            pair = self._pair(reader, branch, _ROOT)
            if (yield pair):
                found.append(_missing_branch(reader, pair.writer, place.at(str(index))))
        return _merge(found)

    def _all_branches(self, reader: Definite, writer: Union, place: _Place) -> _Walk:
        found: list[Findings] = []
        for index, branch in enumerate(writer.branches):
            found.append((yield self._pair(reader, branch, place.at(str(index)))))
        return _merge(found)

    def _some_branch(self, reader: Union, writer: Definite, place: _Place) -> _Walk:
        self._probes += len(reader.branches)
        for branch in reader.branches:
            pair = self._pair(branch, writer, _ROOT)
            if _may_match(pair) and not (yield pair):
                return ()
        return _missing_branch(reader, writer, place)

    def _records(self, reader: Record, writer: Record, place: _Place) -> _Walk:
        found = [_check_names(reader, writer, place)]
        written = {field.name: field for field in writer.fields}
        for index, field in enumerate(reader.fields):
            here = place.at("fields").at(str(index))
            sources = [written[name] for name in (field.name, *field.aliases) if name in written]
            if len(sources) > 1:
                found.append(_ambiguous(reader, writer, field, sources, here))
            elif sources:
                found.append((yield self._pair(field.type, sources[0].type, here.at("type"))))
            elif not field.has_default:
                found.append(self._check_missing(writer, field, here))
        return _merge(found)

    def _check_missing(self, writer: Record, field: Field, place: _Place) -> Findings:
        """A field that was not written and has no default."""
        type_ = self._reader.resolve(field.type)
        if isinstance(type_, Enum) and type_.default is not None:
            # The enum's own default is for symbols alone; Java compares it with the whole record to say no.
            return _check_kinds(type_, writer, place.at("type"))
        return (
            Finding(
                "READER_FIELD_MISSING_DEFAULT_VALUE",
                str(place),
                field.name,
                reader=describe(type_),
                writer=describe(writer),
            ),
        )


def _merge(found: Iterable[Findings]) -> Findings:
    """Each finding once, the first ones of too many."""
    merged = dict.fromkeys(finding for findings in found for finding in findings)
    return tuple(merged)[:FINDINGS_MAX]


def _may_match(pair: _Pair) -> bool:
    """Whether it is worth comparing a branch of the reader: a union of hundreds of records asks for each of them."""
    reader, writer = pair.reader, pair.writer
    if isinstance(reader, Record | Enum | Fixed) and isinstance(writer, Record | Enum | Fixed):
        return reader.kind == writer.kind and is_called(reader, writer)
    return reader.kind == writer.kind or writer.kind in _PROMOTED.get(reader.kind, ())


def is_called(reader: Named, writer: Named) -> bool:
    """By the name without its namespace, or by a full alias."""
    return reader.name.simple == writer.name.simple or writer.name in reader.aliases


def _check_names(reader: Named, writer: Named, place: _Place) -> Findings:
    if is_called(reader, writer):
        return ()
    path, detail = str(place.at("name")), f"expected: {writer.name.full}"
    return (Finding("NAME_MISMATCH", path, detail, reader=reader.name.full, writer=writer.name.full),)


def _check_symbols(reader: Enum, writer: Enum, place: _Place) -> Findings:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default is not None:
        return ()
    path, detail = str(place.at("symbols")), f"[{', '.join(missing)}]"
    return (Finding("MISSING_ENUM_SYMBOLS", path, detail, reader=describe(reader), writer=describe(writer)),)


def _check_sizes(reader: Fixed, writer: Fixed, place: _Place) -> Findings:
    if reader.size == writer.size:
        return ()
    path, detail = str(place.at("size")), f"expected: {writer.size}, found: {reader.size}"
    return (Finding("FIXED_SIZE_MISMATCH", path, detail, reader=str(reader.size), writer=str(writer.size)),)


def _check_kinds(reader: Definite, writer: Definite, place: _Place) -> Findings:
    if reader.kind == writer.kind or writer.kind in _PROMOTED.get(reader.kind, ()):
        return ()
    detail = f"reader type: {reader.kind.upper()} not compatible with writer type: {writer.kind.upper()}"
    return (Finding("TYPE_MISMATCH", str(place), detail, reader=describe(reader), writer=describe(writer)),)


def _missing_branch(reader: Union, branch: Definite, place: _Place) -> Findings:
    detail = f"reader union lacking writer type: {branch.kind.upper()}"
    return (Finding("MISSING_UNION_BRANCH", str(place), detail, reader=describe(reader), writer=describe(branch)),)


def _ambiguous(reader: Record, writer: Record, field: Field, sources: list[Field], place: _Place) -> Findings:
    """Java gives up on such a pair; its message has no rule."""
    names = ", ".join(source.name for source in sources)
    detail = f"field {field.name} is several fields of the writer by its aliases: {names}"
    return (Finding("NAME_MISMATCH", str(place), detail, reader=reader.name.full, writer=writer.name.full),)


def _too_entangled() -> InvalidSchema:
    return InvalidSchema(
        f"the two schemas have more than {PAIRS_MAX} pairs of types to compare, or chains of more than {DEPTH_MAX};"
        " use fewer recursive types and smaller unions"
    )
