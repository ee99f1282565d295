"""The answers of a relQuery that was asked in one round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relserve.call.answer_types import Answer


@dataclass(frozen=True)
class Result:
    """Answers of a relQuery in input order."""

    answers: list[Answer]

    @property
    def values(self) -> list[Any]:
        """The values alone; None where a row failed or its input was NULL."""
        return [a.value for a in self.answers]
