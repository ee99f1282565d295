"""What grammars cost over a vocabulary as large as those of today's models: to compile, and a mask."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from relserve.call.schema import shape_of

xgrammar = pytest.importorskip("xgrammar", reason="vLLM is not installed")

VOCABULARY = 262_144
LETTERS, RARE = (
    "etaoinshrdlucmfwypvbgkqjxz",
    ['"', "\\n", ', "', '": "', '{"', '"}', "0", "12", "-", "é", "日本"],
)
COMPILE_S, MASK_S = 2.0, 0.005  # CPU time; the aims are 0.5 and 0.001 s, a bounded text takes 9 to 30 s
TEXT = '"the fox \\"said\\" so"'
SAMPLES = {
    '"VARCHAR"': TEXT,
    '{"a": "VARCHAR", "b": "VARCHAR", "c": "VARCHAR"}': f'{{"a": {TEXT}, "b": null, "c": {TEXT}}}',
    '["VARCHAR"]': f"[{TEXT}, {TEXT}]",
    '{"tags": ["VARCHAR"], "n": "INTEGER"}': f'{{"tags": [{TEXT}], "n": 12}}',
    '"DOUBLE"': '"12.5"',
    '"DATE"': '"2024-01-31"',
    '"BIGINT"': "12345",
    '["DATE"]': '["2024-01-31", "2024-01-30"]',
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


@pytest.mark.parametrize("schema", SAMPLES)
def test_a_schema_is_compiled_and_masked_in_no_time(schema: str, tokens: Any) -> None:
    compiler = xgrammar.GrammarCompiler(tokens, max_threads=1, cache_enabled=False)
    began_s = time.process_time()
    grammar = compiler.compile_regex(shape_of(schema).regex())
    assert time.process_time() - began_s < COMPILE_S
    matcher, mask = xgrammar.GrammarMatcher(grammar), xgrammar.allocate_token_bitmask(1, VOCABULARY)
    masks_s = []
    for byte in SAMPLES[schema].encode():
        began_s = time.process_time()
        matcher.fill_next_token_bitmask(mask)
        masks_s.append(time.process_time() - began_s)
        assert matcher.accept_token(byte)
    assert sum(masks_s) / len(masks_s) < MASK_S
