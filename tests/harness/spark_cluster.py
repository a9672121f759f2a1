"""A Spark standalone cluster on this machine: a master and workers of one core each, as processes that may be killed.

A worker starts executors (a JVM for each application), and an executor a daemon of Python whose children run the tasks
in Python. Drivers connect to `url` as users do.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from harness.ports import free_port
from harness.process_tree import command_line, descendants, end
from harness.waiting import eventually

START_TIMEOUT_S = 60.0
EXECUTOR = "CoarseGrainedExecutorBackend"
PYTHON_DAEMON = "pyspark.daemon"


def python_workers(parent: int) -> list[int]:
    """The processes below a JVM that run tasks in Python; their daemon has the same command line, and is not meant."""
    daemons_and_workers = [pid for pid in descendants(parent) if PYTHON_DAEMON in command_line(pid)]
    return [worker for daemon in daemons_and_workers for worker in descendants(daemon)]


def spark_environment() -> dict[str, str]:
    """Where Spark's processes find Python and what the tests import."""
    sources = [path for path in (os.environ.get("PYTHONPATH"), *_source_folders()) if path]
    return {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(sources)),
    }


def _source_folders() -> tuple[str, str]:
    tests = Path(__file__).resolve().parents[1]
    return str(tests.parent / "src"), str(tests)


class SparkCluster:
    def __init__(self, home: Path, workers: int = 2) -> None:
        self._home = home
        self._processes: list[subprocess.Popen[bytes]] = []
        self._port = free_port()
        self.output = home / "output"
        home.mkdir(parents=True, exist_ok=True)
        page = str(free_port())
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(self._port), "--webui-port", page)
        for number in range(workers):
            place = home / f"worker-{number}"
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(place))
            ports = ("--host", "127.0.0.1", "--port", str(free_port()), "--webui-port", str(free_port()))
            self._start("worker.Worker", *size, *ports, self.url)
        eventually(lambda: self._registered() == workers, timeout_s=START_TIMEOUT_S)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def executors(self) -> list[int]:
        return [pid for worker in self._workers() for pid in descendants(worker) if EXECUTOR in command_line(pid)]

    def python_workers(self) -> list[int]:
        return [pid for executor in self.executors() for pid in python_workers(executor)]

    def close(self) -> None:
        """Ends every process of the cluster, those that its workers have started as well."""
        started = [pid for worker in self._workers() for pid in descendants(worker)]
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        for pid in started:
            end(pid)

    def _workers(self) -> list[int]:
        return [process.pid for process in self._processes[1:]]

    def _registered(self) -> int:
        for process in self._processes:
            assert process.poll() is None, f"a process of Spark has ended:\n{self.output.read_text(errors='replace')}"
        return self.output.read_text(errors="replace").count("Successfully registered with master")

    def _start(self, main: str, *arguments: str) -> None:
        import pyspark

        spark_home = Path(pyspark.__file__).parent
        guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        command = [*guard, str(spark_home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments]
        with self.output.open("ab") as output:
            self._processes.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=self._environment(spark_home),
                    cwd=self._home,
                    start_new_session=True,
                )
            )

    def _environment(self, spark_home: Path) -> Mapping[str, str]:
        return {
            **spark_environment(),
            "SPARK_HOME": str(spark_home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(self._home / "scratch"),
        }
