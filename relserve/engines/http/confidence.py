"""The probability of an answer, from the log probabilities in a server's reply."""

from __future__ import annotations

import json
import math
from typing import Any

from relserve.call.answer_types import Grammar
from relserve.engines.http.choice_share import ReplyToken, share_of
from relserve.engines.http.wrapping import BEGIN, unwrapped


def confidence_of(choice: dict[str, Any], text: str, wrapped: bool, grammar: Grammar | None) -> float | None:
    """The probability of the answer; None where the server tells none.

    In proportion to that of all choices where it tells what else was likely, else that of the answer alone.
    """
    try:
        tokens = told_tokens(choice["logprobs"])
        start, end = _span("".join(token.text for token in tokens), text, wrapped)
    except (TypeError, LookupError, AttributeError, ValueError, OverflowError):
        return None
    if not tokens or not text:
        return None
    if grammar is not None and grammar.choices:
        answer = unwrapped(text) if wrapped else text
        share = share_of(grammar, grammar.choice_of(grammar.without_space(answer).strip()), tokens, start)
        if share is not None:
            return share
    total, place = 0.0, 0
    for token in tokens:
        if place < end and place + len(token.text) > start:
            total += token.logprob
        place += len(token.text)
    return math.exp(min(0.0, total))


def told_tokens(told: dict[str, Any]) -> list[ReplyToken]:
    """The tokens in a chat's logprobs, or in a completion's."""
    if told.get("content"):
        return [
            _token(
                each["token"],
                each["logprob"],
                {other["token"]: other["logprob"] for other in each.get("top_logprobs") or ()},
            )
            for each in told["content"]
        ]
    texts, logprobs = told["tokens"], told["token_logprobs"]
    likeliest = told.get("top_logprobs") or [None] * len(texts)
    return [
        _token(text, logprob, others or {})
        for text, logprob, others in zip(texts, logprobs, likeliest, strict=True)
    ]


def _token(text: Any, logprob: Any, likeliest: dict[Any, Any]) -> ReplyToken:
    if not all(isinstance(each, str) for each in (text, *likeliest)):
        raise TypeError("a token is a text")
    return ReplyToken(text, _logprob(logprob), {other: _logprob(its) for other, its in likeliest.items()})


def _logprob(told: Any) -> float:
    """Raises ValueError, TypeError or OverflowError where it is none."""
    logprob = float(told)
    if not logprob < math.inf:
        raise ValueError(f"no log probability: {told!r}")
    return logprob


def _span(message: str, text: str, wrapped: bool) -> tuple[int, int]:
    """Where the answer stands in all that was said: without thoughts and without {"answer": ..} around it."""
    start = max(0, message.rfind(text))
    if wrapped and (match := BEGIN.match(message, start)) and message[match.end() : match.end() + 1] == '"':
        # with the closing quote: until then it might have been a longer answer
        return match.end() + 1, json.JSONDecoder().raw_decode(message, match.end())[1]
    return start, len(message) + 1
