"""Run as a program: how the time of every pattern of the tree grows with its near misses.

It writes a line before each pattern, so that whoever has to end it knows at which one, and a line of JSON a
finding. Times are the processor's, of this process alone.
"""

from __future__ import annotations

import gc
import json
import re
import sys
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.patterns.collected import Pattern, Tree
from tests.patterns.near_misses import Family, families, repeats
from tests.patterns.tables import in_tables

FEW = (8, 12, 15, 17, 19, 21, 23, 26, 30, 40, 60)  # repeats: what is slow here doubles with each, or nearly
SHORT = (300, 1000)  # characters: what is slow here grows with the third power, or a higher one
LEAST, REPEATS = 10_000, 2000  # characters of a long text, and how often its part stands in it, at least
TIMES = 16  # so many times longer than the one that it is compared with
QUICK_S = 0.006  # what takes less for a long text is linear: it takes no step for each two parts
MOST_GROWTH = 64.0  # linear is 16, quadratic 256
MOST_BYTES = 20  # that are held for a character; where `re` may go back, it keeps more than a hundred
TRIES = 3
# From one match to the next, to the end. The first keeps none of them: what it holds is what a search holds.
THROUGH = ("finditer", "findall", "split", "sub", "subn")


def main() -> None:
    """Try all patterns; findings as JSON on stdout."""
    gc.disable()  # it would look at the tree's million nodes again and again
    patterns, unknown = Tree(Path(sys.argv[1])).patterns()
    listed = [*patterns, *in_tables()]
    _say({"patterns": len(listed), "unknown": unknown})
    for pattern in listed:
        _say({"at": pattern.place})
        for method in different(pattern.methods) if repeats(pattern.text, pattern.flags) else ():
            if (found := slow(pattern, method)) is not None:
                _say({"slow": pattern.place, "method": method, "pattern": str(pattern.text), **found})


def different(methods: Sequence[str]) -> list[str]:
    """Those of some methods that try a pattern in other ways: all that go through a text are as one."""
    through = [method for method in THROUGH if method in methods][:1]
    covered = {*THROUGH, "search"} if through == ["finditer"] else {*THROUGH}
    return [*through, *(method for method in methods if method not in covered)]


def slow(pattern: Pattern, method: str) -> dict[str, Any] | None:
    """The first near misses with which a pattern's time grows faster than they do, or its memory."""
    run, is_lasting = _runner(pattern, method), method in ("findall", "split", "sub", "subn")
    as_text: Callable[[str], Any] = (
        (lambda text: text.encode("latin-1", "replace")) if isinstance(pattern.text, bytes) else str
    )
    for family in families(pattern.text, pattern.flags):
        growth = _growth(lambda size, family=family: run(as_text(family.text(size))), family)
        if growth is not None:
            return {"text": repr(family), "growth": growth}
        text = as_text(family.text(_long(family)))
        held = 0.0 if is_lasting or family.tail else _peak_bytes(partial(run, text)) / len(text)
        if held > MOST_BYTES:
            return {"text": repr(family), "bytes": held}
    return None


def _peak_bytes(run: Callable[[], None]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _growth(run: Callable[[int], None], family: Family) -> float | None:
    """How much longer a text of 16 times the length takes; None: no more than 16 times, about."""
    for size in (*(len(family.body) * number for number in FEW), *SHORT):
        if _seconds(run, size) > QUICK_S and min(_seconds(run, size) for _ in range(TRIES)) > QUICK_S:
            return float("inf")
    size = _long(family)
    if _seconds(run, size) <= QUICK_S:
        return None
    long_s = min(_seconds(run, size) for _ in range(TRIES))
    short_s = min(_seconds(run, size // TIMES) for _ in range(10 * TRIES))
    growth = long_s / max(short_s, 1e-6)
    return growth if long_s > QUICK_S and growth > MOST_GROWTH else None


def _long(family: Family) -> int:
    return max(LEAST, REPEATS * len(family.body))


def _seconds(run: Callable[[int], None], size: int) -> float:
    started = time.process_time()
    run(size)
    return time.process_time() - started


def _runner(pattern: Pattern, method: str) -> Callable[[Any], None]:
    compiled = re.compile(pattern.text, pattern.flags)
    if method in ("sub", "subn"):
        empty = b"" if isinstance(pattern.text, bytes) else ""
        return lambda text: _drop(compiled.sub(empty, text))
    if method == "finditer":
        return lambda text: _drop(deque(compiled.finditer(text), maxlen=0))
    return lambda text: _drop(getattr(compiled, method)(text))


def _drop(_: object) -> None:
    """The answer is of no interest."""


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
