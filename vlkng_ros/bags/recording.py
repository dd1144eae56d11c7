"""What a recording holds, whichever file it lies in: topics, and messages as raw CDR in order of time."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class BagTopic:
    """A topic of a bag. ``msgtype`` is written ``sensor_msgs/msg/Image``."""

    name: str
    msgtype: str
    count: int
    latched: bool = False
    """Published with transient-local durability, as ``/tf_static`` is."""


@dataclass(frozen=True, slots=True)
class BagMessage:
    """A recorded message: ``stamp_ns`` is when it was received, ``data`` its CDR bytes with their header."""

    topic: str
    msgtype: str
    stamp_ns: int
    data: bytes


class BagFile(Protocol):
    """One storage file of a bag, open."""

    topics: tuple[BagTopic, ...]
    start_ns: int
    """Stamp of the first message; meaningless where there is none."""
    end_ns: int
    problems: list[str]
    """What could not be read; grows while messages are read."""

    def messages(self, topics: Collection[str]) -> Iterator[BagMessage]:
        """The messages of these topics in order of time."""
        ...

    def close(self) -> None:
        """Free the file."""
        ...


def is_latched(qos: str) -> bool:
    """Whether YAML of offered QoS profiles says transient local: by number, since Jazzy by name."""
    return "durability: 1" in qos or "durability: transient_local" in qos


def in_order(stamps_ns: array[int]) -> array[int]:
    """The indices that sort stamps; of equal ones the first stays first."""
    return array("q", np.argsort(np.array(stamps_ns, dtype=np.int64), kind="stable").tolist())
