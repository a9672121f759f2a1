"""`kafka-broker-api-versions`: the APIs of each broker, and which version of each we would use."""

import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.java_errors import as_java
from ottla.cli.kafka.frame.options import ToolParser, tool_access

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.api_versions import BrokerVersions
    from ottla.client.metadata import Node
    from ottla.protocol.api_keys import ApiKey
    from ottla.protocol.schema import Message

# APIs among brokers and controllers: what a broker does not offer its clients is not missing.
_NOT_FOR_CLIENTS: Final = frozenset({4, 5, 6, 7, 52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82})


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = ToolParser("kafka-broker-api-versions", "This tool helps to retrieve broker version information.")
    parser.add_bootstrap()
    options = parser.parse(arguments)
    parser.require(options, "bootstrap-server")

    async def ask(client: "Client") -> "list[str]":
        answers = await client.admin.broker_versions()
        return [_broker_text(node, answer) for node, answer in answers.items()]

    try:
        print("\n".join(with_client(tool_access(options), ask)))
    except CommandError as error:
        print(as_java(error), file=sys.stderr)
        return ExitCode.FAILED
    return ExitCode.DONE


def _broker_text(node: "Node", answer: "BrokerVersions | Exception") -> str:
    from ottla.client.errors import ClientError

    rack = "null" if node.rack is None else node.rack
    broker = f"{node.address} (id: {node.node_id} rack: {rack} isFenced: false)"
    if isinstance(answer, ClientError):
        return f"{broker} -> ERROR: {as_java(answer)}"
    assert not isinstance(answer, Exception)
    return f"{broker} -> (\n\t" + ",\n\t".join(api_lines(answer.ranges)) + "\n)"


def api_lines(offered: dict[int, tuple[int, int]]) -> list[str]:
    """A line for each API that is offered or that a client could miss."""
    from ottla.protocol.api_keys import ApiKey

    known = {int(key): key for key in ApiKey}
    lines = []
    for number in sorted(offered.keys() | (known.keys() - _NOT_FOR_CLIENTS)):
        versions = offered.get(number)
        name = f"{_name(known[number])}({number})" if number in known else f"UNKNOWN({number})"
        if versions is None:
            lines.append(f"{name}: UNSUPPORTED")
        elif number not in known:
            lines.append(f"{name}: {_range(versions)}")
        else:
            lines.append(f"{name}: {_range(versions)} [{_usable(versions, known[number])}]")
    return lines


def _name(key: "ApiKey") -> str:
    return "".join(word.capitalize() for word in key.name.split("_"))


def _range(versions: tuple[int, int]) -> str:
    low, high = versions
    return str(low) if low == high else f"{low} to {high}"


def _usable(versions: tuple[int, int], key: "ApiKey") -> str:
    from ottla.client.api_versions import usable_versions

    module = importlib.import_module(f"ottla.protocol.messages.{key.name.lower()}_request")
    request: type[Message] = getattr(module, f"{_name(key)}Request")
    low, high = usable_versions(request)
    if high < versions[0]:
        return "unusable: node too new"
    if low > versions[1]:
        return "unusable: node too old"
    return f"usable: {min(high, versions[1])}"
