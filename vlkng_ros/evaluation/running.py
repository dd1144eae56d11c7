"""Asking a recording's questions by any number of configurations of one memory; no question is asked twice."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vlkng_ros import __version__
from vlkng_ros.answering import MemoryQuery
from vlkng_ros.chat import Chat
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ModelError
from vlkng_ros.evaluation.benchmark import NOWHERE, Asked, Recording
from vlkng_ros.evaluation.multiple_choice import choose
from vlkng_ros.evaluation.scores import Judged, judge
from vlkng_ros.evaluation.text_answers import Judge
from vlkng_ros.memory import MemoryReader
from vlkng_ros.types import AnswerKind, Pose, Question, TextEncoder

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Models:
    """What answers and marks beside the rules: each None where it is not configured."""

    encoder: TextEncoder | None = None
    visual: TextEncoder | None = None
    chat: Chat | None = None
    judge: Judge | None = None


class AnswerLog:
    """The answers of one run as JSON lines, on disk as soon as they are judged.

    A log of other settings is begun anew; a last line that was cut off is left out.

    Args:
        path: the file; its folder is made.
        settings: whatever an answer depends on beside the question and the memory.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._head = json.dumps({"settings": settings}, sort_keys=True)
        self._kept = {entry["key"]: entry for entry in self._read()}
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [self._head, *(json.dumps(entry) for entry in self._kept.values())]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _read(self) -> Iterator[dict[str, Any]]:
        if not self._path.is_file():
            return
        lines = self._path.read_text(encoding="utf-8").split("\n")
        if lines[0] != self._head:
            return
        for line in lines[1:]:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and "key" in entry:
                yield entry

    def get(self, asked: Asked) -> Judged | None:
        """The answer that is kept of a question."""
        kept = self._kept.get(asked.key)
        return Judged.from_json(asked, kept) if kept is not None else None

    def add(self, judged: Judged) -> None:
        """Keep an answer."""
        self._kept[judged.asked.key] = judged.to_json()
        with self._path.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(self._kept[judged.asked.key], ensure_ascii=False) + "\n")


def log_of(
    folder: Path, label: str, config: RetrievalConfig, benchmark: str, judge_name: str, *, again: bool = False
) -> AnswerLog:
    """The log of a run, ``folder/answers/LABEL.jsonl``; with ``again`` an empty one."""
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in label)
    settings = {"version": __version__, "benchmark": benchmark, "judge": judge_name, **asdict(config)}
    path = folder / "answers" / f"{name}.jsonl"
    if again:
        path.unlink(missing_ok=True)
    return AnswerLog(path, settings)


def ask_all(
    recording: Recording,
    path: Path,
    models: Models,
    runs: Mapping[str, tuple[RetrievalConfig, AnswerLog]],
    advance: Callable[[int], object],
) -> dict[str, list[Judged]]:
    """Every question of a recording asked of its memory, by each run.

    Raises:
        VlkngError: what ``MemoryQuery`` raises.
    """
    results: dict[str, list[Judged]] = {label: [] for label in runs}
    with MemoryReader.open(path) as reader:
        for label, (config, log) in runs.items():
            results[label] = _one_run(recording.questions, reader, models, config, log, advance)
    return results


def _one_run(
    questions: Sequence[Asked],
    reader: MemoryReader,
    models: Models,
    config: RetrievalConfig,
    log: AnswerLog,
    advance: Callable[[int], object],
) -> list[Judged]:
    memory: MemoryQuery | None = None
    found = []
    for asked in questions:
        judged = log.get(asked)
        if judged is None or (judged.unmarked and models.judge is not None):
            if memory is None:
                memory = MemoryQuery(reader, models.encoder, config, models.chat, models.visual)
            judged = _ask(asked, memory, reader, models, config)
            log.add(judged)
        found.append(judged)
        advance(1)
    return found


def _ask(asked: Asked, memory: MemoryQuery, reader: MemoryReader, models: Models, config: RetrievalConfig) -> Judged:
    asker = Pose(NOWHERE.frame_id, asked.position_m)
    question = Question(asked.text, asked.since_ns, asked.as_of_ns, asker, config.preset, config.max_keyframes)
    answer = memory.ask(question)
    letter = chosen_by = ""
    mark, unmarked = None, False
    if asked.choices:
        letter, chosen_by = choose(asked, answer, reader, models.encoder, config, models.chat)
    elif asked.kind is AnswerKind.TEXT and models.judge is not None:
        try:
            mark = models.judge.mark(asked, answer.text if answer.value is not None else "")
        except ModelError as error:
            unmarked = True
            _log.warning("%s is not marked: %s", asked.key, error)
    return judge(asked, answer, letter=letter, chosen_by=chosen_by, mark=mark, unmarked=unmarked)
