"""Reading a server's reply to one row."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from relserve.call.relquery import Reply, Usage
from relserve.engines.http.dialect import encodable
from relserve.errors import Failure, FailureKind

_THOUGHTS = re.compile(r"\s*<think>.*?</think>\s*", re.DOTALL)
_WRAPPING = re.compile(r'\s*\{\s*"answer"\s*:\s*')


class UnreadableReply(Exception):
    """The server's reply is not what the protocol says."""


def read_reply(data: object, index: int, wrapped: bool) -> Reply:
    """The reply in the body of a 200 response.

    Raises:
        UnreadableReply: the body is not a (chat) completion, or one that the server did not finish.
    """
    try:
        choice = data["choices"][0]  # type: ignore[index]
        usage = _usage(data.get("usage"))  # type: ignore[attr-defined]
        ending = choice.get("finish_reason")
        cut = ending == "length"
        if ending in ("abort", "error"):
            raise UnreadableReply(f"the server gave the request up ({ending})")
        if ending == "content_filter":
            return _failed(index, FailureKind.REFUSED, "the server's content filter stopped the reply", usage)
        if "message" not in choice:
            text = encodable(choice["text"])
            return Reply(index, text, usage=usage, confidence=_confidence(choice, text, False), cut=cut)
        message = choice["message"]
        if message.get("refusal"):
            return _failed(index, FailureKind.REFUSED, f"the model refused: {message['refusal']}", usage)
        content = encodable(message.get("content") or "")
    except (TypeError, LookupError, AttributeError, ValueError) as error:
        shown = str(data)[:200]
        raise UnreadableReply(f"the server's reply is not a completion: {shown!r}") from error
    text = content[match.end() :] if (match := _THOUGHTS.match(content)) else content
    # Unfinished thoughts must not pass for the answer, nor nothing where a server does not show them.
    if cut and (not text.strip() or text.lstrip().startswith("<think>")):
        said = "max_tokens ended before the answer began; raise max_tokens"
        return _failed(index, FailureKind.UNPARSABLE, said, usage)
    confidence = _confidence(choice, text, wrapped)
    answer = _unwrapped(text) if wrapped else text
    # What was unwrapped is whole, though not a token was left after it.
    return Reply(index, answer, usage=usage, confidence=confidence, cut=cut and answer is text)


def _unwrapped(text: str) -> str:
    """The answer in {"answer": ..}; the text itself where a server took the schema but did not keep to it."""
    try:
        answer = json.loads(text)["answer"]
    except (ValueError, TypeError, LookupError):
        return text
    if isinstance(answer, str):
        return encodable(answer)
    # JSON as llm_extract asks for it: cut out rather than written anew, which would round its numbers
    return text.rstrip()[match.end() : -1] if (match := _WRAPPING.match(text)) else text


def _confidence(choice: dict[str, Any], text: str, wrapped: bool) -> float | None:
    """The probability that the server gave to the tokens of the answer; None where it tells none."""
    try:
        told = choice["logprobs"]
        if told.get("content"):  # of a chat
            tokens = [(each["token"], float(each["logprob"])) for each in told["content"]]
        else:
            tokens = [(t, float(p)) for t, p in zip(told["tokens"], told["token_logprobs"], strict=True)]
        start, end = _span("".join(token for token, _ in tokens), text, wrapped)
    except (TypeError, LookupError, AttributeError, ValueError):
        return None
    total, place = 0.0, 0
    for token, logprob in tokens:
        if place < end and place + len(token) > start:
            total += logprob
        place += len(token)
    return math.exp(min(0.0, total)) if tokens else None


def _span(said: str, text: str, wrapped: bool) -> tuple[int, int]:
    """Where the answer stands in all that was said: without thoughts and without {"answer": ..} around it."""
    start = max(0, said.rfind(text))
    if wrapped and (match := _WRAPPING.match(said, start)) and said[match.end() : match.end() + 1] == '"':
        # with the closing quote: until then it might have been a longer answer
        return match.end() + 1, json.JSONDecoder().raw_decode(said, match.end())[1]
    return start, len(said) + 1


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
