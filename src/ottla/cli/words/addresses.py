"""Addresses that services of this command line listen on."""

import argparse
from typing import Final

from ottla.cli.exits import UsageError

_METRICS_EXAMPLE: Final = "127.0.0.1:9308"


def add_metrics_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metrics", metavar="HOST:PORT", help="address of a page for Prometheus, /metrics; nothing is counted without"
    )


def metrics_address(text: str) -> tuple[str, int]:
    """Host and port of --metrics."""
    host, _, port = text.rpartition(":")
    is_ipv6 = host.startswith("[") and host.endswith("]")
    if (":" in host) != is_ipv6:
        raise UsageError(f"--metrics {text}: write HOST:PORT, as in --metrics {_METRICS_EXAMPLE}.")
    check_port("--metrics", text, _METRICS_EXAMPLE)
    return host.strip("[]"), int(port)


def check_port(option: str, text: str, example: str) -> None:
    """UsageError for what does not end in a port."""
    from ottla.protocol.written_numbers import parse_port

    _, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal():
        raise UsageError(f"{option} {text}: write HOST:PORT, as in {option} {example}.")
    try:
        parse_port(port)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}.") from None
