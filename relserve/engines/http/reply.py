"""Reading a server's reply to one row."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from relserve.call.fences import unfenced
from relserve.call.relquery import Reply, Sampling, Usage
from relserve.call.token_counts import count_of
from relserve.engines.http.confidence import confidence_of
from relserve.engines.http.dialect import encodable
from relserve.engines.http.thoughts import Content, thoughts_apart, without_thoughts
from relserve.engines.http.wrapping import unwrapped
from relserve.errors import Failure, FailureKind

# Why a reply ended, in small letters: OpenAI's words and those of servers that pass on others'.
CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
GIVEN_UP = frozenset({"abort", "error", "cancelled", "canceled", "timeout", "insufficient_system_resource"})
FILTERED = frozenset(
    {"content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii", "refusal"}
)
CALLS = frozenset({"tool_calls", "tool_use", "function_call", "malformed_function_call"})


class UnreadableReply(Exception):
    """The server's reply is not what the protocol says.

    Attributes:
        status: the HTTP status that the body of a 200 response tells of; 0: none.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class _NoAnswer(Exception):
    """The server replied, but with no answer."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message)


def read_reply(data: object, index: int, wrapped: bool, sampling: Sampling) -> Reply:
    """The reply in the body of a 200 response.

    Args:
        wrapped: whether the answer was asked for as {"answer": ..}.
        sampling: what the server was asked for.

    Raises:
        UnreadableReply: the body is not a (chat) completion, or one that the server did not finish.
        RecursionError: it is nested too deeply to be read.
    """
    choice, usage = choice_in(data), usage_in(data)
    try:
        return _read(choice, index, wrapped, sampling, usage)
    except _NoAnswer as error:
        return Reply(index, None, error.failure, usage)


def in_json(data: object) -> object:
    """The body of a response; one that came under another name than JSON's is read as such if it is."""
    if isinstance(data, str):
        try:
            return json.loads(data.removeprefix("\ufeff"))
        except ValueError:
            pass
    return data


def shown(data: object, most: int = 200) -> str:
    """The beginning of what a server sent, for a message."""
    try:
        return repr(str(data)[:most])
    except RecursionError:
        return "something that is nested too deeply"


