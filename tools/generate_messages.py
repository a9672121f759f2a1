"""Turns Kafka's published message definitions into the modules of src/ottla/protocol/messages.

    python tools/generate_messages.py JAR_DIRECTORY [OUTPUT_DIRECTORY]

The jars (kafka-clients, kafka-metadata, kafka-raft, kafka-storage and the coordinators) carry one JSON definition per
message. From each we keep the facts of its format: fields, types, versions, nullability, tags, defaults. Their prose
stays behind. The output is checked in, so neither a build nor a user needs the jars.
"""

import json
import re
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KAFKA_VERSION = "4.3.0"
JARS = (
    "kafka-clients",
    "kafka-metadata",
    "kafka-raft",
    "kafka-storage",
    "kafka-group-coordinator",
    "kafka-transaction-coordinator",
    "kafka-share-coordinator",
)
MADE_BY = "made by tools/generate_messages.py"
OUTPUT = Path(__file__).resolve().parents[1] / "src" / "ottla" / "protocol" / "messages"

PYTHON_TYPES = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "uint16": "int",
    "int32": "int",
    "uint32": "int",
    "int64": "int",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "records": "Records",
    "uuid": "bytes",
}
ZERO_DEFAULTS = {
    "bool": "False",
    "float64": "0.0",
    "string": '""',
    "bytes": 'b""',
    "records": 'b""',
    "uuid": "ZERO_UUID",
}


@dataclass(frozen=True)
class Struct:
    name: str
    fields: list[dict[str, Any]]


def main() -> None:
    jar_directory = Path(sys.argv[1])
    output = Path(sys.argv[2]) if len(sys.argv) > 2 else OUTPUT
    output.mkdir(parents=True, exist_ok=True)
    for stale in output.glob("*.py"):
        stale.unlink()
    package_doc = f'"""Messages and log records of Apache Kafka {KAFKA_VERSION}, one module each; {MADE_BY}."""\n'
    (output / "__init__.py").write_text(package_doc)
    seen: dict[str, str] = {}
    for jar in JARS:
        with zipfile.ZipFile(jar_directory / f"{jar}-{KAFKA_VERSION}.jar") as archive:
            for entry in sorted(archive.namelist()):
                if not entry.endswith(".json") or ("message/" not in entry and "metadata/" not in entry):
                    continue
                definition = parse(archive.read(entry).decode())
                if definition["validVersions"] == "none":
                    continue
                module = snake_case(definition["name"])
                assert module not in seen, f"{module} comes from {seen[module]} and {jar}"
                seen[module] = jar
                (output / f"{module}.py").write_text(render(definition))
    print(f"{len(seen)} messages written to {output}")


def parse(text: str) -> dict[str, Any]:
    """A definition, which is JSON with line comments."""
    without_comments = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    without_comments = re.sub(r'(?<=[,\[{}"])\s+//.*$', "", without_comments, flags=re.MULTILINE)
    definition: dict[str, Any] = json.loads(without_comments)
    return definition


def snake_case(name: str) -> str:
    """Kafka's CamelCase as Python writes it: LastStableOffset -> last_stable_offset, ISRChange -> isr_change."""
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return name.lower()


def structs_of(definition: dict[str, Any]) -> list[Struct]:
    """Every struct of a message, used ones before their users, the message itself last."""
    shared = {struct["name"]: struct["fields"] for struct in definition.get("commonStructs", [])}
    found: list[Struct] = []

    def visit(name: str, fields: list[dict[str, Any]]) -> None:
        for field in fields:
            element = field["type"].removeprefix("[]")
            if inner := field.get("fields", shared.get(element)):
                visit(element, inner)
        if all(struct.name != name for struct in found):
            found.append(Struct(name, fields))

    visit(definition["name"], definition["fields"])
    return found


def render(definition: dict[str, Any]) -> str:
    structs = structs_of(definition)
    fields = [field for struct in structs for field in struct.fields]
    types = {field["type"].removeprefix("[]") for field in fields}
    imports = []
    if any(field["type"].startswith("[]") for field in fields):
        imports.append("from collections.abc import Sequence\n")
    schema_names = ["Message"] + (["Records"] if "records" in types else [])
    imports.append(f"from ottla.protocol.schema import {', '.join(schema_names)}")
    if any(default_of(field) == "ZERO_UUID" for field in fields):
        imports.append("from ottla.protocol.uuids import ZERO_UUID")
    body = "\n\n\n".join(render_struct(struct, definition) for struct in structs)
    head = f'"""{definition["name"]}, of Apache Kafka {KAFKA_VERSION}; {MADE_BY}."""'
    return f"{head}\n\nfrom __future__ import annotations\n\n{chr(10).join(imports)}\n\n\n{body}\n"


