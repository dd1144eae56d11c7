"""A language model that knows the truth, behind a real server: the most that ``stoa`` can make of a perfect model.

Everything seen bears a tag, as if the vision model had read an inventory number off it, and has a local id in its
chunk, as VL-KnG's vision model gives it. The model at the other end of the line reads nothing but the prompt: what
bears the tag of a known thing is that thing. So what is measured is the whole way from prompt to view, and not a model;
and with answers spoilt on purpose, what becomes of them.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vlkng_ros.gallery.detector import SimulatedDetection, SimulatedKeyframe
from vlkng_ros.memory.association.stoa import NEW

MODEL = "oracle"
TAG = "tag"
_LINE = re.compile(r'^- (?P<name>[^:\n]+): "(?P<label>[^"]*)".*?(?:\btag "(?P<tag>[^"]*)")?[^"\n]*$', re.MULTILINE)
"""A thing in a prompt: its id, its label and, in the end, its tag."""


@dataclass(frozen=True, slots=True)
class Spoilt:
    """Shares of a model's decisions that name another thing of the kind, and that cannot be: no such thing, or none."""

    wrong: float = 0.0
    invalid: float = 0.0


def tagged(keyframes: Iterable[SimulatedKeyframe]) -> Iterator[SimulatedKeyframe]:
    """The same, every detection with the tag of what it shows, which is its local id, too."""
    for number, keyframe in enumerate(keyframes):
        detections = []
        for index, seen in enumerate(keyframe.detections):
            tag = seen.thing_id.split("/")[0] or f"nothing {number} {index}"
            detection = replace(seen.detection, attributes={TAG: tag}, local_id=tag.replace(" ", "_"))
            detections.append(SimulatedDetection(detection, seen.thing_id))
        yield replace(keyframe, detections=tuple(detections))


def answered(prompt: str, spoilt: Spoilt, rng: random.Random) -> str:
    """What the oracle says to a prompt of ``StoaModel``."""
    known_part, _, chunk_part = prompt.partition("The new stretch, each thing with its local id:")
    known = {m["name"]: (m["label"], m["tag"]) for m in _LINE.finditer(known_part)}
    by_tag = {tag: name for name, (_, tag) in known.items()}
    decisions = []
    for thing in _LINE.finditer(chunk_part.partition("Rules:")[0]):
        decision = by_tag.get(thing["tag"], NEW)
        drawn = rng.random()
        if drawn < spoilt.wrong:
            others = [name for name, (label, _) in known.items() if label == thing["label"] and name != decision]
            decision = rng.choice([*others, NEW] if decision != NEW else others or [NEW])
        elif drawn < spoilt.wrong + spoilt.invalid:
            decision = f"{thing['name']}_of_nowhere"
        decisions.append({"local": thing["name"], "global": decision})
    return json.dumps({"objects": decisions})


@contextmanager
def serving(answer: Callable[[str], str]) -> Iterator[str]:
    """The URL of an OpenAI-style server on this machine that answers the last message of each request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send({"data": [{"id": MODEL}]})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = answer(asked["messages"][-1]["content"])
            self._send({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})

        def _send(self, value: dict[str, Any]) -> None:
            content = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()
