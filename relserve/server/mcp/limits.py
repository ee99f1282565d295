"""What one call of a tool may take."""

from __future__ import annotations

from dataclasses import dataclass

from relserve.session.caps import Limits
from relserve.text2sql.guard.limits import DEFAULT, StatementLimits


@dataclass(frozen=True)
class ToolLimits:
    """See `relserve mcp --help`.

    Attributes:
        rows: of a result, that an agent is shown at most.
        seconds: of DuckDB's work, without the time in which a model is asked.
        asked: rows, tokens and dollars that a call may ask a model for.
    """

    rows: int = 200
    seconds: float = 30.0
    asked: Limits = Limits(rows=1000)  # noqa: RUF009

    @property
    def statement(self) -> StatementLimits:
        """What DuckDB may take; rows are cut where the result is shown."""
        return StatementLimits(self.seconds, DEFAULT.memory_mb, float("inf"), DEFAULT.disk_mb)


def least(first: Limits, second: Limits) -> Limits:
    """The narrower of both, each by itself."""
    pairs = zip(first, second, strict=True)
    return Limits._make(min((each for each in pair if each is not None), default=None) for pair in pairs)