def render_struct(struct: Struct, definition: dict[str, Any]) -> str:
    names = [snake_case(field["name"]) for field in struct.fields]
    lines = [f"class {struct.name}(Message):"]
    lines += slots(names)
    lines.append("    FIELDS = (")
    lines += [f"        {table_row(field, definition)}," for field in struct.fields]
    lines.append("    )")
    if struct.name == definition["name"]:
        low, high = version_bounds(definition["validVersions"])
        lines.append(f"    API_KEY = {definition.get('apiKey', -1)}")
        lines.append(f"    VERSIONS = range({low}, {high + 1})")
        flexible = definition.get("flexibleVersions", "none")
        lines.append(f"    FLEXIBLE_FROM = {NEVER if flexible == 'none' else version_bounds(flexible)[0]}")
        if definition.get("latestVersionUnstable"):
            lines.append("    LATEST_VERSION_UNSTABLE = True")
    lines.append("")
    if names:
        lines.append("    def __init__(")
        lines.append("        self,")
        lines.append("        *,")
        lines += [
            f"        {name}: {annotation(field)} = {default_argument(field)},"
            for name, field in zip(names, struct.fields, strict=True)
        ]
        lines.append("    ) -> None:")
        lines += [
            f"        self.{name} = {initial_value(name, field)}"
            for name, field in zip(names, struct.fields, strict=True)
        ]
    else:
        lines.append("    def __init__(self) -> None:")
        lines.append("        pass")
    return "\n".join(lines)


def slots(names: list[str]) -> list[str]:
    quoted = [f'"{name}"' for name in names]
    line = f"    __slots__ = ({', '.join(quoted)}{',' if len(quoted) == 1 else ''})"
    if len(line) <= 120:
        return [line]
    return ["    __slots__ = (", *(f"        {name}," for name in quoted), "    )"]


NEVER = 32767


def version_bounds(versions: str) -> tuple[int, int]:
    if versions.endswith("+"):
        return int(versions[:-1]), NEVER
    low, _, high = versions.partition("-")
    return int(low), int(high or low)


def table_row(field: dict[str, Any], definition: dict[str, Any]) -> str:
    """(name, type, versions, nullable versions, tag, tagged versions) as Ottla's codec reads it."""
    tag = field.get("tag")
    row = (
        snake_case(field["name"]),
        field["type"],
        # A tagged field that does not say is there where it has its tag.
        field.get("versions") or field.get("taggedVersions") or definition["validVersions"],
        field.get("nullableVersions", ""),
        -1 if tag is None else tag,
        field.get("taggedVersions", ""),
    )
    return repr(row).replace("'", '"')


def annotation(field: dict[str, Any]) -> str:
    kind = field["type"]
    element = kind.removeprefix("[]")
    python = PYTHON_TYPES.get(element, element)
    if kind.startswith("[]"):
        python = f"Sequence[{python}]"
    may_be_null = "nullableVersions" in field or is_struct(kind)
    return f"{python} | None" if may_be_null else python


def is_struct(kind: str) -> bool:
    return kind not in PYTHON_TYPES and not kind.startswith("[]")


def default_of(field: dict[str, Any]) -> str:
    """The field's default as Python source.

    A struct defaults to a fresh instance of itself, but a tagged one to nothing: absent is what a missing tag says, and
    a Fetch answer would otherwise make three of them for every partition.
    """
    kind = field["type"]
    default = field.get("default")
    if default == "null" or (is_struct(kind) and "tag" in field):
        return "None"
    if kind.startswith("[]"):
        return "()"
    if is_struct(kind):
        return f"{kind}()"
    if default in (None, ""):
        return ZERO_DEFAULTS.get(kind, "0")
    if kind == "bool":
        return "True" if str(default).lower() == "true" else "False"
    if kind == "string":
        return json.dumps(str(default))
    if kind == "float64":
        return str(float(default))
    return str(int(str(default), 0))


def default_argument(field: dict[str, Any]) -> str:
    # One instance shared by all messages would be changed by one of them sooner or later.
    return "None" if is_struct(field["type"]) else default_of(field)


def initial_value(name: str, field: dict[str, Any]) -> str:
    kind = field["type"]
    if is_struct(kind) and default_of(field) != "None":
        return f"{kind}() if {name} is None else {name}"
    return name


if __name__ == "__main__":
    main()
