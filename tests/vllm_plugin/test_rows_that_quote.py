"""Requests that quote go to llguidance, and all others where they would go."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from relserve.call.parts import marked
from relserve.vllm_plugin import host
from relserve.vllm_plugin.quoting import hold_quotes

QUOTING = marked("start: A")


def request(grammar: str) -> Any:
    return SimpleNamespace(structured_output_request=SimpleNamespace(structured_output_key=("kind", grammar)))


def manager() -> Any:
    """vLLM's manager of grammars, as far as it is touched."""
    config = SimpleNamespace(model_config=SimpleNamespace(get_vocab_size=lambda: 7))
    made = SimpleNamespace(_create_grammar=lambda request: "theirs", vllm_config=config, tokenizer="tokens")
    hold_quotes(made)
    return made


def test_what_quotes_is_made_by_llguidance(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    class Backend:
        def __init__(self, config: Any, tokenizer: Any, vocab_size: int) -> None:
            starts.append((tokenizer, vocab_size))

        def compile_grammar(self, kind: str, grammar: str) -> tuple[str, str]:
            return kind, grammar

    monkeypatch.setattr(host, "GuidanceBackend", Backend, raising=False)
    grammars = manager()
    assert grammars._create_grammar(request('root ::= "a"')) == "theirs"
    assert not starts
    assert [grammars._create_grammar(request(QUOTING)) for _ in range(2)] == [("kind", "start: A")] * 2
    assert starts == [("tokens", 7)]


def test_where_llguidance_knows_no_such_tokenizer_rows_are_held_to_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuses(*_: Any, **__: Any) -> Any:
        raise ValueError("Only fast tokenizers are supported.")

    monkeypatch.setattr(host, "GuidanceBackend", refuses, raising=False)
    grammars = manager()
    assert [grammars._create_grammar(request(QUOTING)) for _ in range(2)] == ["theirs"] * 2
    assert caplog.text.count("quotes are not held to their texts: Only fast tokenizers") == 1


def test_a_release_without_that_manager_s_method_is_left_as_it_is() -> None:
    bare = SimpleNamespace()
    hold_quotes(bare)
    assert vars(bare) == {}
