"""A request as the ledger and the queue read it, without vLLM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Row(SimpleNamespace):
    """Told apart by what it is, as vLLM's requests are."""

    __hash__ = object.__hash__
    __eq__ = object.__eq__


def request(request_id: str, num_prompt: int = 10, max_tokens: int = 4) -> Any:
    return Row(
        request_id=request_id, status=SimpleNamespace(name="WAITING"), num_prompt_tokens=num_prompt,
        num_tokens=num_prompt, num_computed_tokens=0, num_output_tokens=0, max_tokens=max_tokens,
        is_prefill_chunk=True,
    )  # fmt: skip
