"""Writes the Python source of an encoder for one message in one version.

Each struct becomes a function `encode_<Struct>(o, w)`, which hands buffers to `w` in order. Neighbouring fields of
fixed size are packed by one precompiled `struct.Struct`; records are handed on as they are, never copied.
"""

from collections.abc import Iterator
from itertools import count

from ottla.protocol.field_table import FIXED_FORMATS, Field, fields_in, struct_order
from ottla.protocol.schema import Message


def encoder_source(cls: type[Message], version: int) -> str:
    """Source that defines `encode_<name>` for the message and every struct in it."""
    is_flexible = version >= cls.FLEXIBLE_FROM
    numbers = count()
    writers = [_StructEncoder(struct, version, is_flexible, numbers) for struct in struct_order(cls, version)]
    return "\n".join(line for writer in writers for line in writer.lines())


class _StructEncoder:
    def __init__(self, struct: type[Message], version: int, is_flexible: bool, numbers: Iterator[int]) -> None:
        self.numbers = numbers  # of the constants, unique in the whole source
        self.struct = struct
        self.version = version
        self.is_flexible = is_flexible
        self.constants: list[str] = []
        self.body: list[str] = []

    def lines(self) -> list[str]:
        name = self.struct.__name__
        fields = fields_in(self.struct, self.version)
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
        head = [*self.constants, f"def encode_{name}(o, w):"]
        return [*head, *(f"    {line}" for line in self.body), "    return"]

    def _packer(self, layout: str) -> str:
        constant = f"_pack_{next(self.numbers)}"
        self.constants.append(f"{constant} = Struct('>{layout}').pack")
        return constant

    def _fixed_run(self, run: list[Field]) -> None:
        if run:
            packer = self._packer("".join(FIXED_FORMATS[field.type] for field in run))
            self.body.append(f"w({packer}({', '.join(f'o.{field.name}' for field in run)}))")

    def _value(self, source: str, kind: str, is_nullable: bool, indent: str) -> None:
        """Source that writes one value of any type."""
        if kind.startswith("[]"):
            self._array(source, kind.removeprefix("[]"), is_nullable, indent)
        elif kind in FIXED_FORMATS:
            self.body.append(f"{indent}w({self._packer(FIXED_FORMATS[kind])}({source}))")
        elif kind in ("string", "bytes", "records"):
            self._sized(source, kind, is_nullable, indent)
        elif is_nullable:
            self.body.append(f"{indent}if {source} is None:")
            self.body.append(f"{indent}    w(b'\\xff')")
            self.body.append(f"{indent}else:")
            self.body.append(f"{indent}    w(b'\\x01')")
            self.body.append(f"{indent}    encode_{kind}({source}, w)")
        else:
            self.body.append(f"{indent}encode_{kind}({source}, w)")

    def _null(self, source: str, is_nullable: bool, width: int, indent: str) -> None:
        self.body.append(f"{indent}if {source} is None:")
        if is_nullable:
            null = b"\x00" if self.is_flexible else b"\xff" * width
            self.body.append(f"{indent}    w({null!r})")
        else:
            what = f"{self.struct.__name__}: {source[2:]} must not be null in version {self.version}"
            self.body.append(f"{indent}    raise ValueError({what!r})")
        self.body.append(f"{indent}else:")

    def _length(self, expression: str, width: int, indent: str) -> None:
        if self.is_flexible:
            self.body.append(f"{indent}n = {expression} + 1")
            self.body.append(f"{indent}w(UVARINT_SMALL[n] if n < 128 else write_uvarint(n))")
        else:
            self.body.append(f"{indent}w({self._packer('h' if width == 2 else 'i')}({expression}))")

    def _sized(self, source: str, kind: str, is_nullable: bool, indent: str) -> None:
        width = 2 if kind == "string" else 4
        self._null(source, is_nullable, width, indent)
        inner = indent + "    "
        if kind == "string":
            self.body.append(f"{inner}s = {source}.encode()")
            source = "s"
        self._length(f"len({source})", width, inner)
        self.body.append(f"{inner}w({source})")

    def _array(self, source: str, element: str, is_nullable: bool, indent: str) -> None:
        self._null(source, is_nullable, 4, indent)
        inner = indent + "    "
        self._length(f"len({source})", 4, inner)
        if element in FIXED_FORMATS:
            layout = FIXED_FORMATS[element]
            packed = (
                f"b''.join({source})" if element == "uuid" else f"Struct('>%d{layout}' % len({source})).pack(*{source})"
            )
            self.body.append(f"{inner}w({packed})")
            return
        self.body.append(f"{inner}for v in {source}:")
        self._value("v", element, False, inner + "    ")

    def _tags(self, tagged: list[Field]) -> None:
        if not tagged:
            self.body.append("w(b'\\x00')")
            return
        name = self.struct.__name__
        self.constants.append(f"_default_{name} = {name}()")
        self.body.append("tags = []")
        for field in tagged:
            default = f"_default_{name}.{field.name}"
            writer = _StructEncoder(self.struct, self.version, self.is_flexible, self.numbers)
            if field.is_struct and field.is_nullable:
                # In a tag a null struct is 0, and not -1 as it is elsewhere.
                writer.body += ["    if o is None: w(b'\\x00')", f"    else: w(b'\\x01'); encode_{field.type}(o, w)"]
            else:
                writer._value("o", field.type, field.is_nullable, indent="    ")
            self.constants += [*writer.constants, f"def _tagged_{name}_{field.name}(o, w):", *writer.body]
            if field.is_struct and field.is_nullable:
                # Kafka's default is an empty struct: whoever means null has to say so.
                is_present = "True"
            elif field.is_array and not field.is_nullable:
                is_present = f"len(o.{field.name})"
            else:
                is_present = f"o.{field.name} != {default}"
            self.body.append(
                f"if {is_present}: tags.append(({field.tag}, written(_tagged_{name}_{field.name}, o.{field.name})))"
            )
        self.body.append("if not tags:")
        self.body.append("    w(b'\\x00')")
        self.body.append("    return")
        self.body.append("w(write_uvarint(len(tags)))")
        self.body.append("for tag, value in tags:")
        self.body.append("    w(write_uvarint(tag))")
        self.body.append("    w(write_uvarint(len(value)))")
        self.body.append("    w(value)")
