"""Times and amounts for people."""

from __future__ import annotations

from datetime import datetime, timezone

NS_PER_S = 1_000_000_000


def moment(stamp_ns: int) -> str:
    """A stamp as date and time in UTC; in seconds where it counts from the start of a simulation."""
    seconds = stamp_ns / NS_PER_S
    if not 1e8 < seconds < 1e11:
        return f"{seconds:.3f} s"
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(span_ns: int) -> str:
    """A span of time in its two largest units."""
    seconds = span_ns / NS_PER_S
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (int(seconds), "s")]
    first = next(i for i, (amount, _) in enumerate(units) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in units[first : first + 2] if amount)


def size(count: int) -> str:
    """Bytes in the unit that fits."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def counted(count: int, noun: str) -> str:
    """``1 keyframe``, ``2 keyframes``, ``3 entities``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("ty") else f"{count} {noun}s"
