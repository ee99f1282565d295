"""What a failed request means: wait, try again, give the row up, or give the server up."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import NamedTuple

import aiohttp

from relserve.engines.http.client import NO_RESPONSE, StatusError, why_no_response
from relserve.engines.http.dialect import NO_SYSTEM_ROLE
from relserve.engines.http.reply import UnreadableReply
from relserve.errors import FailureKind

LONGEST_RETRY_AFTER_S = 120.0

_OVER_CONTEXT = re.compile(
    r"context[ _](length|size|window)|maximum context|max_model_len|maximum input length|too many tokens"
    r"|(prompt|input|request|message)s? (is|are) too l(ong|arge)|inputs. (must|tokens)"
    r"|string_above_max_length",
    re.IGNORECASE,
)
_NO_ROOM = "max_tokens must be at least 1, got 0"  # vLLM, of a prompt as long as the context
_NOT_TAKEN = re.compile(r"validation error|not supported")  # llama-cpp-python says so with a 500
_COMPILE_TIMEOUT = "compilation timed out"  # vLLM from 0.33 on, of a grammar; before, it says HTTP 500
_OUT_OF_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_NO_QUOTA = re.compile(
    r"\b(?:quota|billing|credits?|balance|payment|prepaid|subscription|spending|usage limit|plan limit)\b",
    re.IGNORECASE,
)
_OF_THE_ROW = re.compile(r"moderat|flagged|content policy|safety|unsafe|inappropriate", re.IGNORECASE)


class RetryAction(Enum):
    """What to do about a fault."""

    WAIT = "the server has too much to do"
    RETRY = "it may pass"
    RETRY_ONCE = "it took very long, and may pass"
    CHECK_SERVER = "the connection failed: see whether the server is there"
    GIVE_UP = "it will not pass soon"
    FAIL_ROW = "the row itself is refused"
    LOSE_ROW = "the row is refused, and perhaps every other"
    STOP = "nothing will be answered"


class Fault(NamedTuple):
    """A failed request: what to do, what the server said, and its HTTP status (0: none came)."""

    action: RetryAction
    message: str
    status: int = 0
    retry_after_s: float | None = None
    row_failure: FailureKind = FailureKind.ENGINE


def fault_of(error: Exception) -> Fault:
    """What an error of `JsonClient`, or an unreadable reply, means."""
    if isinstance(error, StatusError):
        told = error.body if isinstance(error.body, dict) else {}
        names = (str(told.get("code")), str(told.get("type")))
        return _of_status(error.status, what_it_said(error), names, _retry_after_s(error.headers))
    if isinstance(error, UnreadableReply) and error.status:
        return _of_status(error.status, f"HTTP 200: {error}")
    if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError):
        return Fault(RetryAction.RETRY_ONCE, "the server did not answer in time")
    if isinstance(error, NO_RESPONSE):
        return Fault(RetryAction.CHECK_SERVER, why_no_response(error))
    return Fault(RetryAction.RETRY, str(error) or "the server's reply is not JSON")


def _of_status(status: int, message: str, names: tuple[str, ...] = (), after_s: float | None = None) -> Fault:
    """What an HTTP status means; `names` are the server's own for the error."""
    out_of_money = not _OUT_OF_MONEY.isdisjoint(names)
    is_for_all = status == 403 and not _OF_THE_ROW.search(message)  # whose words may repeat the row's
    if status in (401, 402) or out_of_money or (is_for_all and _NO_QUOTA.search(message)):
        return Fault(RetryAction.STOP, message, status)
    if is_for_all:
        return Fault(RetryAction.LOSE_ROW, message, status, None, FailureKind.REFUSED)
    if after_s is not None and after_s > LONGEST_RETRY_AFTER_S:
        return Fault(RetryAction.GIVE_UP, f"{message} (it asks to wait {after_s:.0f} s)", status)
    if status in (429, 503, 529):
        return Fault(RetryAction.WAIT, message, status, after_s)
    refused = status == 500 and (_NOT_TAKEN.search(message) or NO_SYSTEM_ROLE.search(message))
    if (status >= 500 and status != 501 and not refused) or status in (408, 409):
        return Fault(RetryAction.RETRY, message, status, after_s)
    if _COMPILE_TIMEOUT in message:
        return Fault(RetryAction.RETRY_ONCE, message, status)
    if _NO_ROOM in message:
        message = f"the prompt fills the model's context and leaves no room for a reply ({message})"
        return Fault(RetryAction.FAIL_ROW, message, status, None, FailureKind.OVER_CONTEXT)
    too_long = status == 413 or "context_length_exceeded" in names or _OVER_CONTEXT.search(message)
    kind = FailureKind.OVER_CONTEXT if too_long else FailureKind.REFUSED
    return Fault(RetryAction.FAIL_ROW, message, status, None, kind)


def what_it_said(error: StatusError) -> str:
    """The server's own words, without the JSON around them."""
    body = error.body
    if isinstance(body, dict):
        words = body.get("message") or body.get("detail") or body.get("error") or body
    else:
        words = body or f"status {error.status} and no more"
    try:
        message = " ".join(str(words).split())
    except RecursionError:
        message = "an error that is nested too deeply"
    return f"HTTP {error.status}: {message[:500]}"


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait; None when it does not say, or nonsense."""
    try:
        if (ms := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(ms) / 1000)
        if (value := headers.get("retry-after")) is None:
            return None
        if re.fullmatch(r"[0-9.]+", value):
            return float(value)
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, OSError):
        return None
