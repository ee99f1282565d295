"""Kinds of misbehaviour in usage and content."""

from __future__ import annotations

from typing import Any

from benchmarks.odd_servers.kinds import Misbehaviour, OddRowOutcome, always, wrapped
from benchmarks.odd_servers.on_the_wire import error
from benchmarks.odd_servers.server import ROWS, OddReply, OddRequest, completion, good

NUM_ROWS = len(ROWS)
CALL = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
THOUGHTS = "<think>The user asks for a row.</think>\n\n"
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "no"}]}]


def _usage(name: str, told: Any) -> Misbehaviour:
    cached = {"cached_tokens": told}
    usage = {"prompt_tokens": told, "completion_tokens": told, "prompt_tokens_details": cached}
    return always("usage", name, lambda a: completion(a.content, usage=usage), OddRowOutcome.RIGHT)


def _null(name: str, content: Any, ending: Any = "stop", **message: Any) -> Misbehaviour:
    return always("content", name, completion(content, ending, **message), OddRowOutcome.NULL)


def _right(name: str, before: str = "", after: str = "", **message: Any) -> Misbehaviour:
    def said(asked: OddRequest) -> Any:
        return completion(f"{before}{asked.content}{after}", **message)

    return always("content", name, said, OddRowOutcome.RIGHT)


def _second_choice(asked: OddRequest) -> Any:
    body = completion(asked.content)
    body["choices"] += completion("another")["choices"]
    return body


def _without_schema(asked: OddRequest) -> OddReply:
    return error(400, "response_format is not supported") if asked.is_wrapped else good(asked)


def _with_member(content: str) -> str:
    return content[:-1] + ', "why": "it says \\"}\\""}'


def _twice(content: str) -> str:
    return content[:-1] + ", " + content[1:]


USAGE = [
    _usage("infinity", float("inf")),
    _usage("no number", float("nan")),
    _usage("10^25", 10**25),
    _usage("2^62", 2**62),
    _usage("negative", -5),
    _usage("text", "12"),
    always("usage", "a list", lambda a: completion(a.content, usage=[1]), OddRowOutcome.RIGHT),
]
CONTENT = [
    _null("null", None),
    _null("empty", ""),
    _null("a tool's call", None, "tool_calls", tool_calls=[CALL]),
    _null("text and a tool's call", "4", "tool_calls", tool_calls=[CALL]),
    _null("SAFETY", "4", "SAFETY"),
    _null("content_filter", "4", "content_filter"),
    _null("a refusal", None, refusal="I would rather not"),
    _null("a number", 4),
    _null("an object", {"answer": 4}),
    _null("thoughts alone", None, reasoning_content="The user asks."),
    _null("thoughts that a stop string ended", "<think>The user asks."),
    _null("thoughts that max_tokens ended", "<think>The user", "length"),
    _null("MAX_TOKENS before it began", "", "MAX_TOKENS"),
    _right("thoughts before it", THOUGHTS),
    _right("thoughts without a beginning", "The user asks.\n</think>\n\n"),
    _right("thoughts beside it", reasoning="The user asks."),
    _right("no ending", ending=None),
    _right("a space before it", " "),
    _right("empty lists of calls", tool_calls=[], function_call=None, refusal=None),
    always(
        "content",
        "in parts",
        lambda a: completion([*PARTS, {"type": "text", "text": a.content}]),
        OddRowOutcome.RIGHT,
    ),
    always("content", "two choices", _second_choice, OddRowOutcome.RIGHT),
    wrapped("content", "further members", _with_member, OddRowOutcome.RIGHT),
    wrapped("content", "its member twice", _twice, OddRowOutcome.RIGHT),
    wrapped(
        "content", "two answers", lambda c: c.replace("{", '{"answer": "other", ', 1), OddRowOutcome.NULL
    ),
    wrapped("content", "between fences", lambda c: f"```json\n{c}\n```", OddRowOutcome.RIGHT),
    wrapped("content", "nested 3,000 deep", lambda c: '{"answer": ' + "[" * 3000, OddRowOutcome.NULL),
    wrapped("content", "prose", lambda c: "I would say that it is rather good.", OddRowOutcome.NULL),
    always("content", "no schema taken", _without_schema, OddRowOutcome.RIGHT)._replace(
        on_every_row=True, least=lambda is_wrapped: NUM_ROWS + is_wrapped
    ),
]

IN_THE_REPLY: list[Misbehaviour] = [*USAGE, *CONTENT]
