"""Times as a language model reads and cites them."""

from __future__ import annotations

import datetime as dt

from vlkng_ros.types import NS_PER_S


def stamp(stamp_ns: int, oldest_ns: int) -> str:
    """EgoGraph's ``[DAYd HH:MM:SS]`` in UTC: day 1 is that of the memory's first keyframe."""
    then = dt.datetime.fromtimestamp(stamp_ns / NS_PER_S, dt.timezone.utc)
    first = dt.datetime.fromtimestamp(oldest_ns / NS_PER_S, dt.timezone.utc)
    return f"[DAY{(then.date() - first.date()).days + 1} {then:%H:%M:%S}]"