def choice_in(data: object) -> dict[str, Any]:
    """The first of the reply's choices."""
    choices = data.get("choices") if isinstance(data, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(choice, dict) and (isinstance(choice.get("message"), dict) or "text" in choice):
        return choice
    raise unreadable(data, "completion")


def unreadable(data: object, wanted: str) -> UnreadableReply:
    """The error of a 200 response whose body is not what was wanted."""
    error = data.get("error") if isinstance(data, dict) else None
    status = error.get("code") if isinstance(error, dict) else None
    status = status if isinstance(status, int) and 400 <= status < 600 else 0
    return UnreadableReply(f"the server's reply is not a {wanted}: {shown(data)}", status)


def _read(choice: dict[str, Any], index: int, wrapped: bool, sampling: Sampling, usage: Usage) -> Reply:
    message, grammar = choice.get("message"), sampling.grammar
    cut = _is_cut(choice, message or {})
    told = choice.get("text") if message is None else message.get("content")
    content = without_thoughts(_text_of(told))
    apart = thoughts_apart(message or {})
    # Before one of the call's own stop strings, or under its own grammar, nothing may be all that is said.
    of_the_call = bool(sampling.stop) or bool(grammar is not None and grammar.ebnf)
    may_be_empty = of_the_call and isinstance(told, str) and not content.has_thoughts
    _check(content, cut, apart, may_be_empty)
    text = content.text if grammar is None or grammar.ebnf else unfenced(content.text)
    confidence = confidence_of(choice, text, wrapped, grammar)
    answer = unwrapped(text) if wrapped else text
    cut = cut and answer is text  # what was unwrapped is whole, though not a token was left after it
    if grammar is not None:
        answer = grammar.choice_of(answer if wrapped else grammar.without_space(answer))
    return Reply(index, answer, usage=usage, confidence=confidence, cut=cut)


def _is_cut(choice: dict[str, Any], message: dict[str, Any]) -> bool:
    """Whether the limit on tokens ended a reply.

    Raises:
        UnreadableReply: the server did not finish it.
        _NoAnswer: it was stopped, or is no answer.
    """
    ending = str(choice.get("finish_reason") or "").lower()
    if ending in GIVEN_UP:
        raise UnreadableReply(f"the server gave the request up ({ending})")
    if ending in FILTERED:
        raise _NoAnswer(FailureKind.REFUSED, f"the server's content filter stopped the reply ({ending})")
    if message.get("refusal"):
        raise _NoAnswer(FailureKind.REFUSED, f"the model refused: {message['refusal']}")
    if ending in CALLS or message.get("tool_calls") or message.get("function_call"):
        words = "the model called a tool in place of an answer, though it was given none"
        raise _NoAnswer(FailureKind.UNPARSABLE, words)
    return ending in CUT


def _text_of(told: Any) -> str:
    """The text in a message's content, which some servers send in parts; "" for none.

    Raises:
        _NoAnswer: it is no text.
    """
    if isinstance(told, list) and all(isinstance(part, dict) for part in told):
        if refusal := next((part["refusal"] for part in told if part.get("refusal")), None):
            raise _NoAnswer(FailureKind.REFUSED, f"the model refused: {refusal}")
        texts = [part.get("text") for part in told if part.get("type", "text") in ("text", "output_text")]
        told = "".join(texts) if all(isinstance(text, str) for text in texts) else texts
    if told is None or isinstance(told, str):
        return encodable(told or "")
    raise _NoAnswer(FailureKind.UNPARSABLE, f"the reply's content is {shown(told, 60)}, which is no text")


def _check(content: Content, cut: bool, thoughts: str, may_be_empty: bool) -> None:
    """Refuse what must not pass for an answer: thoughts without an end, and nothing at all.

    Args:
        thoughts: that the server told apart.
    """
    is_empty = not content.text.strip()
    if cut and (is_empty or content.thinks_on):
        words = "max_tokens ended before the answer began; raise max_tokens"
    elif content.thinks_on or (is_empty and (content.has_thoughts or thoughts.strip())):
        words = "the reply has thoughts and no answer after them"
    elif is_empty and not may_be_empty:
        words = "the reply is empty"
    else:
        return
    raise _NoAnswer(FailureKind.UNPARSABLE, words)


def usage_in(data: object) -> Usage:
    """The tokens that a server tells of; 0 where it tells none, or what can be no number of them."""
    usage = _dict_in(data, "usage")
    prompt, reply = (_names_in(usage, *names) for names in (("prompt", "input"), ("completion", "output")))
    return Usage(
        count_of(usage.get(f"{prompt}_tokens")) or 0,
        count_of(_dict_in(usage, f"{prompt}_tokens_details").get("cached_tokens")) or 0,
        count_of(usage.get(f"{reply}_tokens")) or 0,
        count_of(_dict_in(usage, f"{reply}_tokens_details").get("reasoning_tokens")) or 0,
    )


def usage_shares(data: object, num: int) -> list[Usage]:
    """A request's tokens in equal parts, one for each of its rows: caps take a row without any for untold."""
    ends = [[total * part // num for total in usage_in(data)] for part in range(num + 1)]
    return [Usage(*(last - first for first, last in zip(*each, strict=True))) for each in pairwise(ends)]


def _names_in(usage: dict[str, Any], chats: str, decisions: str) -> str:
    """What the tokens are called: as in chats, or as decision servers call them."""
    return chats if f"{chats}_tokens" in usage else decisions


def _dict_in(data: object, name: str) -> dict[str, Any]:
    found = data.get(name) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}
