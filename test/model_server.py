"""An OpenAI-style chat server on this machine that does as it is told: answers, or misbehaves."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["Handler"], None]


@dataclass
class ModelServer:
    """What the server was asked and what it will do, one act a request; the last one goes on."""

    url: str = ""
    acts: deque[Act] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    models: tuple[str, ...] = ("tiny",)
    closing: threading.Event = field(default_factory=threading.Event)

    def will(self, *acts: Act) -> None:
        self.acts = deque(acts)

    def next_act(self) -> Act:
        return self.acts.popleft() if len(self.acts) > 1 else self.acts[0]


class Handler(BaseHTTPRequestHandler):
    server: "_Server"
    protocol_version = "HTTP/1.1"
    """As real servers do, it keeps connections open."""

    def do_GET(self) -> None:
        self.send(200, json.dumps({"data": [{"id": name} for name in self.server.told.models]}))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.told.requests.append(json.loads(body))
        self.server.told.headers.append(dict(self.headers.items()))
        self.server.told.next_act()(self)

    def send(self, status: int, body: str, headers: dict[str, str] | None = None, length: int | None = None) -> None:
        content = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    told: ModelServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is what these tests are about."""


def say(text: str, finish_reason: str = "stop") -> Act:
    body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": finish_reason}]})
    return lambda handler: handler.send(200, body)


def send(status: int, body: str = "{}", **headers: str) -> Act:
    return lambda handler: handler.send(status, body, {name.replace("_", "-"): v for name, v in headers.items()})


def hang(handler: Handler) -> None:
    """Takes the request and never answers."""
    handler.server.told.closing.wait()


def drip(handler: Handler) -> None:
    """Sends a byte now and then, for ever."""
    handler.send(200, "", length=1_000_000)
    while not handler.server.told.closing.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def break_off(handler: Handler) -> None:
    """Closes in the middle of the answer."""
    handler.send(200, '{"choices": [', length=1000)
    handler.close_connection = True


@contextmanager
def running_server() -> Iterator[ModelServer]:
    with _Server(("127.0.0.1", 0), Handler) as server:
        server.told = ModelServer(url=f"http://127.0.0.1:{server.server_address[1]}/v1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.told
        finally:
            server.told.closing.set()
            server.shutdown()
            thread.join()
