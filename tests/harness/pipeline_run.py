"""A pipeline under kill -9: a driver, a feed of input, a killer, and the account in the end.

The killer waits until a random number of batches went through, and then for a random part of a batch, so that kills
fall into every step. Its seed is printed; OTTLA_SEED=n repeats it, as far as processes can be repeated.
"""

import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from harness.agents import SOURCES
from harness.clients.confluent import ConfluentKafka
from harness.pipeline_ledger import Feed, differences, open_transactions, read_by_ottla
from harness.process_tree import command_line, descendants, end
from harness.servers import Server
from harness.spark_cluster import python_workers, spark_environment
from harness.three_brokers import ThreeBrokers
from harness.transactions import committed_offsets, read_by_confluent
from harness.waiting import eventually
from harness.workers import Worker

PARTITIONS = 3
ROWS_PER_BATCH = 120
# The first query of a session loads half of Spark, and a machine may be busy.
BATCHES_TIMEOUT_S = 300.0
DRAIN_TIMEOUT_S = 600.0
# Of batches between two kills; and a part of a batch after them, longer than the batch may take.
BATCHES_MAX = 4
DELAY_MAX_S = 1.2
# The source's process on the driver and the workers that plan and run.
PYTHON = "pyspark."


class PipelineRun:
    """`name` is of the pipeline, and its topics are named after it."""

    def __init__(self, server: Server | ThreeBrokers, master: str, home: Path, name: str, **options: str) -> None:
        self.server = server
        self.name = name
        self.checkpoint = home / "checkpoint"
        self.errors = home / "errors"
        seed = int(os.environ.get("OTTLA_SEED", time.time_ns() % 1_000_000))
        print(f"OTTLA_SEED={seed}")
        self.chance = random.Random(seed)
        self.input, self.output = f"{name}-input", f"{name}-output"
        self._create_topics()
        given = {
            "master": master,
            "bootstrap": server.bootstrap,
            "input": self.input,
            "output": self.output,
            "name": name,
            "checkpoint": str(self.checkpoint),
            "scratch": str(home / "scratch"),
            "source": "ottla",
            "sink": "exactly-once",
            "starting": "earliest",
            "rows": str(ROWS_PER_BATCH),
            **options,
        }
        self._command = _command(given)
        self.driver = self._new_driver()
        # One that sleeps.
        self._zombie: Worker | None = None
        self.feed = Feed(
            server.bootstrap, self.input, PARTITIONS, lead=ROWS_PER_BATCH * 3 * BATCHES_MAX, is_read=self.rows
        )

    def _create_topics(self) -> None:
        topics = (self.input, self.output)
        if isinstance(self.server, ThreeBrokers):
            self.server.create_topics(*topics, partitions=PARTITIONS)
            return
        client = ConfluentKafka(self.server.bootstrap)
        for topic in topics:
            client.create_topic(topic, PARTITIONS, {})
        eventually(client.topics, lambda found: found.keys() >= set(topics))

    def _new_driver(self) -> Worker:
        return Worker(lambda _run: self._command, spark_environment(), self.errors)

    def batches(self) -> int:
        self.driver.revive()
        return self.driver.count("batch ")

    def rows(self) -> int:
        """At least so many have gone through."""
        return sum(int(line.split(" ")[2]) for line in list(self.driver.said) if line.startswith("batch "))

    def proceed(self, batches: int) -> None:
        """Until so many more went through."""
        enough = self.batches() + batches
        eventually(
            lambda: (self.batches(), self.driver.said[-3:]),
            lambda found: found[0] >= enough,
            timeout_s=BATCHES_TIMEOUT_S,
        )

    def reach_a_random_moment(self) -> None:
        self.proceed(self.chance.randint(1, BATCHES_MAX))
        time.sleep(self.chance.uniform(0, DELAY_MAX_S))

    def kill_driver(self) -> str:
        """The program and its JVM; now and then, Spark is made to forget that it had noted the last batch as done."""
        self.driver.kill()
        doubt = self.chance.random() < 0.5 and forget_last_commit(self.checkpoint)
        self.driver.start()
        return "the driver" + (f", and what Spark knew of batch {doubt}" if doubt else "")

    def replace_sleeping_driver(self) -> str:
        """The driver falls asleep in the middle of a batch, with its transaction open, and another one begins."""
        eventually(self._falls_asleep_in_a_transaction, timeout_s=BATCHES_TIMEOUT_S)
        self._zombie, successor = self.driver, self._new_driver()
        successor.said += self.driver.said
        self.driver = successor
        return "the driver sleeps, and another one has begun"

    def _falls_asleep_in_a_transaction(self) -> bool:
        if f"ottla-sink-{self.name}" not in open_transactions(self.server.bootstrap):
            return False
        self.driver.freeze()
        # What was on its way to the coordinator when it fell asleep has arrived by then.
        time.sleep(0.5)
        if f"ottla-sink-{self.name}" in open_transactions(self.server.bootstrap):
            return True
        self.driver.thaw()
        return False

    def wake_up_zombie(self) -> str:
        """It goes on with what it was about; what it says of that."""
        zombie = self._zombie
        assert zombie is not None
        failures = zombie.count("failed")
        zombie.thaw()
        zombie.wait_until_said("failed", failures + 1, timeout_s=BATCHES_TIMEOUT_S)
        zombie.close()
        return [line for line in zombie.said if line.startswith("failed")][failures]

    def kill_python_workers(self, of: Callable[[], list[int]] | None = None) -> str:
        """All that run tasks, or one of them."""
        found = eventually(of or (lambda: python_workers(self.driver.pid)))
        chosen = found if self.chance.random() < 0.5 else [self.chance.choice(found)]
        return f"{sum(map(end, chosen))} of {len(found)} Python workers"

    def kill_source_process(self) -> str:
        """The process of Python on the driver that answers for the source."""
        below = descendants(self.driver.pid)
        found = [pid for pid in below if "streaming" in command_line(pid) and PYTHON in command_line(pid)]
        return f"{sum(map(end, found))} processes of the source"

    def kill_server(self) -> str:
        """The broker, and with it perhaps the answer to a commit; it comes back."""
        self.server.kill()
        self.server.start()
        return "the server"

    def kill_one(self, of: Callable[[], list[int]], what: str) -> str:
        found = eventually(of, timeout_s=BATCHES_TIMEOUT_S)
        end(self.chance.choice(found))
        return what

    def settle(self) -> None:
        """The input ends, and all of it goes through; then the driver ends."""
        self.feed.finish()
        ends = [self.feed.count] * PARTITIONS

        def committed() -> tuple[list[int], list[str]]:
            self.driver.revive()
            return self.committed(), self.driver.said[-3:]

        eventually(committed, lambda found: found[0] == ends, timeout_s=DRAIN_TIMEOUT_S)
        assert self.driver.finish() == 0

    def committed(self) -> list[int]:
        return committed_offsets(self.server.bootstrap, self.name, self.input, PARTITIONS)

    def differences(self) -> Mapping[str, list[str]]:
        """By each reader: what is wrong with the output."""
        bootstrap, expected = self.server.bootstrap, self.feed.expected()
        readers = (read_by_confluent, read_by_ottla)
        return {read.__name__: differences(expected, read(bootstrap, self.output, PARTITIONS)) for read in readers}

    def open_transactions(self) -> list[str]:
        return open_transactions(self.server.bootstrap)

    def check(self) -> None:
        """All of the input came through once and in order, the group stands at its end, and nothing is open."""
        assert self.differences() == {"read_by_confluent": [], "read_by_ottla": []}
        assert self.committed() == [self.feed.count] * PARTITIONS
        assert self.open_transactions() == []

    def close(self) -> None:
        self.feed.finish()
        for driver in (self.driver, self._zombie):
            if driver is not None:
                driver.close()


def _command(options: Mapping[str, str]) -> list[str]:
    pairs = [part for pair in options.items() for part in pair]
    return [sys.executable, str(SOURCES / "pipeline_driver.py"), *pairs]


def forget_last_commit(checkpoint: Path) -> str:
    """Leave the checkpoint as a crash does that comes after the batch and before Spark noted it; which batch, or none.

    Where a later batch has begun, Spark must have noted it: such a checkpoint is left as it is.
    """
    commits, offsets = (_numbered(checkpoint / name) for name in ("commits", "offsets"))
    if not commits or commits[-1] != offsets[-1]:
        return ""
    last = str(commits[-1])
    (checkpoint / "commits" / last).unlink()
    (checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)
    return last


def _numbered(directory: Path) -> list[int]:
    if not directory.is_dir():
        return []
    return sorted(int(path.name) for path in directory.iterdir() if path.name.isdigit())
