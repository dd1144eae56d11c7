"""Words for a decision: short sentences with the time, the place and what was seen there."""

from __future__ import annotations

import datetime as dt

from vlkng_ros.answering.draft import Draft
from vlkng_ros.types import NS_PER_S, AnswerKind, PositionEstimate, RankedKeyframe

NEWEST = "the newest keyframe"
"""What times count from where the question names no ``as_of``: the memory does not know what time it is now."""


MAX_QUOTED = 500
"""Characters of a caption that an answer repeats."""


def worded(
    draft: Draft,
    ranked: tuple[RankedKeyframe, ...],
    as_of_ns: int,
    place: PositionEstimate | None = None,
    since: str = "",
) -> str:
    """The sentence that a person hears.

    Args:
        draft: the decision.
        ranked: its keyframes, best first.
        as_of_ns: what "ago" counts from.
        place: where the thing itself is, where that is known.
        since: what lies at ``as_of_ns``, where it is not the moment of asking.
    """
    if draft.value is None:
        return f"{unseen(draft)} {draft.also}".strip()
    text = _answered(draft, draft.value, ranked, as_of_ns, place, since)
    if draft.also and not text.endswith((".", "!", "?")):
        text += "."
    return f"{text} {draft.also}".strip()


def _answered(
    draft: Draft,
    value: int | float | bool | str,
    ranked: tuple[RankedKeyframe, ...],
    as_of_ns: int,
    place: PositionEstimate | None,
    since: str,
) -> str:
    seen = f" I saw: {quoted(ranked[0].evidence[0])}" if ranked and ranked[0].evidence and draft.thing else ""
    if draft.kind is AnswerKind.POSITION and ranked:
        pose = ranked[0].keyframe.base_pose
        x, y, _ = pose.position_m
        when = ago(ranked[0].keyframe.stamp_ns, as_of_ns, since)
        if place is not None:
            at_x, at_y, _ = place.mean_m
            there = f"it is at x={at_x:.1f} y={at_y:.1f} m"
            return f"Seen from x={x:.1f} y={y:.1f} m in '{pose.frame_id}', {when}; {there}.{seen}"
        return f"At x={x:.1f} y={y:.1f} m in '{pose.frame_id}', {when}.{seen}"
    if draft.kind is AnswerKind.TIME:
        stamp_ns = int(value)
        return f"At {clock(stamp_ns)}, {ago(stamp_ns, as_of_ns, since)}.{seen}"
    if draft.kind is AnswerKind.DURATION:
        return f"For {span(float(value))}.{seen}"
    if draft.kind is AnswerKind.BINARY:
        if draft.denied:
            return f"Yes, I have not seen {draft.thing}." if draft.value else f"No, there was.{seen}"
        if draft.value:
            return f"Yes.{seen}"
        return f"No, I have not seen {draft.thing}." if draft.thing and not draft.events else "No."
    if draft.kind is AnswerKind.COUNT:
        if draft.value or not draft.thing:
            return f"{draft.value}.{seen}"
        return f"0. I have not seen {draft.thing}."
    return quoted(str(draft.value))


def unseen(draft: Draft) -> str:
    """That it was not seen, in the words of the question."""
    if draft.reason:
        return f"{quoted(draft.reason[0].upper() + draft.reason[1:])}."
    if draft.events or draft.thing.split(" ")[0] in ("entering", "leaving", "being", "turning", "stopping", "doing"):
        return f"I do not remember {draft.thing} in that time."
    return f"I have not seen {draft.thing}." if draft.thing else "I do not know."


def quoted(text: str) -> str:
    """What a caption says, cut where it says more than anyone listens to."""
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 3].rstrip()}..."


def ago(stamp_ns: int, as_of_ns: int, since: str = "") -> str:
    """How long before ``as_of_ns``: "3.2 minutes ago", or "... before" what lies there."""
    seconds = (as_of_ns - stamp_ns) / NS_PER_S
    if seconds < 1:
        return f"at {since}" if since else "just now"
    return f"{span(seconds)} before {since}" if since else f"{span(seconds)} ago"


def span(seconds: float) -> str:
    """A length of time in the unit that fits."""
    if seconds < 0.5:
        return "less than a second"
    if seconds < 90:
        return "1 second" if f"{seconds:.0f}" == "1" else f"{seconds:.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.1f} minutes"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f} hours"
    return f"{seconds / 86_400:.1f} days"


def clock(stamp_ns: int) -> str:
    """ISO date and time in UTC, to the second: the same on every machine."""
    return dt.datetime.fromtimestamp(stamp_ns / NS_PER_S, dt.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
