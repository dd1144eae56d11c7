"""``MemoryQuery``: ask a memory, and go on asking while it grows."""

from __future__ import annotations

import dataclasses
import re
import time

from vlkng_ros.answering.draft import Draft
from vlkng_ros.answering.extractive import Extractive
from vlkng_ros.answering.gaps import only_summary, with_gaps
from vlkng_ros.answering.keyframes import Ranked, load_ranked
from vlkng_ros.answering.model_answers import EXTRACTIVE, Asked, ModelAnswers, Worked
from vlkng_ros.answering.rewriting import Rewriter
from vlkng_ros.answering.sightings import asks_if_then, whether_then
from vlkng_ros.answering.wording import NEWEST, quoted, worded
from vlkng_ros.chat import Chat
from vlkng_ros.config import RetrievalConfig
from vlkng_ros.errors import ConfigError, QuestionError
from vlkng_ros.memory import MemoryReader
from vlkng_ros.memory.words import terms
from vlkng_ros.moments import moment
from vlkng_ros.retrieval.channels import channels_of
from vlkng_ros.retrieval.crops import CropIndex
from vlkng_ros.retrieval.motion_phrases import MotionKind
from vlkng_ros.retrieval.presets import NAMES, finder_for
from vlkng_ros.retrieval.query import Query, parse
from vlkng_ros.retrieval.retriever import Retriever, Scene
from vlkng_ros.retrieval.time_phrases import resolve
from vlkng_ros.types import (
    Answer,
    AnswerKind,
    AnswerStatus,
    AnswerValue,
    Pose,
    PositionEstimate,
    PositionSource,
    Question,
    TextEncoder,
)

NOT_UNDERSTOOD = "I do not understand the question (English only)"
ONE_QUESTION = "I answer one question at a time, the last."
_NO_THING = re.compile(r"\d|^(?:go|drive|walk|move|stop|turn|wait|come|look|run|help|start|follow|yes|no)\b|^$")
"""Words alone that are no name of a thing: numbers, and orders."""


class Stopwatch:
    """Milliseconds by stage, in the order in which stages end."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._start = self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Ends a stage."""
        now = time.perf_counter()
        self.ms[stage] = self.ms.get(stage, 0.0) + (now - self._last) * 1e3
        self._last = now

    def total(self) -> dict[str, float]:
        """All stages with their sum."""
        return {**self.ms, "total": (self._last - self._start) * 1e3}


