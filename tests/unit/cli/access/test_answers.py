import asyncio
import socket

from harness.ports import free_port
from ottla.cli.access.answers import Answer, ask_addresses
from ottla.client.addresses import Address


def test_who_listens_but_never_answers_is_told_from_nobody() -> None:
    nobody = Address("127.0.0.1", free_port())
    # It accepts, as the system does it for a frozen process.
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        silent = Address("127.0.0.1", frozen.getsockname()[1])
        found = asyncio.run(ask_addresses([nobody, silent, nobody], timeout_s=0.2))
    assert found == {nobody: Answer.REFUSAL, silent: Answer.SILENCE}
