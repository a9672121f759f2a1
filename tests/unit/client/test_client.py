"""What importing and opening a client costs, and what a wrong address says."""

import asyncio
import subprocess
import sys

import pytest

import ottla.client
from harness.ports import free_port
from ottla.client.client import Client
from ottla.client.errors import BrokerUnreachable
from ottla.client.sync import Client as BlockingClient


def test_every_public_name_can_be_had() -> None:
    assert all(getattr(ottla.client, name) is not None for name in ottla.client.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ottla.client.nonsense


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, ottla.client; print(*sorted({'asyncio', 'crc32c', 'pyarrow', 'ssl'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.split() == []


def test_administration_does_without_what_opens_batches() -> None:
    program = "import sys, ottla.client.sync; print(*sorted({'crc32c', 'zstandard', 'pyarrow'} & set(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.split() == []


def test_nobody_behind_any_address_is_told_with_all_of_them() -> None:
    ports = [free_port(), free_port()]

    async def connect() -> None:
        async with Client([f"127.0.0.1:{port}" for port in ports]):
            pass

    with pytest.raises(BrokerUnreachable) as failure:
        asyncio.run(connect())
    assert "none of the 2 bootstrap addresses" in str(failure.value)
    assert all(f"127.0.0.1:{port} refuses connections" in str(failure.value) for port in ports)


def test_the_blocking_client_says_the_same_and_ends_its_thread() -> None:
    with pytest.raises(BrokerUnreachable, match="is a broker running there"):
        BlockingClient(f"127.0.0.1:{free_port()}")
