"""Requests of every kind with some bits flipped, at a real node, beside a client that behaves.

Whatever becomes of such a request is its sender's matter: an answer, an error, a closed connection. The node logs no
traceback, keeps its memory, and serves the other client. FUZZ_SECONDS makes it long.
"""

import os
import random
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from fuzz.targets import REQUESTS
from harness.control_client import ControlClient
from harness.process_memory import resident_bytes
from harness.sample_messages import sample
from harness.servers import OttlaServer
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode

SECONDS = float(os.environ.get("FUZZ_SECONDS", "40")) / 5
GROWTH_BYTES_MAX = 300 * 1024 * 1024
FRAMES_PER_CONNECTION = 20
# They would change the settings of the node under test, or of its logs, at random.
EXCLUDED = {ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS}

pytestmark = pytest.mark.timeout(SECONDS + 300)


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OttlaServer]:
    settings = {"auto.create.topics.enable": "false", "offsets.topic.num.partitions": "1"}
    server = OttlaServer(tmp_path_factory.mktemp("fuzzed"), settings)
    server.start()
    try:
        yield server
        assert server.stop() == 0
    finally:
        server.close()


@pytest.mark.parametrize("seed", [20_260])
def test_flipped_bits_hurt_nobody_but_their_sender(node: OttlaServer, seed: int) -> None:
    chance = random.Random(seed)
    kinds = [(cls, version) for cls, version in REQUESTS if cls.API_KEY not in EXCLUDED]
    with ControlClient(node.bootstrap) as control:
        before = resident_bytes(node.pid)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with socket.create_connection(("127.0.0.1", node.port), timeout=20) as connection:
                attack(connection, [flipped(kinds, chance) for _ in range(FRAMES_PER_CONNECTION)])
        control.wait_for_round_trips(1)
        assert resident_bytes(node.pid) - before < GROWTH_BYTES_MAX
    assert "Traceback" not in node.output.read_text()


def flipped(kinds: list[tuple[type, int]], chance: random.Random) -> bytes:
    cls, version = chance.choice(kinds)
    header = struct.pack(">hhih", cls.API_KEY, version, 1, -1) + (b"\0" if version >= cls.FLEXIBLE_FROM else b"")
    frame = bytearray(header + encode(sample(cls, version, chance), version))
    for _ in range(chance.randrange(4)):
        # Mostly the body: a header that names no API tells little.
        place = chance.randrange(len(frame)) if chance.random() < 0.1 else chance.randrange(8, len(frame))
        frame[place] ^= 1 << chance.randrange(8)
    return struct.pack(">i", len(frame)) + frame


def attack(connection: socket.socket, frames: list[bytes]) -> None:
    try:
        for frame in frames:
            connection.sendall(frame)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass
    except OSError:
        return  # It hung up, as it may.
