"""A real HTTP server that answers as it is told to, for clients of servers that behave badly."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int = 200
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Reply = Callable[[HttpRequest], HttpAnswer | None]


@dataclass(slots=True)
class HttpAnswers:
    """What a server was asked, and where it is."""

    url: str = ""
    requests: list[HttpRequest] = field(default_factory=list)


def answer(content: Any, status: int = 200) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(content).encode())


def refuse(status: int, code: int, message: str = "no") -> HttpAnswer:
    return answer({"error_code": code, "message": message}, status)


@contextmanager
def answering(reply: Reply, tls: ssl.SSLContext | None = None) -> Iterator[HttpAnswers]:
    """A server that answers with what `reply` says; None closes the connection without a word."""
    answers = HttpAnswers()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            names = {name.lower(): value for name, value in self.headers.items()}
            request = HttpRequest(self.command, self.path, names, body)
            answers.requests.append(request)
            said = reply(request)
            if said is None:
                self.close_connection = True
                return
            self.send_response(said.status)
            for name, value in (*said.headers, ("content-length", str(len(said.body)))):
                self.send_header(name, value)
            # A client that has given up is no fault of the server.
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(said.body)

        do_GET = do_POST = do_PUT = do_DELETE = _serve

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        answers.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield answers
        finally:
            server.shutdown()
            thread.join()
