"""What a relQuery that is asked in rounds can do, however it finds its answers."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from relserve.call.answer_types import Answer
from relserve.session.caps import SpendingCap
from relserve.session.folding import FoldedRows, Grammars
from relserve.session.history import QueryRecord
from relserve.session.progress import Progress
from relserve.session.round import Enough


class RelQueryInRounds(Protocol):
    """See `OpenRelQuery`."""

    @property
    def record(self) -> QueryRecord:
        """As `llm_queries()` shows it."""

    @property
    def caps(self) -> Sequence[SpendingCap]:
        """What limits its spending."""

    def take_caps(self, caps: Sequence[SpendingCap]) -> None:
        """Spend under these caps."""

    def ask(
        self,
        rows: Sequence[Sequence[Any]],
        multiplicity: Sequence[int] | None = None,
        *,
        enough: Enough | None = None,
        announced: int | None = None,
        progress: Progress | None = None,
        may_split: Sequence[bool] | None = None,
        num_new_rows: int | None = None,
        grammars: Grammars | None = None,
    ) -> list[Answer]:
        """Answer one round of rows."""

    def ask_folded(
        self,
        folded: FoldedRows,
        inputs: Sequence[Sequence[Any]],
        *,
        enough: Enough | None = None,
        announced: int | None = None,
        progress: Progress | None = None,
        num_new_rows: int | None = None,
    ) -> list[Answer]:
        """Answer one round of rows that are rendered and folded already."""

    def close(self, error: BaseException | None = None) -> None:
        """No round follows."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
