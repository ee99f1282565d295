"""Prompts of a statement that need no answer, because they cannot change its result."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from relserve_duckdb.udf.memo import Known
from relserve_duckdb.udf.site import Chunk, Site


class EveryPrompt:
    """The set of all prompts."""

    def __contains__(self, prompt: object) -> bool:
        return True


class SkippedPrompts:
    """The prompts that are NULL without being asked, by call site.

    They were chosen for the rows that the statement saw before it ran, so they stay skipped only while no
    other cursor changes data.

    Args:
        count_changes: how many changes other cursors have made so far; None while one is being made.
    """

    def __init__(self, count_changes: Callable[[], int | None]) -> None:
        self._count_changes = count_changes
        self._prompts: Mapping[Site, Container[str | None]] = {}
        self._snapshot: int | None = None
        self._is_confirmed = False

    def take_snapshot(self) -> None:
        """Snapshot the counter of changes, before the rows are looked at."""
        self._snapshot, self._is_confirmed = self._count_changes(), False

    def replace(self, prompts: Mapping[Site, Container[str | None]]) -> None:
        """Skip these prompts and no others."""
        self._prompts = prompts

    def clear(self) -> None:
        """Skip nothing."""
        self._prompts = {}

    def rows_left(self, chunk: Chunk, known: Known) -> Sequence[int]:
        """The rows of a chunk that are not skipped; a known answer is never skipped."""
        skipped = self._prompts.get(chunk.site)
        if skipped is None:
            return range(chunk.num_rows)
        return [i for i, prompt in enumerate(chunk.prompts) if prompt in known or prompt not in skipped]

    def are_stale(self) -> bool:
        """Whether another cursor may have changed data since the snapshot.

        One look is enough: from then on the running statement reads DuckDB's snapshot of the data.
        """
        if not self._is_confirmed:
            self._is_confirmed = self._snapshot is not None and self._count_changes() == self._snapshot
        return not self._is_confirmed
