"""What a driver is asked for, and what it answers: a line of JSON each."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Job:
    query: str
    bootstrap: str
    source: str
    target: str
    # For Parquet and for checkpoints; nothing is there yet.
    directory: str
    rows: int

    def to_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True, slots=True)
class Done:
    query_s: float = 0.0
    # Of the micro-batches alone, for a stream.
    batches_s: float | None = None
    error: str | None = None

    def to_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


def read_job(line: str) -> Job:
    return Job(**json.loads(line))


def read_done(line: str) -> Done:
    return Done(**json.loads(line))
