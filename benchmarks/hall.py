"""A hall that a robot sweeps in lanes: as wide as the wanted number of observations needs, always as densely filled.

0.3 things stand on a square metre, and a keyframe shows the nearest eight in front, so that a memory ten times as large
holds ten times as many things, each seen about ten times. Captions have three sentences; as with Florence-2's on
the NaVQA drives, half of all sentences of a drive are said for the first time.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from vlkng_ros.types import OPTICAL_IN_BODY, Capture, Detection, FloatArray, Intrinsics, Perception, Pose

CAMERA = Intrinsics(525.0, 525.0, 320.0, 240.0, 640, 480)
MOUNT = Pose("base", (0.2, 0.0, 0.6), OPTICAL_IN_BODY)
DENSITY, SIGHT_M, LANE_M, STEP_M, SEEN = 0.3, 8.0, 3.0, 0.9, 8
COLORS = ("red", "blue", "green", "old")
THINGS = ("chair", "table", "cup", "door", "plant", "lamp", "box", "screen", "bag", "book", "shelf", "bin", "sofa",
          "clock", "poster", "bottle", "keyboard", "ladder", "fan", "sink")
LABELS = tuple(f"{color} {thing}" for color in COLORS for thing in THINGS)
PLACES = ("hallway", "office", "lobby", "workshop", "storage room", "kitchen", "meeting room", "corridor")
RELATIONS = ("next to", "in front of", "behind", "under", "to the left of", "to the right of")
DETAILS = ("near the window", "by the wall", "in the corner", "under the ceiling lights", "on a wooden floor",
           "on a tiled floor", "beside a pillar", "close to the exit", "below a sign", "in the middle of the room",
           "against a white wall", "next to a radiator")
MOODS = ("The lighting is bright.", "The floor is made of concrete.", "There are no people in the image.",
         "The ceiling is high with exposed pipes.", "The overall mood is quiet.", "The walls are painted white.")


class Hall:
    """Things on a floor that is wide enough for the wanted number of observations."""

    def __init__(self, observations: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self._rng = np.random.default_rng(seed + 1)
        self.side_m = self.side_of(observations)
        count = int(DENSITY * self.side_m**2)
        self.places = np.column_stack([rng.uniform(0, self.side_m, (count, 2)), rng.uniform(0.2, 1.5, count)])
        self.labels = rng.integers(0, len(LABELS), count)
        self.heights = rng.uniform(0.2, 1.0, count)
        self._cells: dict[tuple[int, int], list[int]] = {}
        for index, (x, y, _) in enumerate(self.places):
            self._cells.setdefault((int(x // 4), int(y // 4)), []).append(index)

    @staticmethod
    def side_of(observations: int) -> float:
        """Length of the hall's sides in metres."""
        return max(12.0, math.sqrt(observations / SEEN * STEP_M * LANE_M))

    def drive(self) -> Iterator[tuple[Capture, Perception]]:
        """A keyframe a second, for as long as is asked for."""
        for second, (x, y, yaw) in enumerate(self.route()):
            base = Pose.planar("map", x, y, yaw)
            detections = self._look(x, y, yaw)
            perception = Perception(self._caption(detections), detections, (), "bench", "bench")
            yield Capture(second * 10**9, base, base.compose(MOUNT), "front", CAMERA, (640, 480)), perception

    def route(self) -> Iterator[tuple[float, float, float]]:
        """Lanes there and back, again and again: x, y in metres and yaw in radians of each keyframe."""
        while True:
            for number, y in enumerate(np.arange(1.0, self.side_m, LANE_M)):
                xs = np.arange(1.0, self.side_m - 1, STEP_M)
                for x in xs if number % 2 == 0 else xs[::-1]:
                    yield float(x), float(y), 0.0 if number % 2 == 0 else math.pi

    def _look(self, x: float, y: float, yaw: float) -> tuple[Detection, ...]:
        """Boxes of the nearest things in front."""
        reach = int(SIGHT_M // 4) + 1
        cx, cy = int(x // 4), int(y // 4)
        near = [i for dx in range(-reach, reach + 1) for dy in range(-reach, reach + 1)
                for i in self._cells.get((cx + dx, cy + dy), ())]
        if not near:
            return ()
        index = np.array(near)
        away = self.places[index] - (x, y, 0.6)
        ahead = away[:, 0] * math.cos(yaw) + away[:, 1] * math.sin(yaw)
        left = -away[:, 0] * math.sin(yaw) + away[:, 1] * math.cos(yaw)
        seen = (ahead > 0.8) & (ahead < SIGHT_M) & (np.abs(left) < 0.55 * ahead)
        order = np.argsort(ahead[seen])[:SEEN]
        found = []
        for i, z, side in zip(index[seen][order], ahead[seen][order], left[seen][order], strict=True):
            u, v = 320 - 525 * side / z, 240 - 525 * (self.places[i, 2] - 0.6) / z
            half = 525 * self.heights[i] / z / 2
            label = LABELS[self.labels[i]]
            found.append(Detection(label, (u - half, v - half, u + half, v + half), 0.9, f"a {label} on the floor"))
        return tuple(found)

    def _caption(self, detections: Sequence[Detection]) -> str:
        place, relation, detail, mood = (
            words[self._rng.integers(len(words))] for words in (PLACES, RELATIONS, DETAILS, MOODS)
        )
        if len(detections) < 2:
            return f"The image shows an empty {place}. {mood}"
        one, two = detections[0].label, detections[-1].label
        return f"The image shows a {place} with a {one}. A {one} is {relation} a {two} {detail}. {mood}"


class WordVectors:
    """An encoder that costs next to nothing: a sentence is the sum of its words, a word a fixed random direction.

    It has all-MiniLM's 384 dimensions; what indexes and searches cost does not depend on what vectors mean.
    """

    encoder_id = "bench-words-384"
    dimensions = 384

    def __init__(self) -> None:
        self._words: dict[str, FloatArray] = {}

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors, shape ``(len(texts), 384)``."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().replace(".", "").split():
                row += self._word(word)
            row /= max(float(np.linalg.norm(row)), 1e-9)
        return rows

    def _word(self, word: str) -> FloatArray:
        found = self._words.get(word)
        if found is None:
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            found = self._words[word] = np.random.default_rng(seed).normal(size=self.dimensions).astype(np.float32)
        return found


def questions() -> list[str]:
    """Of every kind, about things of the hall, in whole sentences and in few words."""
    rng = np.random.default_rng(3)
    picked = [LABELS[i] for i in rng.permutation(len(LABELS))[:20]]
    forms = ("Where is the {}?", "When did you last see the {}?", "Did you see a {}?", "How many times a {}?",
             "Where is the nearest {}?", "Where is the {} next to the {}?", "Where is a {} near the window?",
             "What is near the {}?")
    asked = [form.format(a, b) for form in forms for a, b in zip(picked[:6], picked[6:12], strict=True)]
    return [*asked, *(f"Where is the {thing}?" for thing in THINGS[:6]), "Where is the kitchen?", "Where is the exit?",
            "Where is the elephant?", "Is there a fire extinguisher in the meeting room?", "Where is a white wall?"]


def things_asked() -> list[str]:
    """Names of things, as a search by meaning takes them."""
    rng = np.random.default_rng(4)
    return [f"{LABELS[i]} {DETAILS[j]}" for i, j in zip(rng.permutation(80)[:40], rng.integers(0, 12, 40), strict=True)]


def places_asked(observations: int, keyframes: int) -> list[tuple[float, float]]:
    """Places that the robot came by in its first keyframes in the hall for so many observations."""
    route = np.array(list(islice(Hall(observations).route(), keyframes)))
    return [(float(x), float(y)) for x, y, _ in np.random.default_rng(5).choice(route, 40)]
