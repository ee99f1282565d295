"""Equal prompts become one, whoever folds them, and rows that need no folding come out as they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relserve.session.folding import FoldedRows, fold_rows, folded_before

Rows = list[tuple[str | None, int]]


def by_hand(rows: Rows) -> FoldedRows:
    prompts = list(dict.fromkeys(prompt for prompt, _ in rows if prompt is not None))
    counts = [sum(count for prompt, count in rows if prompt == each) for each in prompts]
    places = [None if prompt is None else prompts.index(prompt) for prompt, _ in rows]
    num_null = sum(count for prompt, count in rows if prompt is None)
    return FoldedRows(prompts, counts, frozenset(), places, num_null)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", "", None]), st.integers(1, 9)), max_size=8))
def test_rows_are_folded_and_find_their_answers(rows: Rows) -> None:
    prompts, counts = [prompt for prompt, _ in rows], [count for _, count in rows]
    folded = fold_rows(prompts, counts)
    assert folded._replace(prompt_of_row=list(folded.prompt_of_row)) == by_hand(rows)
    assert folded.spread(folded.prompts, "NULL") == ["NULL" if p is None else p for p in prompts]


def test_what_is_folded_already_stays_so() -> None:
    folded = folded_before(["b", "a"], [2, 3], num_null=4)
    assert folded.spread(["B", "A"], "NULL") == ["B", "A"]
    assert (folded.prompts, folded.num_rows_of, folded.num_null) == (["b", "a"], [2, 3], 4)
