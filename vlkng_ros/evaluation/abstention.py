"""Questions about things that were never seen: how often the answer is "I have not seen ...".

Most of the things asked for are labels of the other recordings, which makes them plausible; the rest is what hardly any
robot sees. A label is held to be unseen only where no text of the recording says all of its words, in any wording
that ``retrieval.concepts`` knows, and where one of its words is in none at all: of what is left, "a man with a hat and
papers" may well be the man with a hat.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vlkng_ros.answering import MemoryQuery
from vlkng_ros.evaluation.benchmark import RecordedFrame, Recording
from vlkng_ros.evaluation.identity_drive import IdentityDrive
from vlkng_ros.memory.words import terms
from vlkng_ros.retrieval.concepts import other_wordings
from vlkng_ros.types import AnswerStatus, Perception, Question

ODD = tuple(
    """
    elephant, giraffe, grand piano, swimming pool, airplane, helicopter, submarine, sailing boat, camel, penguin,
    roller coaster, ferris wheel, igloo, lighthouse, windmill, cannon, tractor, hot air balloon, chandelier, throne,
    bathtub, washing machine, ironing board, crib, violin, trumpet, accordion, drum kit, telescope, microscope,
    surfboard, snowboard, kayak, tent, wheelbarrow, lawn mower, chainsaw, anvil, aquarium, birdcage, hammock,
    parachute, rocket, tank, catapult, totem pole, pyramid, volcano, waterfall, iceberg, octopus, kangaroo, zebra,
    crocodile, peacock, flamingo, koala, walrus, hedgehog, lobster, banana, pineapple, watermelon, pumpkin, birthday
    cake, sushi, popcorn machine, jukebox, pinball machine, billiard table, chessboard, punching bag, trampoline,
    unicycle, rickshaw, gondola, sled, saddle, horseshoe, beehive, scarecrow, spinning wheel, sewing machine,
    typewriter, gramophone, rotary phone, hourglass, sundial, suit of armor, sword, crossbow, treasure chest, anchor,
    harpoon, diving helmet, wedding dress, kimono, top hat, crown, snowman
    """.replace("\n", " ").split(", ")
)
"""Things that a robot about town hardly comes by."""
PLAUSIBLE = 0.6
"""Share of the questions about labels of other recordings, where there are so many."""
SHORT_WORDS = 3
"""Words of a label that names a thing; longer ones describe what a box shows."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """A thing that a recording does not show; ``kind`` is ``label``, ``description`` or ``odd``."""

    thing: str
    kind: str

    @property
    def question(self) -> str:
        """The way to it is asked."""
        return f"Where is the {self.thing.removeprefix('a ').removeprefix('an ')}?"


@dataclass(frozen=True, slots=True)
class Abstained:
    """What became of a question."""

    recording: str
    thing: str
    kind: str
    abstained: bool
    confidence: float
    said: str


def unseen(here: Recording, others: Sequence[Recording], count: int, seed: int = 0) -> list[Unseen]:
    """Things that a recording does not show: labels of the others first, short ones before descriptions.

    Args:
        here: the recording.
        others: whose labels are plausible.
        count: number of things at most.
        seed: of the choice among them.
    """
    rng = random.Random(f"{seed}/{here.name}")
    said = {frozenset(terms(text)) for text in _texts(here)}
    words = frozenset().union(*said) if said else frozenset()
    foreign = sorted({label for other in others for label in labels_of(other)} - labels_of(here))
    rng.shuffle(foreign)
    foreign = [label for label in foreign if _is_unseen(label, said, words)]
    short = [Unseen(label, "label") for label in foreign if len(label.split()) <= SHORT_WORDS]
    long = [Unseen(label, "description") for label in foreign if len(label.split()) > SHORT_WORDS]
    odd = [Unseen(thing, "odd") for thing in rng.sample(ODD, len(ODD)) if _is_unseen(thing, said, words)]
    plausible = [*short, *long][: round(PLAUSIBLE * count)]
    return [*plausible, *odd[: count - len(plausible)]]


def _is_unseen(thing: str, said: set[frozenset[str]], words: frozenset[str]) -> bool:
    wordings = [frozenset(terms(wording)) for wording in (thing, *other_wordings(thing))]
    if not wordings[0] or any(wording <= text for wording in wordings for text in said):
        return False
    return not wordings[0] <= words


def labels_of(recording: Recording) -> set[str]:
    """What was detected in a recording, in lower case."""
    return {
        label.strip().lower()
        for frame in recording.frames
        if frame.perception is not None
        for detection in frame.perception.detections
        for label in (detection.label, detection.region_text)
        if len(label.strip()) > 2
    }


def _texts(recording: Recording) -> Iterator[str]:
    yield from labels_of(recording)
    for frame in recording.frames:
        if frame.perception is not None:
            yield from frame.perception.caption.split(". ")


def gallery(seed: int = 0) -> Recording:
    """A drive through the gallery's rooms, as a detector that misses a fifth tells of it."""
    frames = [
        RecordedFrame(
            keyframe.capture.stamp_ns,
            keyframe.capture.base_pose,
            Perception("", tuple(found.detection for found in keyframe.detections)),
        )
        for keyframe in IdentityDrive.make(seed, laps=1).keyframes()
    ]
    return Recording("gallery", frames, ())


def ask_unseen(
    recording: str, things: Sequence[Unseen], memory: MemoryQuery, preset: str, advance: Callable[[int], object]
) -> list[Abstained]:
    """Asks the way to each thing."""
    found = []
    for thing in things:
        answer = memory.ask(Question(thing.question, preset=preset))
        abstained = answer.status is AnswerStatus.NOT_FOUND and answer.goal is None
        found.append(Abstained(recording, thing.thing, thing.kind, abstained, round(answer.confidence, 4), answer.text))
        advance(1)
    return found


def shares(results: Sequence[Abstained]) -> dict[str, dict[str, float]]:
    """Share of questions that were rightly not answered, by recording and kind; ``all`` is every kind."""
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(result.recording for result in results):
        of = [result for result in results if result.recording == name]
        kinds = {kind: [r for r in of if r.kind == kind] for kind in dict.fromkeys(r.kind for r in of)} | {"all": of}
        found[name] = {kind: round(sum(r.abstained for r in rs) / len(rs), 3) for kind, rs in kinds.items()}
        found[name]["asked"] = len(of)
    return found


def write(folder: Path, results: Sequence[Abstained]) -> Path:
    """``abstention.json``: the shares, and every question with its answer."""
    path = folder / "abstention.json"
    content = {"shares": shares(results), "questions": [asdict(result) for result in results]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
