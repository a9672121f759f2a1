"""Writes the Python source of a decoder for one message in one version.

A message becomes one function `decode_<Message>(b, p, end, left) -> (value, position)`. The structs in it are read in
place, since a call costs more than most structs: what belongs to the struct at nesting depth 2 is named with a 2.
Neighbouring fields of fixed size are read by one precompiled `struct.Struct`. A slice never checks its bounds in
Python: every length is compared to `end` before it is used; `struct` and indexing check theirs themselves. `left` is
how many elements the arrays of the whole message may still have, whatever their nesting: three bytes of a request can
become an object of two hundred.
"""

from ottla.protocol.field_table import (
    FIXED_FORMATS,
    FIXED_SIZES,
    Field,
    absent_fields,
    fields_in,
    smallest_size,
    struct_class,
)
from ottla.protocol.schema import Message

# Of the versions that are not flexible; other lengths take four.
STRING_LENGTH_BYTES = 2


def decoder_source(cls: type[Message], version: int) -> str:
    """Source that defines `decode_<name>` for the message."""
    return "\n".join(_Decoder(cls, version).lines())


class _Decoder:
    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.version = version
        self.is_flexible = version >= message.FLEXIBLE_FROM
        # In the order in which the body names them.
        self.constants: dict[str, str] = {}
        self.body: list[str] = []

    def lines(self) -> list[str]:
        self._struct(self.message, 0, indent="    ")
        name = self.message.__name__
        constants = [f"{constant} = {value}" for constant, value in self.constants.items()]
        return [*constants, f"def decode_{name}(b, p, end, left):", *self.body, "    return o0, p"]

    def _struct(self, struct: type[Message], depth: int, indent: str) -> None:
        """Source that reads a struct into the variable of its depth."""
        name = struct.__name__
        fields = fields_in(struct, self.version)
        self._line(indent, f"o{depth} = {name}.__new__({name})")
        for field_name in absent_fields(struct, self.version):
            self._default(struct, field_name, depth, indent)
        run: list[Field] = []
        for field in [*fields, None]:
            if field is not None and field.tag < 0 and field.is_fixed:
                run.append(field)
                continue
            self._fixed_run(run, depth, indent)
            run = []
            if field is not None and field.tag < 0:
                self._value(f"o{depth}.{field.name}", field.type, field.is_nullable, depth, indent)
        if self.is_flexible:
            self._tags(struct, [field for field in fields if field.tag >= 0], depth, indent)

    def _line(self, indent: str, text: str) -> None:
        self.body.append(indent + text)

    def _default(self, struct: type[Message], field_name: str, depth: int, indent: str) -> None:
        constant = f"_default_{struct.__name__}_{field_name}"
        self.constants[constant] = f"{struct.__name__}().{field_name}"
        self._line(indent, f"o{depth}.{field_name} = {constant}")

    def _reader(self, layout: str) -> str:
        """The name of the function that reads values of fixed size."""
        constant = f"_read_{layout.replace('?', 't')}"
        self.constants[constant] = f"Struct('>{layout}').unpack_from"
        return constant

    def _fixed_run(self, run: list[Field], depth: int, indent: str) -> None:
        if not run:
            return
        reader = self._reader("".join(FIXED_FORMATS[field.type] for field in run))
        targets = "".join(f"o{depth}.{field.name}, " for field in run)
        self._line(indent, f"{targets}= {reader}(b, p)")
        self._line(indent, f"p += {sum(FIXED_SIZES[field.type] for field in run)}")

    def _value(self, target: str, kind: str, is_nullable: bool, depth: int, indent: str) -> None:
        """Source that reads one value of any type into `target`, which belongs to the struct of this depth."""
        if kind.startswith("[]"):
            self._array(target, kind.removeprefix("[]"), is_nullable, depth, indent)
        elif kind in FIXED_FORMATS:
            self._line(indent, f"{target} = {self._reader(FIXED_FORMATS[kind])}(b, p)[0]")
            self._line(indent, f"p += {FIXED_SIZES[kind]}")
        elif kind in ("string", "bytes", "records"):
            self._sized(target, kind, is_nullable, indent)
        elif is_nullable:
            self._line(indent, "present = b[p]")
            self._line(indent, "p += 1")
            self._line(indent, "if present > 127:")
            self._line(indent, f"    {target} = None")
            self._line(indent, "else:")
            self._inner_struct(target, kind, depth, indent + "    ")
        else:
            self._inner_struct(target, kind, depth, indent)

    def _inner_struct(self, target: str, kind: str, depth: int, indent: str) -> None:
        self._struct(struct_class(self.message, kind), depth + 1, indent)
        self._line(indent, f"{target} = o{depth + 1}")

    def _length(self, width: int, indent: str) -> None:
        """Source that reads a length or count into `n`, -1 for null."""
        if self.is_flexible:
            self._line(indent, "n = b[p] - 1")
            self._line(indent, "if n < 127:")
            self._line(indent, "    p += 1")
            self._line(indent, "else:")
            self._line(indent, "    n, p = read_uvarint(b, p)")
            self._line(indent, "    n -= 1")
            if width == STRING_LENGTH_BYTES:
                # Older versions have no room for a longer one, and whoever passes it on has none either.
                self._line(indent, "    if n > 32767: raise MalformedMessage('a string of %d bytes' % n)")
        else:
            self._line(indent, f"n = {self._reader('h' if width == STRING_LENGTH_BYTES else 'i')}(b, p)[0]")
            self._line(indent, f"p += {width}")

    def _null(self, target: str, is_nullable: bool, indent: str) -> None:
        name = _field_name(target)
        self._line(indent, "if n < 0:")
        if is_nullable:
            self._line(indent, f"    if n != -1: raise MalformedMessage('{name} has the negative length %d' % n)")
            self._line(indent, f"    {target} = None")
        else:
            self._line(indent, f"    raise MalformedMessage('{name} must not be null')")
        self._line(indent, "else:")

    def _sized(self, target: str, kind: str, is_nullable: bool, indent: str) -> None:
        self._length(STRING_LENGTH_BYTES if kind == "string" else 4, indent)
        self._null(target, is_nullable, indent)
        inner = indent + "    "
        self._line(inner, "e = p + n")
        excess = f"'{_field_name(target)} of %d bytes ends behind the message' % n"
        self._line(inner, f"if e > end: raise MalformedMessage({excess})")
        value = {"string": "str(b[p:e], 'utf-8')", "bytes": "bytes(b[p:e])", "records": "memoryview(b)[p:e]"}[kind]
        self._line(inner, f"{target} = {value}")
        self._line(inner, "p = e")

    def _array(self, target: str, element: str, is_nullable: bool, depth: int, indent: str) -> None:
        self._length(4, indent)
        self._null(target, is_nullable, indent)
        inner = indent + "    "
        least = smallest_size(self.message, element, self.version, is_flexible=self.is_flexible)
        excess = f"'{_field_name(target)} has %d elements but %d bytes are left' % (n, end - p)"
        self._line(inner, f"if n > (end - p) // {least}: raise MalformedMessage({excess})")
        self._line(inner, "left -= n")
        self._line(inner, "if left < 0: raise MalformedMessage('it has too many elements, %d here' % n)")
        if element == "uuid":
            self._line(inner, f"{target} = [bytes(b[q:q + 16]) for q in range(p, p + 16 * n, 16)]")
        elif element in FIXED_FORMATS:
            self._line(inner, f"{target} = list(Struct('>%d{FIXED_FORMATS[element]}' % n).unpack_from(b, p))")
        if element in FIXED_FORMATS:
            self._line(inner, f"p += {FIXED_SIZES[element]} * n")
            return
        self._line(inner, f"{target} = a{depth} = []")
        self._line(inner, "for _ in range(n):")
        if element in ("string", "bytes", "records"):
            self._sized("v", element, False, inner + "    ")
            self._line(inner, f"    a{depth}.append(v)")
        else:
            self._struct(struct_class(self.message, element), depth + 1, inner + "    ")
            self._line(inner, f"    a{depth}.append(o{depth + 1})")

    def _tags(self, struct: type[Message], tagged: list[Field], depth: int, indent: str) -> None:
        for field in tagged:
            self._default(struct, field.name, depth, indent)
        tags, tag, last, stop = (f"{name}{depth}" for name in ("tags", "tag", "last", "stop"))
        self._line(indent, f"{tags} = b[p]")
        self._line(indent, "p += 1")
        self._line(indent, f"if {tags}:")
        inner = indent + "    "
        self._line(inner, f"if {tags} > 127: {tags}, p = read_uvarint(b, p - 1)")
        many = f"'{struct.__name__} has %d tagged fields' % {tags}"
        self._line(inner, f"if {tags} > UNKNOWN_TAGS_MAX: raise MalformedMessage({many})")
        self._line(inner, f"{last} = -1")
        self._line(inner, f"for _ in range({tags}):")
        inner += "    "
        self._line(inner, f"{tag}, p = read_uvarint(b, p)")
        self._line(inner, f"{stop}, p = read_uvarint(b, p)")
        self._line(inner, f"{stop} += p")
        behind = f"'tagged field %d ends behind the message' % {tag}"
        self._line(inner, f"if {stop} > end: raise MalformedMessage({behind})")
        unordered = f"'tagged field %d is repeated or out of order' % {tag}"
        self._line(inner, f"if {tag} <= {last}: raise MalformedMessage({unordered})")
        self._line(inner, f"{last} = {tag}")
        for position, field in enumerate(tagged):
            self._line(inner, f"{'if' if position == 0 else 'elif'} {tag} == {field.tag}:")
            self._tagged_value(f"o{depth}.{field.name}", field, depth, inner + "    ")
            wrong = f"'tagged field %d has the wrong size' % {tag}"
            self._line(inner, f"    if p != {stop}: raise MalformedMessage({wrong})")
        self._line(inner, f"p = {stop}")

    def _tagged_value(self, target: str, field: Field, depth: int, indent: str) -> None:
        if not (field.is_struct and field.is_nullable):
            self._value(target, field.type, field.is_nullable, depth, indent)
            return
        # In a tag a null struct is 0, and not -1 as it is elsewhere.
        self._line(indent, "present = b[p]")
        self._line(indent, "p += 1")
        self._line(indent, "if not present:")
        self._line(indent, f"    {target} = None")
        self._line(indent, "else:")
        self._inner_struct(target, field.type, depth, indent + "    ")


def _field_name(target: str) -> str:
    return target.partition(".")[2] or "an element"
