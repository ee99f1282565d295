"""What is told instead of an answer, in the shape of OpenAI's errors."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from math import ceil, inf
from typing import Any

from relserve.server.page.guard import CLOSES

logger = logging.getLogger(__name__)

LIMIT = "rate_limit_exceeded"  # OpenAI's code
DEADLINE = "deadline"  # OpenAI has none for it
ENDED = "the engine did not start, or ended while it worked on the request; ask again"
RETRY_S = 10.0  # after which to ask again where nobody knows better
MOST_RETRY_S = 60.0  # what OpenAI's clients wait at most; they are told not to wait for longer
IN_VAIN = (HTTPStatus.GATEWAY_TIMEOUT, HTTPStatus.NOT_IMPLEMENTED)  # to ask again
STRANGERS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """A request is not answered.

    Attributes:
        status: of HTTP; 4xx where the client can mend it.
        code: OpenAI's, where it has one for that.
        param: the field that is wrong.
        retry_s: seconds after which to ask again; infinity: never; None: nobody knows.
    """

    def __init__(
        self, status: int, message: str, code: str | None = None, param: str | None = None,
        retry_s: float | None = None,
    ) -> None:  # fmt: skip
        self.status, self.message, self.code, self.param, self.retry_s = status, message, code, param, retry_s
        super().__init__(message)

    def body(self) -> dict[str, Any]:
        """As OpenAI tells it."""
        kind = _TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def headers(self) -> Mapping[str, str]:
        """What tells clients whether and when to ask again; of a stranger no socket is kept."""
        if self.status in STRANGERS:
            return CLOSES
        if self.retry_s is None:
            return {"x-should-retry": "false"} if self.status in IN_VAIN else {}
        waits = self.retry_s <= MOST_RETRY_S
        told = {} if self.retry_s == inf else {"retry-after": str(max(ceil(self.retry_s), 1))}
        return told if waits else {**told, "x-should-retry": "false"}


def bad_request(message: str, param: str | None = None) -> Refusal:
    """The client asks what cannot be."""
    return Refusal(400, message, param=param)


def unavailable(message: str) -> Refusal:
    """The engine or the server cannot answer now."""
    return Refusal(503, message, retry_s=RETRY_S)


def no_model(name: str, there: list[str]) -> Refusal:
    """The model is not there, or is not this user's."""
    message = f"The model {name!r} does not exist or you do not have access to it; there is: "
    return Refusal(404, message + (", ".join(there) or "none"), "model_not_found", "model")


def error_of(body: bytes) -> tuple[str, str | None]:
    """The message of an error in OpenAI's shape, or the beginning of what else came; and the field."""
    try:
        error = json.loads(body)["error"]
        message, param = str(error["message"]), error.get("param")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return body.decode(errors="replace")[:500] or "the engine gave no reason", None
    return message, param if isinstance(param, str) else None


def of_engine(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> Refusal:
    """What vLLM's server, or the engine's gate, told instead of an answer, for the client."""
    message, param = error_of(body)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        logger.warning("the engine did not answer: %s", message)  # which may tell of this machine
        return unavailable(ENDED)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.GATEWAY_TIMEOUT:
        logger.error("the engine failed on a request: %s", message)
        return Refusal(status, "the engine failed on the request; the server's log says why")
    if status == HTTPStatus.GATEWAY_TIMEOUT:
        return Refusal(status, message, DEADLINE)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Refusal(status, message, LIMIT, retry_s=_retry_s(headers or {}))
    return Refusal(status, message, param=param)


def _retry_s(headers: Mapping[str, str]) -> float:
    """Seconds that the client is asked to wait; RETRY_S where the engine told none, or a date."""
    told = headers.get("retry-after", "")
    return float(told) if re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,9})?", told) else RETRY_S
