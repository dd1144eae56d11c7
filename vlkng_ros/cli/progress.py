"""A progress bar on stderr, where stderr is a terminal; else silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str, total: int | None, unit: str, *, unit_scale: bool = False) -> Iterator[Callable[[int], object]]:
    """Yields a function to call with how much more is done."""
    from tqdm import tqdm

    with tqdm(desc=what, total=total, unit=f" {unit}", disable=None, leave=False, unit_scale=unit_scale) as bar:
        yield bar.update
