"""How far a job is: a bar of tqdm, or a line of text where tqdm is not installed."""

from __future__ import annotations

import sys
import warnings
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
        with warnings.catch_warnings():
            # In a notebook without widgets it is a bar of text, and that is fine.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError:
        return _Text()
    return _Bars(tqdm)


class _Bars:
    """A bar for each thing that is done, one after the other."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._what = ""

    def __call__(self, what: str, done: float, of: float | None) -> None:
        # A share is shown in per cent.
        scale = 100 if of == 1.0 else 1
        if what != self._what:
            self.close()
            self._bar = self._tqdm(desc=what, total=None if of is None else round(scale * of))
            self._what = what
        self._bar.n = round(scale * done)
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


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
