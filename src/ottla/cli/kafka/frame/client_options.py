"""What Apache's tools that move records have in common: properties from files and flags, and old names of flags.

`add_client_options` gives a tool the flags of `--command-config` and `--command-property` together with their old
names; using one of those is remarked on stdout, as Apache's tools do.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from ottla.cli.access.cluster_access import ClusterAccess, access, properties_of_file
from ottla.cli.kafka.frame.options import ToolParser

_REMARK_ON_OPTION: Final = "{word}--{old} is deprecated and will be removed in a future version. Use --{new} instead."


def add_client_options(parser: ToolParser, kind: str) -> None:
    """How to reach the cluster and with which properties; `kind` is producer or consumer."""
    old_servers = ("--broker-list",) if kind == "producer" else ()
    parser.add_argument("--bootstrap-server", *old_servers, metavar="HOST:PORT[,...]", help="brokers to ask first")
    parser.add_argument("--command-config", metavar="FILE", help=f"{kind} properties")
    parser.add_argument(f"--{kind}.config", dest="old_config", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--command-property", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    parser.add_argument(f"--{kind}-property", dest="old_property", action="append", default=[], help=argparse.SUPPRESS)


def remark(options: argparse.Namespace, old_names: Mapping[str, tuple[str, str]], word: str) -> None:
    """Tell which of the given options have new names: from the option's attribute to its old and its new name."""
    for attribute, (old, new) in old_names.items():
        if getattr(options, attribute):
            # Records are written past the text layer of stdout.
            print(_REMARK_ON_OPTION.format(word=word, old=old, new=new), flush=True)


def client_properties(options: argparse.Namespace) -> dict[str, str]:
    """What file and flags say together: flags win."""
    path = options.command_config or options.old_config
    properties = {} if path is None else properties_of_file(path)
    properties.update(pairs([*options.command_property, *options.old_property]))
    return properties


def pairs(given: Sequence[str]) -> dict[str, str]:
    """KEY=VALUE, each; one without a value is empty, as Apache's tools read it."""
    return {name: value for name, _, value in (text.partition("=") for text in given)}


def cluster(options: argparse.Namespace, properties: Mapping[str, str]) -> ClusterAccess:
    """The cluster of a tool's options."""
    return access(options.bootstrap_server, properties)
