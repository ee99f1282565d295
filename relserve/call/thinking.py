"""How much a model may think before it answers, in tokens, and how that is said to it."""

from __future__ import annotations

from typing import Any

LOW, HIGH = 512, 4096  # tokens of thoughts that 'low' and 'high' stand for
TOKENS_OF = {"off": 0, "low": LOW, "high": HIGH}


def effort_of(tokens: int) -> str:
    """The effort, in the words of templates and servers that take no number."""
    return "low" if tokens <= LOW else "medium" if tokens < HIGH else "high"


def template_fields(tokens: int) -> dict[str, Any]:
    """What chat templates are told; each model's reads one of these and leaves the others.

    Qwen's, and most, read `enable_thinking`, DeepSeek's `thinking`, gpt-oss's `reasoning_effort`.
    """
    switches: dict[str, Any] = {"enable_thinking": tokens > 0, "thinking": tokens > 0}
    return switches | ({"reasoning_effort": effort_of(tokens)} if tokens else {})
