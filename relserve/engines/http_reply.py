"""Reading a server's reply to one row."""

from __future__ import annotations

import json
import re
from typing import Any

from relserve.engines.http_dialect import encodable
from relserve.errors import Failure, FailureKind
from relserve.relquery import Reply, Usage

_THOUGHTS = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)


class UnreadableReply(Exception):
    """The server's reply is not what the protocol says."""


def read_reply(data: object, index: int, wrapped: bool) -> Reply:
    """The reply in the body of a 200 response.

    Raises:
        UnreadableReply: the body is not a (chat) completion.
    """
    try:
        choice = data["choices"][0]  # type: ignore[index]
        usage = _usage(data.get("usage"))  # type: ignore[attr-defined]
        if choice.get("finish_reason") == "content_filter":
            return _failed(index, FailureKind.REFUSED, "the server's content filter stopped the reply", usage)
        if "message" not in choice:
            return Reply(index, encodable(choice["text"]), usage=usage)
        message = choice["message"]
        if message.get("refusal"):
            return _failed(index, FailureKind.REFUSED, f"the model refused: {message['refusal']}", usage)
        content = encodable(message.get("content") or "")
        thoughts = message.get("reasoning_content") or message.get("reasoning")
    except (TypeError, LookupError, AttributeError, ValueError) as error:
        shown = str(data)[:200]
        raise UnreadableReply(f"the server's reply is not a completion: {shown!r}") from error
    text = content[match.end() :] if (match := _THOUGHTS.match(content)) else content
    thinking = text.lstrip().startswith("<think>") or (thoughts and not text)
    if thinking and choice.get("finish_reason") == "length":
        # Unfinished thoughts must not pass for the answer.
        return _failed(index, FailureKind.UNPARSABLE, "max_tokens ended before the answer began", usage)
    return Reply(index, _unwrapped(text) if wrapped else text, usage=usage)


def _unwrapped(text: str) -> str:
    """The answer in {"answer": ..}; the text itself where a server took the schema but did not keep to it."""
    try:
        answer = json.loads(text)["answer"]
    except (ValueError, TypeError, LookupError):
        return text
    return encodable(answer) if isinstance(answer, str) else text


def _usage(usage: dict[str, Any] | None) -> Usage:
    if not usage:
        return Usage()
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        int(usage.get("prompt_tokens") or 0),
        int(details.get("cached_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
    )


def _failed(index: int, kind: FailureKind, message: str, usage: Usage) -> Reply:
    return Reply(index, None, Failure(kind, message), usage)
