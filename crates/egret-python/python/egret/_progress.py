"""How far a job is: a bar of tqdm, or a line of text where tqdm is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Listener = Callable[[str, float, float | None], object]
Progress = bool | Listener | None  # True: show it. A function hears what is done, how much, and of how much.


@contextmanager
def listener(progress: Progress) -> Iterator[Listener | None]:
    """What a job tells of its progress."""
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    shown = _shown()
    try:
        yield shown
    finally:
        shown.close()


def _shown() -> _Bars | _Text:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError:
        return _Text()
    return _Bars(tqdm)


class _Bars:
    """A bar for each thing that is done."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bars: dict[str, Any] = {}

    def __call__(self, what: str, done: float, of: float | None) -> None:
        # A share is shown in per cent.
        scale = 100 if of == 1.0 else 1
        if what not in self._bars:
            self._bars[what] = self._tqdm(desc=what, total=None if of is None else round(scale * of))
        bar = self._bars[what]
        bar.n = round(scale * done)
        bar.refresh()

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()


class _Text:
    """One line on the standard error stream."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, what: str, done: float, of: float | None) -> None:
        line = f"{what} {done:g}" if of is None else f"{what} {done / of:.0%}"
        self._width = max(self._width, len(line))
        print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._width:
            print(file=sys.stderr)
