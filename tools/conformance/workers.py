"""Workers take jobs one after the other, each with servers of its own, so that no two tests share one at the same time.

A server serves all jobs that want its settings, until a job fails or it no longer answers: then the next job gets a
fresh one.
"""

import queue
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from conformance.results import DIRECTORY, Results, unexpected_failures
from conformance.suites import FAILED, PASSED, Job
from harness.servers import KINDS, Server
from harness.three_brokers import ThreeBrokers

# Tests of ACLs want an authorizer. Ottla has none yet and says so by refusing the setting. Controllers of Kafka that
# have one and no super user never elect a leader, so a cluster goes without.
ONLY_KAFKA_ALONE = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
ATTEMPTS = 2


Servers = Server | ThreeBrokers


class Worker:
    def __init__(self, kind: str, brokers: int, home: Path) -> None:
        self._kind = kind
        self._brokers = brokers
        self._home = home
        self._servers: dict[tuple[tuple[str, str], ...], Servers] = {}
        self._started = 0

    def run(self, job: Job) -> dict[str, str]:
        outcomes: dict[str, str] = {}
        for attempt in range(ATTEMPTS):
            server = self._server(job.settings)
            home = Path(tempfile.mkdtemp(dir=self._home))
            now = job.run(server.bootstrap, home)
            failed = FAILED in now.values()
            outcomes |= {test: state for test, state in now.items() if outcomes.get(test) != PASSED}
            if failed:
                self._keep_output(job, home, server, attempt)
            shutil.rmtree(home)
            if failed or not answers(server):
                self._drop(job.settings)
            if not unexpected_failures(self._kind, job.suite, now):
                break
        return outcomes

    def _server(self, settings: Mapping[str, str]) -> Servers:
        key = tuple(sorted(settings.items()))
        if key not in self._servers:
            self._started += 1
            home = self._home / f"server-{self._started}"
            home.mkdir()
            server = self._new_server(home, settings)
            server.start()
            self._servers[key] = server
        return self._servers[key]

    def _new_server(self, home: Path, settings: Mapping[str, str]) -> Servers:
        if self._brokers > 1:
            return ThreeBrokers(self._kind, home, settings)
        return KINDS[self._kind](home, {**settings, **(ONLY_KAFKA_ALONE if self._kind == "kafka" else {})})

    def _drop(self, settings: Mapping[str, str]) -> None:
        server = self._servers.pop(tuple(sorted(settings.items())))
        server.kill()
        shutil.rmtree(server.home)

    def _keep_output(self, job: Job, home: Path, server: Servers, attempt: int) -> None:
        kept = DIRECTORY / "failed" / (self._kind if self._brokers == 1 else f"{self._kind}-{self._brokers}")
        kept.mkdir(parents=True, exist_ok=True)
        for path in home.glob("*.log"):
            shutil.copyfile(path, kept / f"{job.name}-{attempt}-{path.name}")
        for path in server.home.rglob("server.log"):
            of = path.parent.name if self._brokers > 1 else "server"
            shutil.copyfile(path, kept / f"{job.name}-{attempt}-{of}.log")

    def close(self) -> None:
        for server in self._servers.values():
            server.kill()


def answers(server: Servers) -> bool:
    try:
        AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0}).list_topics(timeout=10)
    except KafkaException:
        return False
    return True


def run_jobs(kind: str, brokers: int, jobs: Sequence[Job], results: Results, workers: int) -> None:
    """Runs all jobs against servers of one kind, one each or three, and says how far it is."""
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    finished = 0
    printing = threading.Lock()

    def work(home: Path) -> None:
        nonlocal finished
        worker = Worker(kind, brokers, home)
        try:
            while True:
                job = waiting.get_nowait()
                started = time.monotonic()
                outcomes = worker.run(job)
                results.add(job.suite, job.name, outcomes)
                with printing:
                    finished += 1
                    elapsed = time.monotonic() - started
                    print(f"{kind} {finished}/{len(jobs)} {elapsed:4.0f} s  {summary(job, outcomes)}", flush=True)
        except queue.Empty:
            return
        finally:
            worker.close()

    with tempfile.TemporaryDirectory(prefix="ottla-conformance-") as directory:
        homes = [Path(directory) / str(number) for number in range(workers)]
        for home in homes:
            home.mkdir()
        threads = [threading.Thread(target=work, args=(home,)) for home in homes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if finished < len(jobs):
        sys.exit(f"{kind}: {len(jobs) - finished} jobs did not run; see above, and go on with --missing")


def summary(job: Job, outcomes: Mapping[str, str]) -> str:
    if len(outcomes) == 1:
        return " ".join(f"{name} {state}" for name, state in outcomes.items())
    states = sorted(outcomes.values())
    return f"{job.suite} {job.name}: " + ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
