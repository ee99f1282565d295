"""Thoughts in and beside the content of a server's reply."""

from __future__ import annotations

from typing import Any, NamedTuple

from relserve.engines.local.thoughts import PLAIN, Marks

_QUOTES = "\"'`("


class Content(NamedTuple):
    """A reply's content without the thoughts before it.

    Attributes:
        text: the answer.
        thinks_on: it is thoughts that have no end.
        has_thoughts: thoughts were taken off.
    """

    text: str
    thinks_on: bool = False
    has_thoughts: bool = False


def without_thoughts(content: str) -> Content:
    """The content without thoughts that are marked in it."""
    begun = content.lstrip()
    marks = next((each for each in PLAIN if begun.startswith(each.opening)), None)
    if marks is not None:
        _, end, text = content.partition(marks.end)
        return Content(text.lstrip(), has_thoughts=True) if end else Content(content, thinks_on=True)
    rests = (_after_end_alone(content, each) for each in PLAIN)
    rest = next((rest for rest in rests if rest is not None), None)
    return Content(content) if rest is None else Content(rest.lstrip(), has_thoughts=True)


def _after_end_alone(content: str, marks: Marks) -> str | None:
    """What follows thoughts whose beginning the model's template has written; None: there are none."""
    end = content.find(marks.end)
    while end >= 0 and marks.opening not in content[:end]:
        after = end + len(marks.end)
        if not _speaks_of(content[end - 1 : end], content[after : after + 1]):
            return content[after:]
        end = content.find(marks.end, after)
    return None


def _speaks_of(before: str, after: str) -> bool:
    """Whether an answer speaks of the mark between two characters, as in "the tag </think> ends them"."""
    begins = before in (" ", "\t") or (before and before in _QUOTES)
    return bool(begins and after and after != "\n" and not after.isalnum())


def thoughts_apart(message: dict[str, Any]) -> str:
    """The thoughts that a server took out of the content; "" where it showed none."""
    return str(message.get("reasoning") or message.get("reasoning_content") or "")


def shows_thoughts(data: object) -> bool:
    """Whether the body of a 200 response holds thoughts, apart or marked, or counts them."""
    try:
        message, usage = data["choices"][0]["message"], data.get("usage") or {}  # type: ignore[index,attr-defined]
        content = message.get("content") or ""
        marked = any(mark in content for each in PLAIN for mark in (each.opening, each.end))
        return bool(thoughts_apart(message)) or marked or usage.get("completion_tokens_details") is not None
    except (TypeError, LookupError, AttributeError):
        return False
