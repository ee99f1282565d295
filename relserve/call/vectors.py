"""Vectors as answers: what llm_embed gives."""

from __future__ import annotations

from dataclasses import dataclass

from relserve.call.answer_types import Answer, Grammar
from relserve.errors import Failure, FailureKind


@dataclass(frozen=True)
class Vector:
    """The numbers that stand for a text, as `vector_text` writes them."""

    sql_type: str = "FLOAT[]"
    default_max_tokens: int = 1
    instruction: str = ""
    grammar: Grammar | None = None

    def parse(self, text: str) -> Answer:
        """The vector that a reply is."""
        if text and len(text) % 4 == 0 and not text.startswith("["):  # as vectors were once kept
            return Answer(text)
        return Answer(None, Failure(FailureKind.UNPARSABLE, "the reply is no vector"))
