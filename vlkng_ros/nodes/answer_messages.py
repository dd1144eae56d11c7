"""Answers as replies and as markers."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from vlkng_ros.nodes.marker_shapes import arrow_marker, text_marker
from vlkng_ros.nodes.messages import keyframe_ref, memory_object, pose_stamped, time_of
from vlkng_ros.srv import Ask
from vlkng_ros.types import Answer, AnswerKind, AnswerStatus, Pose

STATUSES = {
    AnswerStatus.OK: Ask.Response.OK,
    AnswerStatus.NOT_FOUND: Ask.Response.NOT_FOUND,
    AnswerStatus.EMPTY_MEMORY: Ask.Response.EMPTY_MEMORY,
    AnswerStatus.INVALID: Ask.Response.INVALID,
    AnswerStatus.ERROR: Ask.Response.ERROR,
}
KINDS = {
    AnswerKind.POSITION: Ask.Response.KIND_POSITION,
    AnswerKind.TIME: Ask.Response.KIND_TIME,
    AnswerKind.DURATION: Ask.Response.KIND_DURATION,
    AnswerKind.BINARY: Ask.Response.KIND_BINARY,
    AnswerKind.COUNT: Ask.Response.KIND_COUNT,
    AnswerKind.TEXT: Ask.Response.KIND_TEXT,
}
GOAL_COLOUR = ColorRGBA(r=0.1, g=0.9, b=0.2, a=0.9)
FRAME_COLOUR = ColorRGBA(r=1.0, g=0.7, b=0.1, a=0.8)


def fill(response: Ask.Response, answer: Answer, now_ns: int) -> None:
    """Put an answer into a reply."""
    response.status = STATUSES[answer.status]
    response.message = answer.message
    response.answer = answer.text
    response.confidence = float(answer.confidence)
    response.preset, response.answerer = answer.preset, answer.answerer
    response.keyframes = [keyframe_ref(ranked.keyframe, ranked) for ranked in answer.keyframes]
    scores = {ranked.entity_id: ranked.score for ranked in reversed(answer.keyframes) if ranked.entity_id}
    response.objects = [memory_object(entity, scores.get(entity.entity_id, 0.0)) for entity in answer.entities]
    response.citations = list(answer.citations)
    response.stages = list(answer.timings_ms)
    response.stage_ms = [float(ms) for ms in answer.timings_ms.values()]
    if answer.goal is not None:
        response.has_goal = True
        response.goal = pose_stamped(answer.goal, now_ns)
    if answer.status is AnswerStatus.OK:
        _fill_value(response, answer, now_ns)


def _fill_value(response: Ask.Response, answer: Answer, now_ns: int) -> None:
    response.kind = KINDS[answer.kind]
    value = answer.value
    if isinstance(value, Pose):
        response.position = pose_stamped(value, now_ns)
    elif isinstance(value, bool):
        response.binary = value
    elif isinstance(value, str):
        response.text = value
    elif answer.kind is AnswerKind.COUNT and value is not None:
        response.count = int(value)
    elif answer.kind is AnswerKind.TIME and value is not None:
        response.time = time_of(int(value))
    elif answer.kind is AnswerKind.DURATION and value is not None:
        seconds, nanoseconds = divmod(round(value * 1e9), 1_000_000_000)
        response.duration = Duration(sec=seconds, nanosec=nanoseconds)


def answer_markers(answer: Answer, stamp: Time) -> list[Marker]:
    """Arrows where the answer's keyframes were taken, best first, and the goal with the answer's words."""
    markers = [
        arrow_marker("answer", number, ranked.keyframe.base_pose, stamp, FRAME_COLOUR, length_m=0.4)
        for number, ranked in enumerate(answer.keyframes)
    ]
    if answer.goal is not None:
        markers.append(arrow_marker("goal", 0, answer.goal, stamp, GOAL_COLOUR))
        markers.append(text_marker("goal", 1, answer.goal, answer.text, stamp))
    return markers
