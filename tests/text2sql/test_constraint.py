"""Replies under the grammar of a question's schema: only where it is wanted, only names that exist."""

import pytest

from relserve.call.answer_types import Grammar
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import run
from relserve.text2sql.writers import takes_grammar
from tests.text2sql.databases import MemoryDatabase
from tests.text2sql.replies import engine_of, fenced, session_of

QUESTION = "How many beers are IPA?"
SQL = "SELECT count(*) FROM beers WHERE style = 'IPA'"


def grammars_of(options: Text2SqlOptions) -> tuple[list[str], list[dict[str, Grammar]]]:
    """The stages that asked, and the grammars of each by prompt."""
    engine = engine_of({"candidates": fenced("SELECT nothing FROM beers"), "revision": fenced(SQL)})
    run([QUESTION], MemoryDatabase(), session_of(engine), options)
    found = [dict(zip(s.prompts, s.grammars or (), strict=False)) for s in engine.submissions]
    return [str(s.stage) for s in engine.submissions], found  # type: ignore[return-value]


def test_candidates_and_revisions_are_held_to_names_that_exist() -> None:
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar comes with vLLM")
    stages, (candidates, revisions) = grammars_of(Text2SqlOptions(grammar=True, candidates=2))
    assert stages == ["candidates", "revision"]
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo([chr(code) for code in range(128)]))

    def takes(grammar: Grammar, reply: str) -> bool:
        return bool(xgrammar.GrammarMatcher(compiler.compile_grammar(grammar.ebnf)).accept_string(reply))

    for prompt, grammar in (candidates | revisions).items():
        may_note = "Divide the question" in prompt
        assert "a column of the result c1 to c9" in prompt
        assert takes(grammar, fenced(SQL))
        assert not takes(grammar, fenced(SQL.replace("style", "stile")))
        assert takes(grammar, "Part: the IPAs.\n" + fenced(SQL)) == may_note
        assert takes(grammar, "none") == (prompt in candidates)
    assert len(candidates) == 2


def test_without_it_nothing_is_held_to_anything() -> None:
    _, found = grammars_of(Text2SqlOptions())
    assert found == [{}, {}]


def test_it_is_on_by_default_where_vllm_here_runs_the_model() -> None:
    for model, default in (("org/model", True), ("http://127.0.0.1:8000/v1", False), ("scripted", False)):
        assert takes_grammar(model, Text2SqlOptions()) is default
        assert takes_grammar(model, Text2SqlOptions(grammar=not default)) is not default
