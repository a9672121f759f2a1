"""`kafka-verifiable-consumer`: a member of a group that reports in JSON what it gets and commits, as Apache's does."""

import argparse
from collections.abc import Sequence
from typing import Final

from ottla.cli.exits import CommandError
from ottla.cli.kafka.frame import client_options
from ottla.cli.kafka.frame.java_errors import report_failure
from ottla.cli.kafka.frame.options import ClientToolParser
from ottla.cli.words.whole_numbers import int32, int64

_ENDLESS: Final = -1


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    options = parser.parse(arguments)
    parser.require(options, "topic", "group-id", "bootstrap-server")
    # The client, which help can do without.
    from ottla.cli.kafka.verifiable.consuming import VerifiableConsumer

    try:
        return VerifiableConsumer(options, _properties(options)).run()
    except CommandError as error:
        return report_failure(error)


def _parser() -> ClientToolParser:
    parser = ClientToolParser("kafka-verifiable-consumer", "Consumes a topic in a group, tells in JSON what happens.")
    client_options.add_client_options(parser, "consumer")
    parser.add_argument("--topic", metavar="TOPIC", help="what to read")
    parser.add_argument("--group-id", metavar="GROUP", help="the group")
    parser.add_argument("--group-instance-id", metavar="ID", help="for a static member")
    parser.add_argument("--group-protocol", default="classic", metavar="PROTOCOL", help="only classic")
    parser.add_argument("--group-remote-assignor", metavar="NAME", help="only for group protocol consumer")
    parser.add_argument("--max-messages", type=int64, default=_ENDLESS, metavar="COUNT", help="default -1: for ever")
    parser.add_argument("--session-timeout", type=int32, metavar="MS", help="of the member")
    parser.add_argument("--verbose", action="store_true", help="tell of each record")
    parser.add_argument("--enable-autocommit", action="store_true", help="commit now and then, not after each poll")
    parser.add_argument("--reset-policy", default="earliest", metavar="POLICY", help="earliest, latest or none")
    parser.add_argument(
        "--assignment-strategy", default="org.apache.kafka.clients.consumer.RangeAssignor", metavar="CLASS"
    )
    return parser


def _properties(options: argparse.Namespace) -> dict[str, str]:
    properties = client_options.client_properties(options)
    properties |= {
        "group.protocol": options.group_protocol,
        "enable.auto.commit": "true" if options.enable_autocommit else "false",
        "auto.offset.reset": options.reset_policy,
        "partition.assignment.strategy": options.assignment_strategy,
    }
    if options.group_instance_id is not None:
        properties["group.instance.id"] = options.group_instance_id
    if options.session_timeout is not None:
        properties["session.timeout.ms"] = str(options.session_timeout)
    return properties
