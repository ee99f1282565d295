"""What a relQuery that is asked in rounds can do, however it finds its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from relserve.call.answer_types import Answer
from relserve.call.relquery import CallSite
from relserve.errors import Failure, OptionError
from relserve.session.caps import SpendingCap
from relserve.session.folding import FoldedRows, Grammars, fold_rows
from relserve.session.history import QueryRecord
from relserve.session.progress import Progress
from relserve.session.round import Enough

NULL = Answer(None)  # of a row without a prompt


class HowAsked(TypedDict, total=False):
    """How a round is asked; what is left out is None.

    Attributes:
        enough: called with the answers of the distinct prompts of these rows after every batch; when it says
            so the rest is aborted in the engine, and those answers are UNASKED.
        announced: distinct prompts that the relQuery is expected to have in all; None: no more than were
            asked so far and in this round.
        progress: called with the record after every batch of replies.
        num_new_rows: table rows that this round adds to the record; None: those that its rows stand for.
    """

    enough: Enough | None
    announced: int | None
    progress: Progress | None
    num_new_rows: int | None


class RelQueryInRounds(ABC):
    """One relQuery from its first round to its last; use it in a `with` statement, or `close` it.

    Attributes:
        site: the call.
        record: as `llm_queries()` shows it.
        caps: what limits its spending; another relQuery of the same call may be given them.
    """

    site: CallSite
    record: QueryRecord
    caps: Sequence[SpendingCap]

    def ask(
        self,
        rows: Sequence[Sequence[Any]],
        multiplicity: Sequence[int] | None = None,
        *,
        may_split: Sequence[bool] | None = None,
        grammars: Grammars | None = None,
        **how: Unpack[HowAsked],
    ) -> list[Answer]:
        """Answer one round of rows: render them, fold equal prompts, and ask these.

        Where the relQuery remembers, a prompt that an earlier round answered, or failed, is not asked again.

        Args:
            rows: one sequence of values a row.
            multiplicity: how many table rows each of `rows` stands for; None: one each.
            may_split: which rows the caller asks in parts if they are over the context: such a failure is
                then neither on record nor raised; None: no row.
            grammars: what each row's answer must match, where its text has a grammar of its own; None: of no
                row. Two rows of one prompt with two grammars are two questions.

        Returns:
            Answers in the order of `rows`; a NULL input gives Answer(None).

        Raises:
            OptionError: there are grammars, and the call's answers have a type that has its own.
            EngineError, RowError, Cancelled: as of `ask_folded`.
        """
        if grammars is None:
            grammars = self.site.grammars(rows)
        else:
            _check_takes_grammars(self.site)
        folded = fold_rows(self.site.prompts(rows), multiplicity, may_split, grammars)
        return folded.spread(self.ask_folded(folded, rows, **how), NULL)

    @abstractmethod
    def ask_folded(
        self, folded: FoldedRows, inputs: Sequence[Sequence[Any]], **how: Unpack[HowAsked]
    ) -> list[Answer]:
        """Answer one round of rows that are rendered and folded already.

        Args:
            folded: their user messages.
            inputs: values of the first few rows, by which one sees what the call is about.

        Returns:
            The answer of each distinct prompt.

        Raises:
            EngineError: the engine is not to be had, or tells no probabilities for min_confidence.
            OptionError: see `calibrations_of_call` and `calibrator_for`.
            RowError: a row failed and on_error is 'raise'.
            Cancelled: the relQuery's cancel event was set.
        """

    @abstractmethod
    def leave(self, folded: FoldedRows, failure: Failure) -> None:
        """Put rows on record as failed that are not asked, since others could not be.

        Raises:
            RowError: there are some, and on_error is 'raise'.
        """

    @abstractmethod
    def close(self, error: BaseException | None = None) -> None:
        """No round follows; `error`: what ended the relQuery between two rounds. Further calls do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(error)


def _check_takes_grammars(site: CallSite) -> None:
    if site.answer_type.grammar is not None:
        raise OptionError(
            f"{site.function}() has answers of a type, and rows with grammars of their own; take the "
            "grammars, or choices and the like, away, or ask with llm(), whose answers are texts"
        )