class MemoryQuery:
    """Answers questions about one memory and follows it. Use from one thread.

    Args:
        reader: the memory.
        encoder: what made the memory's vectors; None to go by words alone.
        config: preset, answerer and its language model, the border of "I have not seen".
        chat: the language model, where it is not on ``config.server_url``.
        visual: the text tower of what made the memory's crop vectors, for preset ``vlkng-ger``.

    Raises:
        ConfigError: an answerer with a language model is configured and no model named, or there is no such channel.
        ModelError: its server's address cannot be used.
    """

    def __init__(
        self,
        reader: MemoryReader,
        encoder: TextEncoder | None,
        config: RetrievalConfig | None = None,
        chat: Chat | None = None,
        visual: TextEncoder | None = None,
    ) -> None:
        self._reader = reader
        self._config = config if config is not None else RetrievalConfig()
        self._retriever = Retriever(reader, encoder)
        self._channels = channels_of(self._config.channels)
        self._crops = CropIndex(reader, visual) if visual is not None else None
        self._model = ModelAnswers(self._config, chat) if self._config.answerer != EXTRACTIVE else None
        self._rewriter = Rewriter(self._config, chat) if self._config.rewrite else None

    @property
    def retriever(self) -> Retriever:
        """What finds keyframes for this memory."""
        return self._retriever

    def ask(self, question: Question) -> Answer:
        """The answer; a memory that is empty or ends before the question says so in ``status`` and ``message``.

        Raises:
            QuestionError: the question is empty, or its window ends before it starts.
            ConfigError: there is no such preset.
            MemoryFileError: the memory cannot be read.
        """
        watch = Stopwatch()
        preset = _known_preset(question.preset or self._config.preset)
        query = parse(question.text)
        if question.max_keyframes < 1:
            raise QuestionError(f"max_keyframes is {question.max_keyframes}; at least 1 keyframe is needed")
        since, until = question.since_ns, question.as_of_ns
        if since is not None and until is not None and since > until:
            raise QuestionError(f"the time window is empty: since {moment(since)} lies after as_of {moment(until)}")
        watch.lap("parse")
        self._retriever.refresh()
        watch.lap("refresh")
        table = self._reader.frames()
        if not len(table):
            return _nothing(
                query, AnswerStatus.EMPTY_MEMORY, "The memory is empty: nothing has been recorded yet.", preset, watch
            )
        newest = int(table.stamps_ns[-1])
        as_of_ns = newest if question.as_of_ns is None else question.as_of_ns
        whole = self._retriever.scene(question.since_ns, as_of_ns)
        if not len(whole):
            first = int(table.stamps_ns[0])
            when = "up to then" if as_of_ns < first else "in that time window"
            span = f"the memory goes from {moment(first)} to {moment(newest)}"
            return _nothing(query, AnswerStatus.NOT_FOUND, f"Nothing was recorded {when}: {span}.", preset, watch)
        scene = self._within(query, whole, as_of_ns)
        note, said = "", ""
        if self._rewriter is not None and len(scene):
            said = query.target
            query, note = self._rewriter.rewritten(query, self._retriever, scene)
            watch.lap("rewrite")
        asker = question.asker.position_m if question.asker is not None else self._where(whole)
        finder = finder_for(self._retriever, preset, self._crops, self._channels)
        answerer = Extractive(self._retriever, finder, self._config.min_confidence)
        draft = Draft(query.kind, None, 0.0, thing=query.target, reason="nothing was recorded in that time")
        if len(scene):
            with self._reader.snapshot():  # one transaction, not one for each of many small reads
                draft = answerer.draft(query, scene, asker)
                if asks_if_then(query):
                    ever = answerer.draft(dataclasses.replace(query, kind=AnswerKind.TIME, times=()), whole, asker)
                    draft = whether_then(query, draft, ever, scene)
        if (
            query.bare
            and not query.beyond
            and not query.times
            and self._strange(query, scene)
            and (draft.value is None or _is_name(query))
        ):
            also = "" if _NO_THING.search(query.target) else f", and have not seen {query.target}"
            draft = Draft(query.kind, None, 0.0, reason=f"{NOT_UNDERSTOOD}{also}")
        watch.lap("retrieve")
        if said and draft.thing == query.target:
            draft = dataclasses.replace(draft, thing=said)  # "I have not seen ..." is said in the asker's words
        if (query.times or query.now) and draft.thing and not draft.value and query.motion is None:
            draft = dataclasses.replace(draft, thing=f"{draft.thing} {'now' if query.now else 'in that time'}")
        worked = Worked(draft, note=note)
        if self._model is not None and len(scene):
            asked = Asked(self._retriever, finder, query, scene, draft, as_of_ns, asker)
            worked = self._model.work(asked)
            watch.lap("model")
        with self._reader.snapshot():
            ranked = load_ranked(
                self._retriever, query, scene, worked.draft, question.max_keyframes, as_of_ns, finder.in_view
            )
        watch.lap("keyframes")
        answer = self._answer(query, worked, ranked, as_of_ns, preset, NEWEST if question.as_of_ns is None else "")
        answer = with_gaps(answer, worked.draft, scene, self._reader)
        if query.several:
            answer = dataclasses.replace(answer, text=f"{answer.text.rstrip('.')}. {ONE_QUESTION}")
        answer = self._with_notice(answer, int(scene.stamps_ns[-1]) if len(scene) else as_of_ns)
        watch.lap("answer")
        return dataclasses.replace(answer, timings_ms=watch.total())

    def _with_notice(self, answer: Answer, until_ns: int) -> Answer:
        """The answer, with word of it where all that was asked about is from before observations are kept."""
        summarised_ns = self._reader.summarised_until_ns
        if summarised_ns is None or until_ns > summarised_ns:
            return answer
        notice = only_summary(summarised_ns)
        if notice in answer.text:
            return answer
        return dataclasses.replace(answer, message=f"{answer.message} {notice}".lstrip())

    def _strange(self, query: Query, scene: Scene) -> bool:
        """Whether the memory knows no word of the question."""
        return not any(self._retriever.index.knows(term, scene.cut) for term in terms(query.target))

    def _within(self, query: Query, whole: Scene, as_of_ns: int) -> Scene:
        """The scene narrowed to the times that the question names."""
        scene = whole
        for phrase in query.times:
            window = resolve(phrase, as_of_ns, int(self._reader.frames().stamps_ns[0]))
            since = max(window.since_ns, int(scene.stamps_ns[0])) if len(scene) else window.since_ns
            until = min(window.until_ns, as_of_ns)
            first = int(scene.stamps_ns.searchsorted(since, side="left"))
            last = int(scene.stamps_ns.searchsorted(until, side="right"))
            itself = query.open or (query.kind is AnswerKind.POSITION and not query.target)
            recorded = len(scene) and since <= int(scene.stamps_ns[-1]) and until >= int(scene.stamps_ns[0])
            if window.moment_ns is not None and itself and recorded:
                # "where were you at ...", "what did you see at ...": the frame nearest to it, in a pause however far
                at = int(abs(scene.stamps_ns - window.moment_ns).argmin())
                first, last = at, at + 1
            scene = self._retriever.part(scene, first, max(first, last))
        return self._retriever.part(scene, len(scene) - 1, len(scene)) if query.now and len(scene) else scene

    def _where(self, scene: Scene) -> tuple[float, float, float]:
        x, y, z = scene.positions_m[-1].tolist()
        return x, y, z

    def _answer(self, query: Query, worked: Worked, ranked: Ranked, as_of_ns: int, preset: str, since: str) -> Answer:
        draft, keyframes = worked.draft, ranked.keyframes
        value: AnswerValue | None = draft.value
        if draft.kind is AnswerKind.POSITION and value is not None:
            value = keyframes[0].keyframe.base_pose if keyframes else None
        elif isinstance(value, str):
            value = quoted(value)
        known = value is not None
        text = worked.text if worked.text and known else worded(draft, keyframes, as_of_ns, _place(ranked), since)
        # "No" and "none" are answers, and no place to drive to.
        goal: Pose | None = keyframes[0].keyframe.base_pose.on_floor() if keyframes and known and _seen(draft) else None
        cited = [r.keyframe.keyframe_id for r in keyframes if r.keyframe.keyframe_id in worked.cited]
        return Answer(
            status=AnswerStatus.OK if known else AnswerStatus.NOT_FOUND,
            message=worked.note or ("" if known else text),
            kind=draft.kind,
            text=text,
            value=value,
            # Of a question that names nothing there is nothing to be sure of.
            confidence=draft.confidence if known or draft.thing else 0.0,
            keyframes=keyframes,
            entities=ranked.entities if known else (),
            citations=tuple(cited or [r.keyframe.keyframe_id for r in keyframes[:1]]) if known else (),
            goal=goal,
            goal_map_id=keyframes[0].keyframe.map_id if goal is not None else "",
            preset=preset,
            answerer=worked.answerer,
        )


def _is_name(query: Query) -> bool:
    """Whether words alone are no more than a name of the robot."""
    return query.motion is not None and query.motion.kind is MotionKind.MOVE and not query.target


def _seen(draft: Draft) -> bool:
    if draft.denied:
        return not draft.value
    return not (draft.kind in (AnswerKind.BINARY, AnswerKind.COUNT) and not draft.value)


def _place(ranked: Ranked) -> PositionEstimate | None:
    """Where the thing that the best frame shows is, if more is known than where the robot stood."""
    for entity in ranked.entities:
        if entity.entity_id == ranked.keyframes[0].entity_id and entity.position.source is not PositionSource.ROBOT:
            return entity.position
    return None


def _known_preset(preset: str) -> str:
    if preset not in NAMES:
        raise ConfigError(f"there is no preset '{preset}'; there are {', '.join(NAMES)}")
    return preset


def _nothing(query: Query, status: AnswerStatus, message: str, preset: str, watch: Stopwatch) -> Answer:
    watch.lap("answer")
    return Answer(
        status=status,
        message=message,
        kind=query.kind,
        text=message,
        value=None,
        confidence=0.0,
        preset=preset,
        answerer=EXTRACTIVE,
        timings_ms=watch.total(),
    )
