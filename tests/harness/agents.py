"""A client in another language: a process that takes one JSON request per line and answers with one JSON line."""

import json
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class AgentError(Exception):
    """The agent's call failed; the message is the other language's stack trace."""


class Agent:
    def __init__(self, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
        )
        self._turn = threading.Lock()

    def call(self, operation: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._turn:
            self._process.stdin.write(json.dumps({"op": operation, "args": arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise AgentError(f"the agent ended with {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise AgentError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


SOURCES = Path(__file__).parent
