"""The tokenizer loses nothing, keeps handles and keywords whole, and spells answers as the grammar does."""

import functools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.linking.pointer import pointer_prompt, sql_of
from relserve.linking.schema import Column, ColumnKind, Schema, Table
from relserve.linking.values import SchemaValues
from tests.modules import later
from training.tiny_sql.tokenizer import SINGLE_WORDS, WordEncoder, prompt_text, train_tokenizer

xgrammar = later("xgrammar")

BEERS = Schema((
    Table("beers", (
        Column("name", ColumnKind.TEXT, "VARCHAR", values=("Pale Moon", "Dark Hop")),
        Column("style", ColumnKind.TEXT, "VARCHAR", values=("Stout", "IPA")),
        Column("abv", ColumnKind.NUM, "DOUBLE"),
    )),
))  # fmt: skip
ASKED = pointer_prompt(BEERS, "What is the average abv of Stout beers?", SchemaValues(BEERS), Random(1))
tokenizer = functools.cache(lambda: train_tokenizer([ASKED.text] * 3, 420))
encoder = functools.cache(lambda: WordEncoder(tokenizer()))


@given(st.text())
@settings(max_examples=60, deadline=None)
def test_every_text_survives_a_round_trip(text: str) -> None:
    ids = tokenizer()(text, add_special_tokens=False).input_ids
    assert tokenizer().decode(ids, clean_up_tokenization_spaces=False) == text


@pytest.mark.cells(30)
@pytest.mark.parametrize("word", SINGLE_WORDS)
def test_handles_and_keywords_are_single_tokens(word: str) -> None:
    assert len(tokenizer()(f"{word} ", add_special_tokens=False).input_ids) == 1
    assert len(tokenizer()(f"x{word}x ", add_special_tokens=False).input_ids) > 1


def test_the_chat_template_is_the_training_format() -> None:
    user = [{"role": "user", "content": ASKED.text}]
    shown = tokenizer().apply_chat_template(user, tokenize=False, add_generation_prompt=True)
    assert shown == prompt_text(ASKED.text)
    assert tokenizer()(shown, add_special_tokens=False).input_ids == [1, *encoder()(ASKED.text)]


def test_an_answer_is_one_token_a_word_and_fits_the_grammar() -> None:
    columns, tables = ASKED.handles
    answer = f"select avg ( {columns[2]} ) from {tables[0]} where {columns[1]} = v0"
    ids = encoder()(answer)
    assert len(ids) == len(answer.split())
    assert tokenizer().decode(ids) == f"{answer} "
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo.from_huggingface(tokenizer()))
    matcher = xgrammar.GrammarMatcher(compiler.compile_grammar(ASKED.grammar))
    assert all(matcher.accept_token(token) for token in [*ids, tokenizer().eos_token_id])
    assert matcher.is_terminated()
    assert sql_of(tokenizer().decode(ids), ASKED).startswith('SELECT avg("abv") FROM "beers"')
