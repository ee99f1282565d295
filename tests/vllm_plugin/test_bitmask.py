"""Masks of grammars on a CPU: what xgrammar's own loop gives."""

from __future__ import annotations

from typing import Any

import pytest

from tests.modules import later

bitmask = later("relserve.vllm_plugin.bitmask")
torch = later("torch")
xgrammar = later("xgrammar")


WORDS = 8  # of 32 bits


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Any:
    """xgrammar's own function, for ours has taken its place."""
    theirs = xgrammar.apply_token_bitmask_inplace
    monkeypatch.setattr(xgrammar, "apply_token_bitmask_inplace", theirs)  # put back afterwards
    bitmask.quicken_masks()
    ours = xgrammar.apply_token_bitmask_inplace
    bitmask.quicken_masks()
    assert xgrammar.apply_token_bitmask_inplace is ours is not theirs
    return theirs


def drawn(vocabulary: int) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(vocabulary)
    bits = torch.randint(-(2**31), 2**31, (5, WORDS), dtype=torch.int32, generator=generator)
    bits[1], bits[2] = 0, -1
    return torch.randn(5, vocabulary, generator=generator), bits


@pytest.mark.parametrize("vocabulary", [32 * WORDS, 32 * WORDS - 3])
@pytest.mark.parametrize("rows", [None, [0, 1, 4], []])
def test_masked_logits_are_those_of_xgrammar(quick: Any, vocabulary: int, rows: list[int] | None) -> None:
    logits, bits = drawn(vocabulary)
    expected, given = logits.clone(), logits.clone()
    quick(expected, bits, indices=rows)
    xgrammar.apply_token_bitmask_inplace(given, bits, indices=rows)
    assert torch.equal(given, expected)


def test_numbers_of_16_bits_are_masked_as_they_are() -> None:
    logits, bits = drawn(32 * WORDS)
    short = logits.bfloat16()
    wide = short.float()
    bitmask.mask(short, bits)
    bitmask.mask(wide, bits)
    assert torch.equal(short.float(), wide)


def test_what_has_no_bit_stays() -> None:
    logits = torch.zeros(1, 40)
    bitmask.mask(logits, torch.tensor([[1]], dtype=torch.int32))
    assert logits.isneginf().sum() == 31
    assert not logits[0, 32:].isneginf().any()


def test_other_calls_go_to_xgrammar(quick: Any) -> None:
    logits, bits = drawn(32 * WORDS)
    expected, given = logits.clone(), logits.clone()
    quick(expected, bits, vocab_size=100)
    xgrammar.apply_token_bitmask_inplace(given, bits, vocab_size=100)
    assert torch.equal(given, expected)
