"""A call that two models answer: a small one all rows, the call's own those that it is not sure of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from relserve.call.answer_types import Answer, Number
from relserve.call.decisions import Decision
from relserve.call.options import CAPS, EMBEDDING, OF_CASCADES, WORDS, Options
from relserve.call.relquery import CallSite
from relserve.call.template import Template
from relserve.errors import Failure, OptionError
from relserve.session.cascade_learnt import (
    LearntRows,
    check_installed,
    numbers_of,
    vectors_and_words,
    vectors_of,
)
from relserve.session.cascade_rows import CascadeResult, CascadeRows, cut_short, failed_all, rows_told
from relserve.session.folding import FoldedRows
from relserve.session.history import Cascaded
from relserve.session.in_rounds import HowAsked, RelQueryInRounds
from relserve.session.open_relquery import OpenRelQuery
from relserve.session.progress import Progress
from relserve.session.round import UNASKED

_SHARED = (
    "system", "deadline", "slo", "field_order", "examples", "choices", "descriptions", "lo", "hi", "levels",
)  # by both models  # fmt: skip
# How the small model is asked.
_TELLS = {"llm_filter": "llm_prob", "llm_classify": "llm_probs", "llm_score": "llm_score"}


def proxy_site(site: CallSite) -> CallSite:
    """The call by which the small model tells what it thinks of each row; its prompts are the same.

    With 'embedding' the call that gives the vector of each row's values; see `proxy_rows`.
    """
    if site.options.cascade == EMBEDDING:
        given = {name: getattr(site.options, name) for name in ("deadline", "slo")}
        return CallSite("llm_embed", Template.parse("{}").bind(1), replace(Options(model=WORDS), **given))
    return _told_by(site, site.options.cascade)


def weighed_site(site: CallSite) -> CallSite | None:
    """The call that gives the probabilities of a call's answers, by the same prompts and under its caps.

    None: none does.
    """
    if isinstance(site.answer_type, Decision):
        return plain_site(site)
    weighs = site.function in _TELLS and not isinstance(site.answer_type, Number)
    return _told_by(site, site.options.model, CAPS) if weighs else None


def _told_by(site: CallSite, model: str | None, also: Sequence[str] = ()) -> CallSite:
    given = {name: getattr(site.options, name) for name in (*_SHARED, *also)}
    return CallSite(_TELLS[site.function], site.binding, replace(Options(model=model), **given))


def plain_site(site: CallSite) -> CallSite:
    """The call without its cascade, as the large model is asked."""
    unset: dict[str, Any] = dict.fromkeys(OF_CASCADES)
    return replace(site, options=replace(site.options, **unset))


def proxy_rows(site: CallSite, folded: FoldedRows) -> FoldedRows:
    """Rows as `proxy_site` asks about them: of vectors what is around the values is left out."""
    if site.options.cascade != EMBEDDING:
        return folded
    literals = site.binding.template.literals
    (lead,), tail = site.messages([literals[0]]), literals[-1]
    texts = [prompt.removeprefix(lead).removesuffix(tail) for prompt in folded.prompts]
    return folded._replace(prompts=texts, grammars=None)


class CascadedRelQuery(OpenRelQuery):
    """A relQuery of the large model, of which a cascade decides most rows; see `OpenRelQuery`.

    Each round is a cascade of its own: its targets hold for the rows of the round. What the large model
    answers is recorded and kept as without a cascade. Rows that it was not asked are on no record but the
    small model's, unless either model was cut short: then they have failed.

    Raises:
        OptionError: both models are the same.
        ModelError: what learns is not installed.

    Args:
        site: the call, with its cascade.
        proxy: the relQuery of `proxy_site`, which is closed with this one.
        others: of `OpenRelQuery`.
    """

    def __init__(self, site: CallSite, proxy: RelQueryInRounds, *others: Any, **named: Any) -> None:
        super().__init__(plain_site(site), *others, **named)
        self._proxy, self._options, self._proxy_rows = proxy, site.options, partial(proxy_rows, site)
        with self._closed_by_error():
            if proxy.record.model == self.record.model:
                raise OptionError(
                    f"cascade: {self.record.model!r} answers the call itself; leave cascade out, or name "
                    "another"
                )
            if site.options.cascade == EMBEDDING or site.function == "llm_score":
                check_installed()

    def ask_folded(
        self, folded: FoldedRows, inputs: Sequence[Sequence[Any]], **how: Unpack[HowAsked]
    ) -> list[Answer]:
        """As `OpenRelQuery.ask_folded`; whatever is enough, all rows of the round are decided.

        Raises:
            OptionError: also where the small model tells no probability.
        """
        progress = how.get("progress")
        asked, order = self._proxy_rows(folded), folded.order
        with self._closed_by_error():
            told = self._told(asked, inputs, progress)
        if cut := cut_short(told):
            raises = self.site.options.on_error == "raise"  # which the small model's rows never do
            failed = {row: answer for row, answer in enumerate(told) if answer.failure and not raises}
            return self._without_others(folded, failed, 0, cut)
        texts = [asked.prompts[row] for row in order]
        with self._closed_by_error():
            rows = self._rows([told[row] for row in order], texts, folded.seed)
        known: dict[int, Answer] = {}
        while batch := rows.rows_to_ask(known):
            came = super().ask_folded(folded.part([order[at] for at in batch]), inputs, progress=progress)
            known.update(zip(batch, came, strict=True))
            if cut := cut_short(came):
                asked_rows = {order[at]: answer for at, answer in known.items()}
                return self._without_others(folded, asked_rows, len(known), cut)
        result = rows.result(known)
        self._note(result, len(order))
        all_failed = failed_all(known.values())
        answers: list[Answer] = [UNASKED] * len(order)
        for at, row in enumerate(order):
            answers[row] = known.get(at) or all_failed or Answer(result.values[at])
        return answers

    def close(self, error: BaseException | None = None) -> None:
        self._proxy.close(error)
        super().close(error)

    @contextmanager
    def _closed_by_error(self) -> Iterator[None]:
        """An error inside is on both records, though the large model was not asked."""
        try:
            yield
        except BaseException as error:
            self.close(error)
            raise

    def _rows(self, told: Sequence[Answer], texts: Sequence[str], seed: int) -> CascadeRows:
        function, options = self.site.function, self._options
        if options.cascade == EMBEDDING:
            numbers = vectors_and_words(vectors_of(told), texts, self._cancel)
            return LearntRows(function, numbers, options, seed)
        if function == "llm_score":
            return LearntRows(function, numbers_of(told), options, seed)
        return rows_told(function, told, options, seed)

    def _told(
        self, asked: FoldedRows, inputs: Sequence[Sequence[Any]], progress: Progress | None
    ) -> Sequence[Answer]:
        """What the small model says of each distinct prompt.

        Raises:
            OptionError: it tells nothing of any, and was not cut short.
        """
        told = self._proxy.ask_folded(asked, inputs, progress=progress)
        if told and not cut_short(told) and all(answer.failure is not None for answer in told):
            why = told[0].failure.message if told[0].failure else ""
            of_model = "score" if self.site.function == "llm_score" else "probability"
            what = "vector" if self._options.cascade == EMBEDDING else of_model
            raise OptionError(
                f"cascade: {self._options.cascade!r} told no {what} of any row: {why}; leave cascade "
                "out, or name another model"
            )
        return told

    def _without_others(
        self, folded: FoldedRows, known: Mapping[int, Answer], num_asked: int, cut: Failure
    ) -> list[Answer]:
        """The answers where the cascade was cut short: of prompts that are not known the same failure.

        Args:
            num_asked: prompts that the large model was asked.
        """
        num_prompts = len(folded.prompts)
        self._put(f"cut short after {num_asked} of {num_prompts} prompts: {cut.message}")
        with self._closed_by_error():
            self.leave(folded.part([row for row in range(num_prompts) if row not in known]), cut)
        return [known.get(row) or Answer(None, failure=cut) for row in range(num_prompts)]

    def _note(self, result: CascadeResult, num_prompts: int) -> None:
        """Put on record what the cascade did."""
        self._put(
            f"{result.num_asked} of {num_prompts} prompts asked; {self._options.cascade} decided the others: "
            f"{result.told}"
        )
        before = self.record.cascaded
        num_all = num_prompts + (0 if before is None else before.num_prompts)
        self.record.cascaded = Cascaded(self._options, num_all)

    def _put(self, text: str) -> None:
        """Have both relQueries' records say this."""
        self.record.cascade = self._proxy.record.cascade = f"{self.record.rel_id}: {text}"
