"""`make run`: a node and a schema registry, a first conversation with both, and where there is Java a first pipeline.

They run in sessions of their own, so that Ctrl-C reaches this program alone, which then asks the registry to stop, then
the node, and waits until they have. What they log goes to files beside the data, to leave the screen to the
conversation. The registry is an addition: where its port is taken, or it does not start, the node goes on without.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.java import require_java
from ottla.protocol.written_numbers import parse_port

ROOT = Path(__file__).resolve().parents[1]
START_TIMEOUT_S = 60.0


class Stopped(Exception):
    """The user has seen enough."""


def stop(_signal: int, _frame: FrameType | None) -> None:
    raise Stopped


def is_taken(host: str, port: int) -> bool:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError:
            return True
    return False


def wait_until_ready(node: "subprocess.Popen[bytes]", listen: str) -> tuple[str, int] | None:
    """The cluster's and the node's id as the node tells them, or None if it ended or never answered."""
    host, _, port = listen.rpartition(":")
    deadline = time.monotonic() + START_TIMEOUT_S
    while node.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            cluster = AdminClient({"bootstrap.servers": listen, "log_level": 0}).list_topics(timeout=5)
            return str(cluster.cluster_id), next(iter(cluster.brokers))
        except (OSError, KafkaException):
            time.sleep(0.05)
    return None


def run(listen: str, data: Path, registry: str) -> int:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        print(f"--listen {listen}: write HOST:PORT, as in 127.0.0.1:9092.", file=sys.stderr)
        return 2
    try:
        is_occupied = is_taken(host, parse_port(port, lowest=1))
    except ValueError as error:
        print(f"--listen {listen}: {error}.", file=sys.stderr)
        return 2
    except socket.gaierror as error:
        print(f"--listen {listen}: the host is not known: {error.strerror}.", file=sys.stderr)
        return 2
    if is_occupied:
        remedy = f"Stop that, or choose another port, and other data: make run LISTEN={host}:19092 DATA=data/second"
        print(f"{listen} is taken by another program. {remedy}", file=sys.stderr)
        return 1
    log = data.with_name(f"{data.name}.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ottla.cli.main", "server", "--data", str(data), "--listen", listen]
    with log.open("ab") as output:
        earlier_bytes = output.tell()
        node = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        return converse(node, listen, data, log, earlier_bytes, registry)
    except Stopped:
        return 0
    except BrokenPipeError:
        # Whoever read this has gone, and does not want to hear of it when the interpreter ends either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if node.poll() is None:
            node.terminate()
            with suppress(BrokenPipeError):
                print("\nStopping ...", flush=True)
            node.wait()


def converse(
    node: "subprocess.Popen[bytes]", listen: str, data: Path, log: Path, earlier_bytes: int, registry: str
) -> int:
    ids = wait_until_ready(node, listen)
    if ids is None:
        said = "\n".join(log.read_bytes()[earlier_bytes:].decode(errors="replace").splitlines()[-5:])
        print(f"The node did not start. The end of {log}:\n{said}", file=sys.stderr)
        return 1
    print("Ottla is running.")
    print(f"  bootstrap   {listen}")
    print(f"  data        {data}")
    print(f"  log         {log}")
    print(f"  cluster id  {ids[0]}")
    print(f"  node id     {ids[1]}")
    print(f"\nA first conversation (examples/hello.py {listen}):", flush=True)
    with running_registry(listen, registry, data) as registry_url:
        done = subprocess.run([sys.executable, str(ROOT / "examples" / "hello.py"), listen], check=False)
        if done.returncode != 0:
            print(f"The conversation failed with exit code {done.returncode}; see {log}.", file=sys.stderr)
            return 1
        if registry_url is not None:
            show_types(listen, registry_url, data)
        show_pipeline(listen)
        print("\nThe node stays up until Ctrl-C; the next `make run` finds its data again.", flush=True)
        code = node.wait()
    print(f"The node ended with exit code {code}; see {log}.", file=sys.stderr)
    return code or 1


def registry_log(data: Path) -> Path:
    return data.with_name(f"{data.name}-registry.log")


@contextmanager
def running_registry(listen: str, registry: str, data: Path) -> Iterator[str | None]:
    """A registry beside the node, by its URL; None where its address cannot be used."""
    host, _, port = registry.rpartition(":")
    try:
        is_occupied = is_taken(host, parse_port(port, lowest=1))
    except (ValueError, socket.gaierror) as error:
        print(f"No schema registry is started: REGISTRY={registry} is no address: {error}", file=sys.stderr)
        yield None
        return
    if is_occupied:
        remedy = f"make run REGISTRY={host}:18081 starts it elsewhere"
        print(f"No schema registry is started: {registry} is taken by another program. {remedy}.", file=sys.stderr)
        yield None
        return
    url = f"http://{registry}"
    settings = (f"listeners={url}", f"host.name={host}", "kafkastore.topic.replication.factor=1")
    overrides = [part for setting in settings for part in ("--override", setting)]
    command = [sys.executable, "-m", "ottla.cli.main", "registry", "-b", listen, *overrides]
    with registry_log(data).open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        yield url
    finally:
        process.terminate()
        process.wait()


def show_types(listen: str, url: str, data: Path) -> None:
    """A topic with a type; the node goes on if that fails."""
    print(f"\nA first topic with a type (examples/typed.py {listen} {url}):", flush=True)
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "typed.py"), listen, url], check=False)
    if done.returncode == 0:
        print(f"  registry    {url}, with its log in {registry_log(data)}", flush=True)
    else:
        print(f"It failed with exit code {done.returncode}; see {registry_log(data)}.", file=sys.stderr)


def show_pipeline(listen: str) -> None:
    """Topics through Spark; the node does without it if Java is missing."""
    try:
        require_java()
    except PipelineError as missing:
        print(f"\nNo pipeline is shown. {missing}")
        return
    print(f"\nA first pipeline on Spark, exactly once (examples/pipeline.py {listen}):", flush=True)
    command = [sys.executable, str(ROOT / "examples" / "pipeline.py"), listen]
    # In a session of its own, like the node: Ctrl-C ends it from here.
    pipeline = subprocess.Popen(command, start_new_session=True)
    try:
        if pipeline.wait() != 0:
            print(f"The pipeline failed with exit code {pipeline.returncode}; the node goes on.", file=sys.stderr)
    finally:
        if pipeline.poll() is None:
            pipeline.terminate()
            pipeline.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a node and a schema registry, and show them working.")
    parser.add_argument("--listen", default="127.0.0.1:9092")
    parser.add_argument("--data", type=Path, default=Path("data") / "ottla")
    parser.add_argument("--registry", default="127.0.0.1:8081", help="where the schema registry listens")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    return run(options.listen, options.data, options.registry)


if __name__ == "__main__":
    sys.exit(main())
