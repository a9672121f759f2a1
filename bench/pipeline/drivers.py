"""The drivers that are up, one for each contender, and what they cost while they work."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.generators import GeneratorFailed
from bench.pipeline.job import Done, Job, read_done
from bench.process import cpu_seconds, shared_megabytes

LOOK_EVERY_S = 0.5
STOP_TIMEOUT_S = 30.0


@dataclass(slots=True)
class Cost:
    """Known when its block has ended."""

    cpu_s: float = 0.0
    peak_mb: float = 0.0


class Driver:
    def __init__(self, contender: str, home: Path) -> None:
        home.mkdir(parents=True)
        self._log = home / "spark.log"
        command = [sys.executable, "-m", "bench.pipeline.driver", contender, str(home)]
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True
            )

    def ask(self, job: Job) -> Done:
        """Wait for a query to finish; GeneratorFailed if it did not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(job.to_line())
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise GeneratorFailed(f"the driver ended:\n{self._log.read_text(errors='replace')[-4000:]}")
        done = read_done(line)
        if done.error is not None:
            raise GeneratorFailed(f"{job.query}: {done.error}")
        return done

    @contextmanager
    def cost(self) -> Iterator[Cost]:
        """What this driver, its JVM and its Python workers cost while the block runs."""
        found = Cost()
        ended = threading.Event()

        def look() -> None:
            while True:
                found.peak_mb = max(found.peak_mb, shared_megabytes(self._process.pid))
                if ended.wait(LOOK_EVERY_S):
                    return

        before = cpu_seconds(self._process.pid)
        watching = threading.Thread(target=look)
        watching.start()
        try:
            yield found
        finally:
            ended.set()
            watching.join()
        found.cpu_s = cpu_seconds(self._process.pid) - before

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Drivers:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._up: dict[str, Driver] = {}
        # What a run that was killed left behind.
        shutil.rmtree(home, ignore_errors=True)

    def get(self, contender: str) -> Driver:
        if contender not in self._up:
            print(f"starting the driver of {contender}", flush=True)
            self._up[contender] = Driver(contender, self._home / contender)
        return self._up[contender]

    @contextmanager
    def directory(self) -> Iterator[str]:
        """One that does not exist yet, and is gone afterwards."""
        path = self._home / "query"
        try:
            yield str(path)
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        for driver in self._up.values():
            driver.close()
        shutil.rmtree(self._home, ignore_errors=True)
