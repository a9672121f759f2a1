"""Writes the Python source of an encoder for one message in one version.

A message becomes one function `encode_<Message>(o0, w)`, which hands buffers to `w` in order. The structs in it are
written in place, since a call costs more than most structs: `o2` is the struct at nesting depth 2. Neighbouring fields
of fixed size are packed by one precompiled `struct.Struct`; records are handed on as they are, never copied.
"""

from ottla.protocol.field_table import FIXED_FORMATS, Field, fields_in, struct_class
from ottla.protocol.schema import Message


def encoder_source(cls: type[Message], version: int) -> str:
    """Source that defines `encode_<name>` for the message."""
    return "\n".join(_Encoder(cls, version).lines())


class _Encoder:
    def __init__(self, message: type[Message], version: int) -> None:
        self.message = message
        self.version = version
        self.is_flexible = version >= message.FLEXIBLE_FROM
        # In the order in which the functions name them.
        self.constants: dict[str, str] = {}
        self.functions: list[str] = []
        self.body: list[str] = []

    def lines(self) -> list[str]:
        self._struct(self.message, 0, indent="    ")
        constants = [f"{constant} = {value}" for constant, value in self.constants.items()]
        head = f"def encode_{self.message.__name__}(o0, w):"
        # A message without fields still needs a body.
        return [*constants, *self.functions, head, *self.body, "    return"]

    def _struct(self, struct: type[Message], depth: int, indent: str) -> None:
        """Source that writes the struct in the variable of its depth."""
        fields = fields_in(struct, self.version)
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

    def _packer(self, layout: str) -> str:
        """The name of the function that packs values of fixed size."""
        constant = f"_pack_{layout.replace('?', 't')}"
        self.constants[constant] = f"Struct('>{layout}').pack"
        return constant

    def _fixed_run(self, run: list[Field], depth: int, indent: str) -> None:
        if run:
            packer = self._packer("".join(FIXED_FORMATS[field.type] for field in run))
            self._line(indent, f"w({packer}({', '.join(f'o{depth}.{field.name}' for field in run)}))")

    def _value(self, source: str, kind: str, is_nullable: bool, depth: int, indent: str) -> None:
        """Source that writes one value of any type, which belongs to the struct of this depth."""
        if kind.startswith("[]"):
            self._array(source, kind.removeprefix("[]"), is_nullable, depth, indent)
        elif kind in FIXED_FORMATS:
            self._line(indent, f"w({self._packer(FIXED_FORMATS[kind])}({source}))")
        elif kind in ("string", "bytes", "records"):
            self._sized(source, kind, is_nullable, indent)
        elif is_nullable:
            self._line(indent, f"if {source} is None:")
            self._line(indent, "    w(b'\\xff')")
            self._line(indent, "else:")
            self._line(indent, "    w(b'\\x01')")
            self._inner_struct(source, kind, depth, indent + "    ")
        else:
            self._inner_struct(source, kind, depth, indent)

    def _inner_struct(self, source: str, kind: str, depth: int, indent: str) -> None:
        self._line(indent, f"o{depth + 1} = {source}")
        self._struct(struct_class(self.message, kind), depth + 1, indent)

    def _null(self, source: str, is_nullable: bool, width: int, indent: str) -> None:
        self._line(indent, f"if {source} is None:")
        if is_nullable:
            null = b"\x00" if self.is_flexible else b"\xff" * width
            self._line(indent, f"    w({null!r})")
        else:
            name = source.partition(".")[2] or "an element"
            what = f"{self.message.__name__}: {name} must not be null in version {self.version}"
            self._line(indent, f"    raise ValueError({what!r})")
        self._line(indent, "else:")

    def _length(self, expression: str, width: int, indent: str) -> None:
        if self.is_flexible:
            self._line(indent, f"n = {expression} + 1")
            self._line(indent, "w(UVARINT_SMALL[n] if n < 128 else write_uvarint(n))")
        else:
            self._line(indent, f"w({self._packer('h' if width == 2 else 'i')}({expression}))")

    def _sized(self, source: str, kind: str, is_nullable: bool, indent: str) -> None:
        width = 2 if kind == "string" else 4
        self._null(source, is_nullable, width, indent)
        inner = indent + "    "
        if kind == "string":
            self._line(inner, f"s = {source}.encode()")
            source = "s"
        self._length(f"len({source})", width, inner)
        self._line(inner, f"w({source})")

    def _array(self, source: str, element: str, is_nullable: bool, depth: int, indent: str) -> None:
        self._null(source, is_nullable, 4, indent)
        inner = indent + "    "
        self._length(f"len({source})", 4, inner)
        if element == "uuid":
            self._line(inner, f"w(b''.join({source}))")
        elif element in FIXED_FORMATS:
            self._line(inner, f"w(Struct('>%d{FIXED_FORMATS[element]}' % len({source})).pack(*{source}))")
        elif element in ("string", "bytes", "records"):
            self._line(inner, f"for v in {source}:")
            self._sized("v", element, False, inner + "    ")
        else:
            self._line(inner, f"for o{depth + 1} in {source}:")
            self._struct(struct_class(self.message, element), depth + 1, inner + "    ")

    def _tags(self, struct: type[Message], tagged: list[Field], depth: int, indent: str) -> None:
        if not tagged:
            self._line(indent, "w(b'\\x00')")
            return
        self._line(indent, "tags = []")
        for field in tagged:
            source = f"o{depth}.{field.name}"
            writer = self._tagged_function(struct, field)
            self._line(indent, f"if {self._is_told(struct, field, source)}:")
            self._line(indent, f"    tags.append(({field.tag}, written({writer}, {source})))")
        self._line(indent, "w(UVARINT_SMALL[len(tags)])")
        self._line(indent, "for tag, value in tags:")
        self._line(indent, "    w(write_uvarint(tag))")
        self._line(indent, "    w(write_uvarint(len(value)))")
        self._line(indent, "    w(value)")

    def _is_told(self, struct: type[Message], field: Field, source: str) -> str:
        """The condition under which a tagged field is written."""
        if field.is_struct and field.is_nullable:
            # Kafka's default is an empty struct: whoever means null has to say so.
            return "True"
        if field.is_array and not field.is_nullable:
            return f"len({source})"
        constant = f"_default_{struct.__name__}_{field.name}"
        self.constants[constant] = f"{struct.__name__}().{field.name}"
        return f"{source} != {constant}"

    def _tagged_function(self, struct: type[Message], field: Field) -> str:
        """The name of a function that writes the value of a tagged field, whose size must be known before it."""
        name = f"_write_{struct.__name__}_{field.name}"
        outside, self.body = self.body, []
        if field.is_struct and field.is_nullable:
            # In a tag a null struct is 0, and not -1 as it is elsewhere.
            self._line("    ", "if o0 is None:")
            self._line("    ", "    w(b'\\x00')")
            self._line("    ", "else:")
            self._line("    ", "    w(b'\\x01')")
            self._struct(struct_class(self.message, field.type), 0, "        ")
        elif field.is_struct:
            self._struct(struct_class(self.message, field.type), 0, "    ")
        else:
            self._value("o0", field.type, field.is_nullable, 0, "    ")
        self.functions += [f"def {name}(o0, w):", *self.body]
        self.body = outside
        return name
