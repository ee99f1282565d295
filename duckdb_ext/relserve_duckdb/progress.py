"""A progress bar a relQuery, on a terminal or in a notebook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relserve.history import QueryRecord
from relserve.session import Progress

DELAY_S = 0.3  # a relQuery done sooner shows no bar


@contextmanager
def bar(wanted: bool | None) -> Iterator[Progress | None]:
    """What `Session.run` calls after every batch of replies; None where nobody looks.

    Args:
        wanted: True and False decide; None shows a bar on a terminal or in a notebook.
    """
    if wanted is False or (wanted is None and not _somebody_looks()):
        yield None
        return
    from tqdm.auto import tqdm

    shown: list[Any] = []

    def update(record: QueryRecord) -> None:
        if not shown:
            title = f"{record.function}() on {record.num_rows:,} rows"
            shown.append(
                tqdm(total=record.num_distinct, desc=title, unit=" prompts", leave=False, delay=DELAY_S)
            )
        shown[0].update(record.num_done - shown[0].n)

    try:
        yield update
    finally:
        for each in shown:
            each.close()


def _somebody_looks() -> bool:
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
