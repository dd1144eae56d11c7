"""How long to pause after failures in a row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses doubled from ``first_s`` to ``longest_s``.

    After ``give_up_after`` failures in a row, those who wait are told the reason, so that nobody waits for ever.
    """

    first_s: float = 0.5
    longest_s: float = 30.0
    give_up_after: int = 5

    def pause_s(self, failures: int) -> float:
        """The pause after the ``failures``-th failure in a row."""
        return min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, 30)) if failures > 0 else 0.0
