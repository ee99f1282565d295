"""What grammars cost over a vocabulary as large as those of today's models: to compile, and a mask."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from relserve.call.answer_types import Grammar, Number, YesNo
from relserve.call.grammar_size import MAX_SIZE, size_of, size_of_texts
from relserve.call.schema import shape_of
from tests.modules import later

xgrammar = later("xgrammar")


VOCABULARY = 262_144
LETTERS, RARE = (
    "etaoinshrdlucmfwypvbgkqjxz",
    ['"', "\\n", ', "', '": "', '{"', '"}', "0", "12", "-", "é", "日本"],
)
COMPILE_S, MASK_S = 2.0, 0.005  # CPU time; the aims are 0.5 and 0.001 s, which a busy machine may miss
TEXT = '"the fox \\"said\\" so"'
TYPES = {"VARCHAR": TEXT, "INTEGER": "12", "DOUBLE": '"1.5"', "DATE": '"2024-01-31"', "BOOLEAN": "true"}


def words(num: int, num_letters: int = 8) -> list[str]:
    """Different ones."""
    rng = random.Random(num)
    made: dict[str, None] = {}
    while len(made) < num:
        made["".join(rng.choices(LETTERS, k=num_letters))] = None
    return list(made)


def struct(num: int, types: Iterable[str] = TYPES) -> tuple[dict[str, str], str]:
    """The schema of so many fields of these types in turn, and a reply."""
    given = list(types)
    fields = {name: given[i % len(given)] for i, name in enumerate(words(num))}
    return fields, "{" + ", ".join(f'"{name}": {TYPES[kind]}' for name, kind in fields.items()) + "}"


def enum(num: int) -> str:
    return f"ENUM({str(words(num))[1:-1]})"


def nested(num: int) -> tuple[list[Any] | str, str]:
    """Lists in lists of texts, so deep."""
    if num == 0:
        return "VARCHAR", TEXT
    schema, reply = nested(num - 1)
    return [schema], f"[{reply}, {reply}]" if num < 4 else f"[{reply}]"


ITEM = {"name": "VARCHAR", "price": "DECIMAL(10,2)", "tags": ["VARCHAR"]}
ITEM_REPLY = f'{{"name": {TEXT}, "price": "1.50", "tags": [{TEXT}, {TEXT}]}}'
SCHEMAS: dict[str, tuple[Any, str]] = {
    **{kind: (kind, reply) for kind, reply in TYPES.items()},
    "BIGINT": ("BIGINT", "12345"),
    "HUGEINT": ("HUGEINT", "12345"),
    "DECIMAL": ("DECIMAL(38,10)", '"12.5"'),
    "TIME": ("TIME", '"12:30:00"'),
    "TIMESTAMP": ("TIMESTAMP", '"2024-01-31 12:30:00"'),
    "list of texts": (["VARCHAR"], f"[{TEXT}, {TEXT}]"),
    "list of dates": (["DATE"], '["2024-01-31", "2024-01-30"]'),
    "array": ("VARCHAR[100]", f"[{', '.join([TEXT] * 100)}]"),
    "list of structs": ([ITEM], f"[{ITEM_REPLY}, {ITEM_REPLY}]"),
    "structs in a struct": ({"a": {"b": {"c": ["INTEGER"]}}}, '{"a": {"b": {"c": [1, 2]}}}'),
    "20 fields": struct(20),
    "50 fields": struct(50),
    "200 texts, the most": struct(200, ["VARCHAR"]),
    "nested lists, the most": nested(7),
    "enum of 10": (enum(10), f'"{words(10)[-1]}"'),
    "enum of 500": (enum(500), f'"{words(500)[-1]}"'),
    "enum of 5,000": (enum(5000), f'"{words(5000)[-1]}"'),
}
CHOICES = {
    "yes or no": list(YesNo().grammar.choices),
    "1,001 numbers": list(Number(0, 1000).grammar.choices),
    "30 words": words(30),
    "500 words": words(500),
    "500 that begin alike": [f"the kind of thing that is called {word}" for word in words(500)],
    "6,000 words": words(6000),
    "130 of 300 letters, the most": words(130, 300),
}


@pytest.fixture(scope="module")
def tokens() -> Any:
    """A made-up vocabulary: all bytes, and words with and without the space before them."""
    rng = random.Random(0)
    words = dict.fromkeys(bytes([byte]) for byte in range(256))
    while len(words) < VOCABULARY:
        word = "".join(rng.choices(LETTERS, weights=range(26, 0, -1), k=rng.randint(2, 10)))
        start = rng.choice(RARE) if rng.random() < 0.05 else rng.choice(["", " "])
        words[(start + word).encode()] = None
    return xgrammar.TokenizerInfo(
        list(words), xgrammar.VocabType.RAW, vocab_size=VOCABULARY, stop_token_ids=[0]
    )


@pytest.fixture
def compiler(tokens: Any) -> Any:
    """As vLLM makes its own, with a cache, which also finds parts that come twice in one grammar."""
    return xgrammar.GrammarCompiler(tokens, max_threads=8, cache_enabled=True)


def mean_mask_s(compile_it: partial[Any], reply: str) -> float:
    """CPU seconds of a mask before each byte of a reply, once the grammar was compiled in time."""
    began_s = time.process_time()
    grammar = compile_it()
    assert time.process_time() - began_s < COMPILE_S
    matcher, mask = xgrammar.GrammarMatcher(grammar), xgrammar.allocate_token_bitmask(1, VOCABULARY)
    masks_s = []
    for byte in reply.encode():
        began_s = time.process_time()
        matcher.fill_next_token_bitmask(mask)
        masks_s.append(time.process_time() - began_s)
        assert matcher.accept_token(byte)
    return sum(masks_s) / len(masks_s)


@pytest.mark.cells(4)
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_compiled_and_masked_in_no_time(name: str, compiler: Any) -> None:
    schema, reply = SCHEMAS[name]
    shape = shape_of(json.dumps(schema))
    assert size_of(shape) <= MAX_SIZE
    assert (size_of(shape) > 0.4 * MAX_SIZE) == (name.endswith("the most") or "5,000" in name)
    assert mean_mask_s(partial(compiler.compile_regex, shape.regex()), reply) < MASK_S


@pytest.mark.cells(3)
@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_compiled_and_masked_in_no_time(name: str, compiler: Any) -> None:
    choices = CHOICES[name]
    assert size_of_texts(choices) <= MAX_SIZE
    either = " | ".join(json.dumps(choice) for choice in choices)
    for grammar, lead in ((f"root ::= {either}", ""), (f'root ::= " "? ({either})', " ")):
        assert mean_mask_s(partial(compiler.compile_grammar, grammar), lead + choices[-1]) < MASK_S


@pytest.mark.parametrize("bounds", [(-1e9, 1e9), (0, 100.5)])
def test_numbers_are_compiled_and_masked_in_no_time(bounds: tuple[float, float], compiler: Any) -> None:
    grammar: Grammar = Number(*bounds).grammar
    assert mean_mask_s(partial(compiler.compile_regex, grammar.regex), "99") < MASK_S
