"""Which relQuery a request belongs to, from what travels with it through stock vLLM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# The rows of one /v1/completions call with a list of prompts: "cmpl-ID-ROW", then vLLM's random suffix.
_LIST_CALL = re.compile(r"(?P<call>cmpl-.+)-\d+-[0-9a-f]{8}")


class Identity(NamedTuple):
    """A request's relQuery: its id, how many rows it has in all, and the most tokens a row may answer."""

    rel_id: str
    rows: int
    output_cap: int


def identify(request_id: str, extra_args: Mapping[str, Any] | None, max_tokens: int | None) -> Identity:
    """The relQuery of a request.

    Args:
        request_id: vLLM's internal id.
        extra_args: of its sampling parameters; over HTTP, the `vllm_xargs` of the call. What a stranger
            wrote there is taken where it makes sense and left where not.
        max_tokens: of its sampling parameters.
    """
    args = extra_args if isinstance(extra_args, Mapping) else {}
    cap = max_tokens if max_tokens is not None and max_tokens > 0 else 1
    rel_id = args.get("rel_id")
    if not isinstance(rel_id, (str, int)) or rel_id == "":
        call = _LIST_CALL.fullmatch(request_id)
        return Identity(call["call"] if call else request_id, 1, cap)
    rows = _positive(args.get("rel_rows"))
    return Identity(str(rel_id), rows or 1, min(cap, _positive(args.get("rel_ol")) or cap))


def _positive(value: Any) -> int | None:
    """A whole number above 0, also where JSON made it a float or a client a string; else None."""
    if isinstance(value, bool):
        return None
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number > 0 else None
