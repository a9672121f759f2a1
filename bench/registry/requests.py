"""wrk as the load generator: connections that stay, one request after the other on each."""

import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from bench.generators import GeneratorFailed

SCRIPTS = Path(__file__).parent
CONNECTIONS = 16
READS = "wrk -t1 -c16, GET /schemas/ids/{id} of 1,000 schemas in turn"
REGISTRATIONS = "wrk -t1 -c16, POST /subjects/{subject}/versions, each a new Avro schema in a new subject"


@dataclass(frozen=True, slots=True)
class Answered:
    requests: int
    seconds: float
    p99_ms: float


def read_schemas(url: str, ids: Sequence[int], seconds: float) -> Answered:
    return _run("reads", url, seconds, ",".join(map(str, ids)))


def register_schemas(url: str, seconds: float) -> Answered:
    return _run("registrations", url, seconds, f"bench_{uuid.uuid4().hex}")


def _run(script: str, url: str, seconds: float, argument: str) -> Answered:
    path = urlsplit(url).path
    with TemporaryDirectory() as directory:
        # wrk takes one script.
        whole = Path(directory) / f"{script}.lua"
        whole.write_text("".join((SCRIPTS / f"{part}.lua").read_text() for part in (script, "summary")))
        options = ["-t1", f"-c{CONNECTIONS}", f"-d{max(round(seconds), 1)}s", "-s", str(whole)]
        command = ["wrk", *options, url, "--", path, argument]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    measured = next((line.split()[1:] for line in done.stdout.splitlines() if line.startswith("measured ")), None)
    if done.returncode or measured is None:
        raise GeneratorFailed(f"wrk {script} failed: {done.stdout}{done.stderr}")
    requests, microseconds, p99_us, failed = (float(one) for one in measured)
    if failed:
        raise GeneratorFailed(f"{failed:.0f} of {requests:.0f} requests of {script} failed")
    return Answered(int(requests), microseconds / 1e6, p99_us / 1000)
