"""Rows with grammars of their own: folded, kept and read by prompt and grammar."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.answer_types import Grammar
from relserve.call.options import Options
from relserve.call.relquery import RelQuery, Reply, Sampling, Submission
from relserve.call.reply_keys import keys_of
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, by_hash
from relserve.errors import FailureKind, OptionError
from relserve.session.folding import fold_rows
from relserve.session.session import Session

A, B = (Grammar(ebnf=f'root ::= "{text}"') for text in "ab")


def relquery(
    values: Sequence[str | None],
    grammars: Sequence[Grammar | None] | None,
    function: str = "llm",
    **options: object,
) -> RelQuery:
    binding = Template.parse("{}").bind(1)
    return RelQuery(function, binding, [(v,) for v in values], Options(**options), grammars=grammars)  # type: ignore[arg-type]


def session_of(engine: ScriptedEngine, cache: AnswerCache | None = None) -> Session:
    return Session(lambda model: engine, cache=cache)


def test_equal_prompts_with_equal_grammars_are_one_question() -> None:
    engine, same = ScriptedEngine(), Grammar(ebnf=A.ebnf)
    query = relquery(["q", "q", "q", None, "q", "p"], [A, B, same, A, None, B])
    values = session_of(engine).run(query).values
    assert values[:4] == ["a", "b", "a", None]
    assert values[4] == by_hash("q", Submission("r", ["q"], Sampling(8)))
    assert values[5] == "b"
    (asked,) = engine.submissions
    assert list(zip(asked.prompts, asked.grammars or (), strict=True)) == [
        ("p", B), ("q", A), ("q", B), ("q", None),
    ]  # fmt: skip


def test_rounds_remember_prompts_by_their_grammars() -> None:
    engine = ScriptedEngine()
    with session_of(engine).open(relquery(["q"], None).site) as opened:
        first = opened.ask([("q",), ("q",)], grammars=[A, B])
        again = opened.ask([("q",), ("q",), ("q",)], grammars=[B, None, A])
        bare = opened.ask([("q",)])
    assert [answer.value for answer in first] == ["a", "b"]
    assert [again[0].value, again[2].value] == ["b", "a"]
    assert again[1] == bare[0]
    assert [len(submission.prompts) for submission in engine.submissions] == [2, 1]


def test_answers_are_kept_by_grammar(tmp_path: Path) -> None:
    engine = ScriptedEngine(identity="the model")
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    session = session_of(engine, cache)
    assert session.run(relquery(["q"], [A])).values == ["a"]
    assert session.run(relquery(["q", "q"], [B, A])).values == ["b", "a"]
    assert [list(submission.grammars or ()) for submission in engine.submissions] == [[A], [B]]
    again = relquery(["q", "q", "q"], [A, B, None])
    folded = fold_rows(again.prompts(), grammars=again.grammars)
    assert session.estimate(again.site, folded).num_cached == 2
    cache.close()


def test_a_row_s_own_grammar_is_kept_as_one_of_all_rows_would_be() -> None:
    own = Submission("r", ["q", "q", "q"], Sampling(8), grammars=[A, None, B])
    of_all = [Submission("r", ["q"], Sampling(8, grammar=grammar)) for grammar in (A, None, B)]
    assert keys_of("f", own) == [keys_of("f", each)[0] for each in of_all]
    assert len(set(keys_of("f", own))) == 3


def test_keys_of_what_was_kept_before_there_were_grammars_of_rows_stay() -> None:
    yes_no = Submission("r", ["q"], Sampling(8, grammar=Grammar(choices=("yes", "no"))))
    (key,) = keys_of("f", yes_no)
    assert key.hex() == "02d14da7f0f85b695dfb53144aad35d3"


def test_a_reply_that_max_tokens_cut_is_no_answer_under_a_grammar() -> None:
    class Cut(ScriptedEngine):
        async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
            async for batch in super().answer(submission):
                yield [replace(reply, cut=True) for reply in batch]

    free, held = session_of(Cut()).run(relquery(["p", "q"], [None, A])).answers
    assert free.value is not None
    assert held.failure is not None
    assert held.failure.kind is FailureKind.UNPARSABLE
    assert "raise max_tokens" in held.failure.message


def test_a_row_whose_grammar_is_none_fails_and_says_where() -> None:
    session = session_of(ScriptedEngine())
    good, bad = session.run(relquery(["p", "q"], [A, Grammar(ebnf="root ::= nosuch")])).answers
    assert good.value == "a"
    assert bad.failure == (FailureKind.REFUSED, "the grammar has no rule 'nosuch'")


@pytest.mark.parametrize(("function", "options"), [("llm_filter", {}), ("llm", {"choices": ("a", "b")})])
def test_answers_of_a_type_take_no_grammars(function: str, options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=f"{function}\\(\\) has answers of a type"):
        session_of(ScriptedEngine()).run(relquery(["q"], [A], function, **options))


def test_a_prompt_of_llm_reaches_the_engine_as_it_is() -> None:
    prompts = ["beer +s t0 : name c1 text , abv c4 num ? how {many} = c4 %s # t0 =>", " a\n\tb \\ ", "c\r\n"]
    engine = ScriptedEngine()
    session_of(engine).run(relquery(prompts, [A] * 3))
    (asked,) = engine.submissions
    assert sorted(asked.prompts) == sorted(prompts)
    assert (asked.system, asked.sampling.grammar) == (None, None)
