"""Backends that do, in a real worker process, what models do when they go wrong. The first pixel says what."""

import ctypes
import faulthandler
import logging
import os
import signal
import sys
import threading
from collections import Counter
from enum import IntEnum
from pathlib import Path

import numpy as np

from vlkng_ros.errors import ModelNotFoundError, ModelOutputError, ModelUnavailableError
from vlkng_ros.perception.base import Frame
from vlkng_ros.types import Detection, Perception


class Do(IntEnum):
    DESCRIBE = 0
    ABORT = 1
    HANG = 2
    RAISE = 3
    SEGFAULT = 4
    HANG_WITH_THE_INTERPRETER_LOCK = 5
    ANSWER_NONSENSE = 6
    BE_AWAY_ONCE = 7
    BE_AWAY = 8
    LOG = 9
    PRINT_AND_EXIT = 10
    SAY_NAN = 11


def frame(do: Do = Do.DESCRIBE, keyframe_id: int = 1) -> Frame:
    image = np.zeros((4, 6, 3), dtype=np.uint8)
    image[0, 0, 0] = do
    image[3, 5] = (0, 20, 30)
    return Frame(keyframe_id, keyframe_id * 1000, image)


class Misbehaving:
    name = "misbehaving"
    model = "none"
    batch_size = 1
    chunked = False

    def __init__(self) -> None:
        self.min_score = 0.0
        self.counters = Counter[str]()
        self.calls = 0

    def describe(self, frames: list[Frame]) -> list[Perception]:
        self.calls += 1
        for each in frames:
            self._act(Do(int(each.image[0, 0, 0])))
        self.counters["frames"] += len(frames)
        facts = f"frames={len(frames)} min_score={self.min_score} rclpy={'rclpy' in sys.modules}"
        last = frames[0].image[-1, -1].tolist()
        return [
            Perception(
                caption=f"keyframe {each.keyframe_id} at {each.stamp_ns} {each.size_px} {last}; {facts}",
                detections=(Detection("cup", (0.0, 0.0, 2.0, 2.0), score=0.5),),
            )
            for each in frames
        ]

    def _act(self, do: Do) -> None:
        if do is Do.ABORT:
            os.abort()
        elif do is Do.HANG:
            logging.getLogger("misbehaving").warning("hanging")
            threading.Event().wait()
        elif do is Do.RAISE:
            raise ZeroDivisionError("by the model")
        elif do is Do.SEGFAULT:
            faulthandler._sigsegv()
        elif do is Do.HANG_WITH_THE_INTERPRETER_LOCK:
            ctypes.PyDLL(None).pause()
        elif do is Do.ANSWER_NONSENSE:
            raise ModelOutputError("nonsense, and no repair helps")
        elif do is Do.BE_AWAY or (do is Do.BE_AWAY_ONCE and self.calls == 1):
            raise ModelUnavailableError("the server is away")
        elif do is Do.LOG:
            logging.getLogger("model.loader").warning("a warning with\na second line")
        elif do is Do.PRINT_AND_EXIT:
            print("last words on standard output", flush=True)
            os._exit(7)

    def close(self) -> None:
        pass


class TalksNonsense(Misbehaving):
    def describe(self, frames: list[Frame]) -> list[Perception]:
        return [Perception(detections=(Detection("cup", (0.0, 0.0, float("nan"), 2.0)),)) for _ in frames]


class Batches(Misbehaving):
    batch_size = 3


class Chunks(Misbehaving):
    batch_size = 3
    chunked = True


def open_backend(config: object) -> Misbehaving:
    return Misbehaving()


def talks_nonsense(config: object) -> Misbehaving:
    return TalksNonsense()


def batches(config: object) -> Misbehaving:
    return Batches()


def chunks(config: object) -> Misbehaving:
    return Chunks()


def is_not_there(config: object) -> Misbehaving:
    raise ModelNotFoundError("weights of 'x' are not here; bring them with: fetch x")


def raises_loading(config: object) -> Misbehaving:
    raise OSError("disk on fire")


def dies_loading(config: object) -> Misbehaving:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def hangs_loading(config: object) -> Misbehaving:
    logging.getLogger("misbehaving").warning("hanging")
    threading.Event().wait()
    raise AssertionError("unreachable")


def loads_every_other_time(config: object) -> Misbehaving:
    """The configuration's model is a file that remembers how often; only odd times load."""
    path = Path(config.model)  # type: ignore[attr-defined]
    count = int(path.read_text() or "0") + 1
    path.write_text(str(count))
    if count % 2 == 0:
        raise OSError("not this time")
    return Misbehaving()
