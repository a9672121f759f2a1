"""`ottla server --brokers N`: a process for each broker of a row, and this one, which keeps them running.

Each broker has a file with its whole configuration, `DIR/broker-ID.properties`, written anew at every start: what
`ottla.config.broker_row` makes of the command line. Storage that is not formatted yet is formatted, if it is known for
which cluster. A broker that ends by itself is started again, after a pause that grows with each failure in a row. When
this process is told to stop, it tells all brokers, and ends when the last one has. When it is killed, they notice and
stop by themselves (see `kept_broker`).
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.server.service_manager import tell_ready
from ottla.config.broker_config import BrokerConfig
from ottla.config.broker_row import brokers_in_a_row
from ottla.config.values import ConfigError

_FIRST_PAUSE_S: Final = 1.0
_PAUSE_MAX_S: Final = 30.0
# A broker that ran for so long has not failed to start.
_STEADY_S: Final = 60.0
# With this line a node says that clients are served.
_SERVING: Final = b"is running."


@dataclass(frozen=True, slots=True)
class _Broker:
    config: BrokerConfig
    file: Path

    @property
    def addresses(self) -> str:
        return ",".join(listener.address for listener in self.config.advertised_listeners)


def run_row(given: Mapping[str, str], count: int) -> int:
    """Runs the brokers until SIGINT or SIGTERM; the value is the exit code."""
    try:
        _refuse_lone_node(BrokerConfig(given))
        rows = brokers_in_a_row(given, count, socket.gethostname())
        brokers = [_write(BrokerConfig(settings), settings) for settings in rows]
    except ConfigError as error:
        raise CommandError(str(error)) from error
    _format(brokers)
    asyncio.run(_Row(brokers).run())
    return ExitCode.DONE


def _refuse_lone_node(config: BrokerConfig) -> None:
    """A node that was run without --brokers keeps its data where the directories of the row would be: they would be
    hidden behind a new, empty broker."""
    for path in config.log_dirs:
        if (path / "meta.properties").exists():
            raise CommandError(
                f"{path} holds the data of a single node, and each broker of a row has a directory of its own",
                remedy="Run it without --brokers, or choose another log.dirs for the row.",
            )


def _write(config: BrokerConfig, settings: Mapping[str, str]) -> _Broker:
    directory = config.log_dirs[0].absolute().parent
    file = directory / f"broker-{config.node_id}.properties"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        file.write_text(f"# Written by `ottla server --brokers` at each start.\n{lines}")
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}") from error
    return _Broker(config, file)


def _format(brokers: Sequence[_Broker]) -> None:
    from ottla.broker.disks import storage_format
    from ottla.protocol import uuids

    states = {broker.file: storage_format.directory_states(broker.config) for broker in brokers}
    known = [state.properties for found in states.values() for state in found if state.properties is not None]
    first = brokers[0].config
    is_own_quorum = first.is_controller and len(first.quorum_bootstrap_servers) == 1
    if not known and not is_own_quorum:
        commands = "; ".join(f"ottla storage format -t CLUSTER-ID -c {broker.file}" for broker in brokers)
        if first.is_controller and not first.quorum_voters:
            commands += "; the first one with --initial-controllers ID@HOST:PORT:DIRECTORY-ID,... as well"
        raise CommandError("The brokers' storage is not formatted", remedy=f"Format it for your cluster: {commands}")
    cluster_id = known[0].cluster_id if known else uuids.uuid_to_text(uuids.random_uuid())
    for broker in brokers:
        try:
            formatting = storage_format.prepare(
                broker.config,
                cluster_id=cluster_id,
                levels={},
                ignores_formatted=True,
                standalone=broker.config.is_controller and is_own_quorum,
            )
            for state in formatting.directories if formatting else ():
                assert formatting is not None, "there are directories to format"
                state.path.mkdir(parents=True, exist_ok=True)
                storage_format.write(formatting, state)
        except storage_format.FormatRefused as error:
            raise CommandError(f"The storage of broker {broker.config.node_id} cannot be formatted: {error}") from error


class _Row:
    """The processes of the brokers."""

    def __init__(self, brokers: Sequence[_Broker]) -> None:
        self._brokers = brokers
        self._waited_for = {broker.config.node_id for broker in brokers}
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stopping.set)
        await asyncio.gather(*map(self._keep, self._brokers))

    async def _keep(self, broker: _Broker) -> None:
        """Runs one broker, again and again, until the row is stopped."""
        pause_s = _FIRST_PAUSE_S
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            began_s = loop.time()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "ottla.cli.server.kept_broker", str(broker.file)),
                # Nothing is written to it: its end tells the broker that this process is gone.
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                # Ctrl-C in the terminal is for this process, which tells them.
                start_new_session=True,
            )
            listening = asyncio.create_task(self._listen(broker, process))
            stopping = asyncio.create_task(self._stopping.wait())
            ended = asyncio.create_task(process.wait())
            await asyncio.wait((stopping, ended), return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set() and process.returncode is None:
                process.terminate()
            code = await ended
            stopping.cancel()
            await listening
            if self._stopping.is_set():
                return
            if loop.time() - began_s > _STEADY_S:
                pause_s = _FIRST_PAUSE_S
            ended_with = f"broker {broker.config.node_id} ended with code {code}"
            print(f"ottla server: {ended_with}; it starts again in {pause_s:g} s", file=sys.stderr, flush=True)
            await _wait_at_most(self._stopping, pause_s)
            pause_s = min(2 * pause_s, _PAUSE_MAX_S)

    async def _listen(self, broker: _Broker, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            if _SERVING in line and broker.config.node_id in self._waited_for:
                self._waited_for.discard(broker.config.node_id)
                if not self._waited_for:
                    self._tell_ready()

    def _tell_ready(self) -> None:
        addresses = ",".join(broker.addresses for broker in self._brokers)
        print(f"{len(self._brokers)} brokers of Ottla are running.")
        print(f"  bootstrap   {addresses}")
        print(f"  rack        {self._brokers[0].config.rack}")
        print(f"  settings    {', '.join(str(broker.file) for broker in self._brokers)}")
        print("Press Ctrl-C to stop.", flush=True)
        tell_ready(os.environ, f"Serving {addresses}")


async def _wait_at_most(event: asyncio.Event, timeout_s: float) -> None:
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait((waiting,), timeout=timeout_s)
    waiting.cancel()
