"""Writes the Python source of a decoder for one message in one version.

Each struct becomes a function `decode_<Struct>(b, p, end, left) -> (value, position)`. Neighbouring fields of fixed
size are read by one precompiled `struct.Struct`. A slice never checks its bounds in Python: every length is compared to
`end` before it is used; `struct` and indexing check theirs themselves. `left` holds how many elements the arrays of the
whole message may still have, whatever their nesting: three bytes of a request can become an object of two hundred.
"""

from collections.abc import Iterator
from itertools import count

from ottla.protocol.field_table import (
    FIXED_FORMATS,
    FIXED_SIZES,
    Field,
    absent_fields,
    fields_in,
    smallest_size,
    struct_order,
)
from ottla.protocol.schema import Message

# Of the versions that are not flexible; other lengths take four.
STRING_LENGTH_BYTES = 2


def decoder_source(cls: type[Message], version: int) -> str:
    """Source that defines `decode_<name>` for the message and every struct in it."""
    is_flexible = version >= cls.FLEXIBLE_FROM
    numbers = count()
    writers = [_StructDecoder(cls, struct, version, is_flexible, numbers) for struct in struct_order(cls, version)]
    return "\n".join(line for writer in writers for line in writer.lines())


class _StructDecoder:
    def __init__(
        self,
        message: type[Message],
        struct: type[Message],
        version: int,
        is_flexible: bool,
        numbers: Iterator[int],
    ) -> None:
        self.numbers = numbers  # of the constants, unique in the whole source
        self.message = message
        self.struct = struct
        self.version = version
        self.is_flexible = is_flexible
        self.constants: list[str] = []
        self.body: list[str] = []

    def lines(self) -> list[str]:
        name = self.struct.__name__
        fields = fields_in(self.struct, self.version)
        self.body += [f"o = {name}.__new__({name})"]
        if absent := absent_fields(self.struct, self.version):
            self.constants.append(f"_default_{name} = {name}()")
            for field_name in absent:
                self.body.append(f"o.{field_name} = _default_{name}.{field_name}")
        run: list[Field] = []
        for field in [*fields, None]:
            if field is not None and field.tag < 0 and field.is_fixed:
                run.append(field)
                continue
            self._fixed_run(run)
            run = []
            if field is not None and field.tag < 0:
                self._value(f"o.{field.name}", field.type, field.is_nullable, indent="")
        if self.is_flexible:
            self._tags([field for field in fields if field.tag >= 0])
        head = [*self.constants, f"def decode_{name}(b, p, end, left):"]
        return [*head, *(f"    {line}" for line in self.body), "    return o, p"]

    def _fixed_run(self, run: list[Field]) -> None:
        if not run:
            return
        constant = f"_read_{next(self.numbers)}"
        layout = "".join(FIXED_FORMATS[field.type] for field in run)
        self.constants.append(f"{constant} = Struct('>{layout}').unpack_from")
        targets = "".join(f"o.{field.name}, " for field in run)
        self.body.append(f"{targets}= {constant}(b, p)")
        self.body.append(f"p += {sum(FIXED_SIZES[field.type] for field in run)}")

    def _value(self, target: str, kind: str, is_nullable: bool, indent: str) -> None:
        """Source that reads one value of any type into `target`."""
        if kind.startswith("[]"):
            self._array(target, kind.removeprefix("[]"), is_nullable, indent)
        elif kind in FIXED_FORMATS:
            constant = f"_read_{next(self.numbers)}"
            self.constants.append(f"{constant} = Struct('>{FIXED_FORMATS[kind]}').unpack_from")
            self.body.append(f"{indent}{target} = {constant}(b, p)[0]")
            self.body.append(f"{indent}p += {FIXED_SIZES[kind]}")
        elif kind in ("string", "bytes", "records"):
            self._sized(target, kind, is_nullable, indent)
        elif is_nullable:
            self.body.append(f"{indent}present = b[p]")
            self.body.append(f"{indent}p += 1")
            self.body.append(f"{indent}if present > 127:")
            self.body.append(f"{indent}    {target} = None")
            self.body.append(f"{indent}else:")
            self.body.append(f"{indent}    {target}, p = decode_{kind}(b, p, end, left)")
        else:
            self.body.append(f"{indent}{target}, p = decode_{kind}(b, p, end, left)")

    def _length(self, width: int, indent: str) -> None:
        """Source that reads a length or count into `n`, -1 for null."""
        if self.is_flexible:
            self.body.append(f"{indent}n = b[p] - 1")
            self.body.append(f"{indent}if n < 127:")
            self.body.append(f"{indent}    p += 1")
            self.body.append(f"{indent}else:")
            self.body.append(f"{indent}    n, p = read_uvarint(b, p)")
            self.body.append(f"{indent}    n -= 1")
            if width == STRING_LENGTH_BYTES:
                # Older versions have no room for a longer one, and whoever passes it on has none either.
                self.body.append(f"{indent}    if n > 32767: raise MalformedMessage('a string of %d bytes' % n)")
        else:
            constant = f"_read_{next(self.numbers)}"
            self.constants.append(f"{constant} = Struct('>{'h' if width == STRING_LENGTH_BYTES else 'i'}').unpack_from")
            self.body.append(f"{indent}n = {constant}(b, p)[0]")
            self.body.append(f"{indent}p += {width}")

    def _null(self, target: str, is_nullable: bool, indent: str) -> None:
        self.body.append(f"{indent}if n < 0:")
        if is_nullable:
            self.body.append(
                f"{indent}    if n != -1: raise MalformedMessage('{target[2:]} has the negative length %d' % n)"
            )
            self.body.append(f"{indent}    {target} = None")
        else:
            self.body.append(f"{indent}    raise MalformedMessage('{target[2:]} must not be null')")

    def _sized(self, target: str, kind: str, is_nullable: bool, indent: str) -> None:
        self._length(STRING_LENGTH_BYTES if kind == "string" else 4, indent)
        self._null(target, is_nullable, indent)
        self.body.append(f"{indent}else:")
        self.body.append(f"{indent}    e = p + n")
        self.body.append(
            f"{indent}    if e > end: raise MalformedMessage('{target[2:]} of %d bytes ends behind the message' % n)"
        )
        value = {"string": "str(b[p:e], 'utf-8')", "bytes": "bytes(b[p:e])", "records": "memoryview(b)[p:e]"}[kind]
        self.body.append(f"{indent}    {target} = {value}")
        self.body.append(f"{indent}    p = e")

    def _array(self, target: str, element: str, is_nullable: bool, indent: str) -> None:
        self._length(4, indent)
        self._null(target, is_nullable, indent)
        least = smallest_size(self.message, element, self.version, is_flexible=self.is_flexible)
        self.body.append(f"{indent}else:")
        inner = indent + "    "
        self.body.append(f"{inner}if n > (end - p) // {least}:")
        excess = f"'{target[2:]} has %d elements but %d bytes are left' % (n, end - p)"
        self.body.append(f"{inner}    raise MalformedMessage({excess})")
        self.body.append(f"{inner}left[0] -= n")
        self.body.append(f"{inner}if left[0] < 0: raise MalformedMessage('it has too many elements, %d here' % n)")
        if element == "uuid":
            self.body.append(f"{inner}{target} = [bytes(b[q:q + 16]) for q in range(p, p + 16 * n, 16)]")
        elif element in FIXED_FORMATS:
            letter = FIXED_FORMATS[element]
            self.body.append(f"{inner}{target} = list(Struct('>%d{letter}' % n).unpack_from(b, p))")
        if element in FIXED_FORMATS:
            self.body.append(f"{inner}p += {FIXED_SIZES[element]} * n")
            return
        self.body.append(f"{inner}a = []")
        self.body.append(f"{inner}for _ in range(n):")
        self._value("v", element, False, inner + "    ")
        self.body.append(f"{inner}    a.append(v)")
        self.body.append(f"{inner}{target} = a")

    def _tags(self, tagged: list[Field]) -> None:
        name = self.struct.__name__
        if tagged and f"_default_{name} = {name}()" not in self.constants:
            self.constants.append(f"_default_{name} = {name}()")
        self.body += [f"o.{field.name} = _default_{name}.{field.name}" for field in tagged]
        self.body.append("tags = b[p]")
        self.body.append("p += 1")
        self.body.append("if tags:")
        self.body.append("    if tags > 127: tags, p = read_uvarint(b, p - 1)")
        self.body.append(
            f"    if tags > UNKNOWN_TAGS_MAX: raise MalformedMessage('{name} has %d tagged fields' % tags)"
        )
        self.body.append("    last = -1")
        self.body.append("    for _ in range(tags):")
        self.body.append("        tag, p = read_uvarint(b, p)")
        self.body.append("        size, p = read_uvarint(b, p)")
        self.body.append("        stop = p + size")
        self.body.append(
            "        if stop > end: raise MalformedMessage('tagged field %d ends behind the message' % tag)"
        )
        self.body.append(
            "        if tag <= last: raise MalformedMessage('tagged field %d is repeated or out of order' % tag)"
        )
        self.body.append("        last = tag")
        for position, field in enumerate(tagged):
            self.body.append(f"        {'if' if position == 0 else 'elif'} tag == {field.tag}:")
            indent = " " * 12
            if field.is_struct and field.is_nullable:
                # In a tag a null struct is 0, and not -1 as it is elsewhere.
                self.body.append(f"{indent}present = b[p]")
                self.body.append(f"{indent}p += 1")
                self.body.append(f"{indent}if not present: o.{field.name} = None")
                self.body.append(f"{indent}else: o.{field.name}, p = decode_{field.type}(b, p, end, left)")
            else:
                self._value(f"o.{field.name}", field.type, field.is_nullable, indent)
            self.body.append(
                "            if p != stop: raise MalformedMessage('tagged field %d has the wrong size' % tag)"
            )
        self.body.append("        p = stop")
