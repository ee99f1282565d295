"""What most tests ask."""

from __future__ import annotations

from typing import Any

import openai

HI: Any = [{"role": "user", "content": "hi there"}]


def chat(client: openai.OpenAI, max_tokens: int | None = 3, **options: Any) -> Any:
    """A chat completion."""
    given = {"model": "scripted", "messages": HI, "max_tokens": max_tokens, **options}
    return client.chat.completions.create(**given)
