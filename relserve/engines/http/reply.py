"""Reading a server's reply to one row."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply, Usage
from relserve.engines.http.choice_share import Token, share_of
from relserve.engines.http.dialect import encodable
from relserve.errors import Failure, FailureKind

# Some templates open the thoughts, and then the reply has only their end.
_THOUGHTS = re.compile(r"\s*+(?:<think>)?+(?:[^<]++|<(?!/?think>))*+</think>\s*+")
_WRAPPING = re.compile(r'\s*\{\s*"answer"\s*:\s*')


class UnreadableReply(Exception):
    """The server's reply is not what the protocol says."""


def read_reply(data: object, index: int, wrapped: bool, grammar: Grammar | None = None) -> Reply:
    """The reply in the body of a 200 response.

    Args:
        wrapped: whether the answer was asked for as {"answer": ..}.
        grammar: that the server was told to keep to.

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
            confidence = _confidence(choice, text, False, grammar)
            return Reply(index, _without_space(text, grammar), usage=usage, confidence=confidence, cut=cut)
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
    if not text.strip() and _thoughts_apart(message).strip():
        said = "the reply has thoughts and no answer after them"
        return _failed(index, FailureKind.UNPARSABLE, said, usage)
    confidence = _confidence(choice, text, wrapped, grammar)
    answer = _unwrapped(text) if wrapped else text
    cut = cut and answer is text  # what was unwrapped is whole, though not a token was left after it
    if grammar is not None:
        answer = grammar.choice_of(answer if wrapped else grammar.without_space(answer))
    return Reply(index, answer, usage=usage, confidence=confidence, cut=cut)


def _without_space(text: str, grammar: Grammar | None) -> str:
    return text if grammar is None else grammar.choice_of(grammar.without_space(text))


def shows_thoughts(data: object) -> bool:
    """Whether the body of a 200 response holds thoughts, apart or marked, or counts them."""
    try:
        message, usage = data["choices"][0]["message"], data.get("usage") or {}  # type: ignore[index,attr-defined]
        marked = "think>" in (message.get("content") or "")
        return bool(_thoughts_apart(message)) or marked or usage.get("completion_tokens_details") is not None
    except (TypeError, LookupError, AttributeError):
        return False


def _thoughts_apart(message: dict[str, Any]) -> str:
    """The thoughts that a server took out of the content; "" where it showed none."""
    return str(message.get("reasoning") or message.get("reasoning_content") or "")


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


def _confidence(choice: dict[str, Any], text: str, wrapped: bool, grammar: Grammar | None) -> float | None:
    """The probability of the answer; None where the server tells none.

    In proportion to that of all choices where it tells what else was likely, else that of the answer alone.
    """
    try:
        tokens = _tokens(choice["logprobs"])
        start, end = _span("".join(token.text for token in tokens), text, wrapped)
    except (TypeError, LookupError, AttributeError, ValueError):
        return None
    if not tokens or not text:
        return None
    if grammar is not None and grammar.choices:
        answer = _unwrapped(text) if wrapped else text
        share = share_of(grammar, grammar.choice_of(grammar.without_space(answer).strip()), tokens, start)
        if share is not None:
            return share
    total, place = 0.0, 0
    for token in tokens:
        if place < end and place + len(token.text) > start:
            total += token.logprob
        place += len(token.text)
    return math.exp(min(0.0, total))


def _tokens(told: dict[str, Any]) -> list[Token]:
    """The tokens in a chat's logprobs, or in a completion's."""
    if told.get("content"):
        return [
            Token(
                each["token"],
                _logprob(each["logprob"]),
                {other["token"]: _logprob(other["logprob"]) for other in each.get("top_logprobs") or ()},
            )
            for each in told["content"]
        ]
    texts, logprobs = told["tokens"], told["token_logprobs"]
    likeliest = told.get("top_logprobs") or [None] * len(texts)
    return [
        Token(text, _logprob(logprob), {other: _logprob(its) for other, its in (others or {}).items()})
        for text, logprob, others in zip(texts, logprobs, likeliest, strict=True)
    ]


def _logprob(told: Any) -> float:
    """Raises ValueError or TypeError where it is none."""
    logprob = float(told)
    if not logprob < math.inf:
        raise ValueError(f"no log probability: {told!r}")
    return logprob


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
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    return Usage(
        int(usage.get("prompt_tokens") or 0),
        int(prompt.get("cached_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
        int(completion.get("reasoning_tokens") or 0),
    )


def _failed(index: int, kind: FailureKind, message: str, usage: Usage) -> Reply:
    return Reply(index, None, Failure(kind, message), usage)
