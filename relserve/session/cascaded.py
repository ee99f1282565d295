"""A filter that two models answer: a small one all rows, the call's own those that it is not sure of.

Which rows these are, and what is promised of the others, is for `relserve.policies.cascading`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relserve.call.answer_types import Answer
from relserve.call.options import Options
from relserve.call.relquery import CallSite
from relserve.errors import OptionError
from relserve.policies.cascading.policy import FloatArray, Outcome, Targets
from relserve.policies.cascading.variants import DEFAULT, make
from relserve.session.folding import FoldedRows
from relserve.session.open_relquery import OpenRelQuery
from relserve.session.progress import Progress
from relserve.session.round import UNASKED, Enough

SHARE = 0.95  # the precision, recall and confidence of a call that says nothing of them
_SHARED = ("system", "deadline", "slo", "field_order", "examples")  # options that both models' calls have


def proxy_site(site: CallSite) -> CallSite:
    """The call by which the small model tells the probability of each row; its prompts are the same."""
    given = {name: getattr(site.options, name) for name in _SHARED}
    options = replace(Options(model=site.options.cascade), **given)
    return CallSite("llm_prob", site.binding, options)


def plain_site(site: CallSite) -> CallSite:
    """The call without its cascade, as the large model is asked."""
    options = replace(site.options, cascade=None, precision=None, recall=None, confidence=None)
    return replace(site, options=options)


def targets_of(options: Options) -> Targets:
    """What a call's cascade promises: one target alone where it names one, else both."""
    precision, recall = options.precision, options.recall
    if precision is None and recall is None:
        precision = recall = SHARE
    return Targets(precision, recall, options.confidence or SHARE)


class CascadedRelQuery(OpenRelQuery):
    """A relQuery of the large model, of which a cascade decides most rows; see `OpenRelQuery`.

    Each round is a cascade of its own: its targets hold for the rows of the round. What the large model
    answers is recorded and kept as without a cascade. Rows that it was not asked are on no record but the
    small model's.

    Raises:
        OptionError: both models are the same.

    Args:
        site: the call, with its cascade.
        proxy: the relQuery of `proxy_site`, which is closed with this one.
        others: of `OpenRelQuery`.
    """

    def __init__(self, site: CallSite, proxy: OpenRelQuery, *others: Any, **named: Any) -> None:
        super().__init__(plain_site(site), *others, **named)
        if proxy.record.model == self.record.model:
            raise OptionError(
                f"cascade: {self.record.model!r} answers the call itself; leave cascade out, or name another"
            )
        self._proxy, self._targets, self._name = proxy, targets_of(site.options), site.options.cascade

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
        """As `OpenRelQuery.ask_folded`; whatever is enough, all rows of the round are decided.

        Raises:
            OptionError: also where the small model tells no probability.
        """
        scores = self._scores(folded, inputs, progress)
        # In the order of the prompts: a table's rows come in any order, and the same rows are to be asked.
        rows = sorted(range(len(folded.prompts)), key=folded.prompts.__getitem__)
        answers: list[Answer] = [UNASKED] * len(rows)
        # The same rows draw the same sample, in SQL and as a dataframe, today and tomorrow.
        seed = zlib.crc32("\n".join(folded.prompts[row] for row in rows).encode(errors="replace"))
        cascade = make(DEFAULT, self._targets, seed)
        known: dict[int, bool] = {}
        while batch := cascade.rows_to_ask(scores[rows], known):
            came = super().ask_folded(_part(folded, [rows[at] for at in batch]), inputs, progress=progress)
            for at, answer in zip(batch, came, strict=True):
                answers[rows[at]] = answer
                known[at] = answer.value is True  # a row that fails is one that the large model does not keep
        outcome = cascade.outcome(scores[rows], known)
        for at, row in enumerate(rows):
            if answers[row] is UNASKED:
                answers[row] = Answer(bool(outcome.kept[at]))
        self._note(outcome, len(rows))
        return answers

    def close(self, error: BaseException | None = None) -> None:
        """See `OpenRelQuery.close`."""
        self._proxy.close(error)
        super().close(error)

    def _scores(
        self, folded: FoldedRows, inputs: Sequence[Sequence[Any]], progress: Progress | None
    ) -> FloatArray:
        """The small model's probability of yes for each distinct prompt; NaN where it told none."""
        told = self._proxy.ask_folded(folded, inputs, progress=progress)
        if told and all(answer.failure is not None for answer in told):
            why = told[0].failure.message if told[0].failure else ""
            raise OptionError(
                f"cascade: {self._name!r} told no probability of any row: {why}; leave cascade out, or name "
                "another model"
            )
        return np.array([np.nan if answer.value is None else answer.value for answer in told], np.float64)

    def _note(self, outcome: Outcome, num_prompts: int) -> None:
        """Put on record what the cascade did, with both relQueries."""
        reached = [
            f"{name} at least {found:.2f}"
            for name, found, wanted in (
                ("precision", outcome.precision, self._targets.precision),
                ("recall", outcome.recall, self._targets.recall),
            )
            if wanted is not None
        ]
        text = (
            f"{outcome.num_asked} of {num_prompts} prompts asked; {self._name} decided the others: true from "
            f"{outcome.upper:.3g}, false below {outcome.lower:.3g}; {', '.join(reached)}"
        )
        self.record.cascade = self._proxy.record.cascade = f"{self.record.rel_id}: {text}"


def _part(folded: FoldedRows, numbers: Sequence[int]) -> FoldedRows:
    """Some of the distinct prompts, as the rows of a round."""
    return FoldedRows(
        [folded.prompts[each] for each in numbers], [folded.num_rows_of[each] for each in numbers],
        frozenset(), range(len(numbers)), 0,
    )  # fmt: skip
