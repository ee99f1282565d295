"""Rows that quote on vLLM: whatever a model would rather say, a reply is a part of the row's text."""

from __future__ import annotations

import json

import pytest
from asking import ask

from relserve.call.answer_types import Grammar
from relserve.call.schema import shape_of
from relserve.engines.local.engine import LocalEngine

pytestmark = pytest.mark.vllm

TEXTS = (
    "When will order ORD-77598459 be delivered? Thanks!", "a a a a b a a a", 'He said "no" \\ twice.\nBye\t!',
    "e\u0301te\u0301 \U0001f469\u200d\U0001f52c caf\u00e9 \u0928\u093f", "注文番号はAB-42です", "{}", " ", "",
    "word " * 400 + "end", "null", "'/x/ \"# root ::= a",
)  # fmt: skip
HOT = dict(temperature=1.5, seed=3, max_tokens=48)
SHAPE = shape_of('{"a": "VARCHAR", "l": ["VARCHAR"], "n": "INTEGER"}')


def test_a_quote_is_a_part_of_its_own_row_s_text_however_wild_the_model(local_engine: LocalEngine) -> None:
    prompts = [f"Which words? {text}" for text in TEXTS]
    replies = ask(local_engine, prompts, grammars=[Grammar(source=(text,)) for text in TEXTS], **HOT)
    said = set()
    for text, reply in zip(TEXTS, replies, strict=True):
        assert reply.text is not None, reply.failure
        assert reply.cut or reply.text == "null" or reply.text in text, (text, reply)
        said.add(reply.text)
    assert len(said) > len(TEXTS) // 2


def test_texts_in_json_are_parts_and_json_is_whole(local_engine: LocalEngine) -> None:
    prompts = [f"Extract. {text}" for text in TEXTS]
    grammars = [Grammar(shape=SHAPE, source=(text, "or this")) for text in TEXTS]
    for text, reply in zip(TEXTS, ask(local_engine, prompts, grammars=grammars, **HOT), strict=True):
        assert reply.text is not None, reply.failure
        if not reply.cut:
            found = json.loads(reply.text)
            for each in [found["a"], *(found["l"] or [])]:
                assert each is None or each in text or each in "or this", (text, reply)


def test_other_grammars_go_on_beside_them(local_engine: LocalEngine) -> None:
    grammars = [Grammar(choices=("x", "y")), Grammar(source=("a part",)), None, Grammar(regex="[0-9]{3}")]
    chosen, quoted, free, digits = ask(local_engine, list("abcd"), grammars=grammars)
    assert chosen.text in ("x", "y")
    assert quoted.text in ("null", "a", "part", "a part", " ", "a ", " part", "")
    assert free.text
    assert digits.text is not None
    assert digits.text.isdigit()
