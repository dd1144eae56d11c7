"""An array that grows at its end."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

ScalarT = TypeVar("ScalarT", bound=np.generic)


class Column(Generic[ScalarT]):
    """Values of one type; ``view`` shows them without a copy, and never changes.

    Args:
        dtype: their type.
        reserve: how many there is room for at first.
    """

    def __init__(self, dtype: type[ScalarT], reserve: int = 1024) -> None:
        self._data: NDArray[ScalarT] = np.zeros(reserve, dtype=dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, values: NDArray[ScalarT]) -> None:
        """Add values at the end."""
        needed = self._count + len(values)
        if needed > len(self._data):
            grown = np.zeros(max(needed, 2 * len(self._data)), dtype=self._data.dtype)
            grown[: self._count] = self._data[: self._count]
            self._data = grown
        self._data[self._count : needed] = values
        self._count = needed

    def drop(self, places: NDArray[np.intp]) -> None:
        """Take values out; those behind move up."""
        self._data = np.delete(self.view(), places)
        self._count = len(self._data)

    def view(self) -> NDArray[ScalarT]:
        """What it holds, shape ``(n,)``."""
        return self._data[: self._count]
