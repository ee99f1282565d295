"""Which relQuery a request belongs to, from what travels with it through stock vLLM."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil
from typing import Any

from relserve.call.rel_tag import RelTag, cap_of, read_tag

# The rows of one /v1/completions call with a list of prompts: "cmpl-ID-ROW", then vLLM's random suffix.
_LIST_CALL = re.compile(r"(?P<call>cmpl-.+)-\d+-[0-9a-f]{8}")
TagReader = Callable[[Any, int | None], RelTag | None]  # see `read_tag`


class LatestTag:
    """As `read_tag`; a tag equal to the one before, as rows of a relQuery have it, is not read again."""

    def __init__(self) -> None:
        self._read: tuple[Any, int | None] | None = None
        self._tag: RelTag | None = None

    def __call__(self, args: Any, max_tokens: int | None) -> RelTag | None:
        """See `read_tag`."""
        read = args, max_tokens
        try:
            is_same = self._read == read
        except Exception:  # of any kind: a stranger's arguments may be arrays, which do not just compare
            is_same = False
        if not is_same:
            self._read, self._tag = read, read_tag(args, max_tokens)
        return self._tag


def identify(request_id: str, extra_args: Any, max_tokens: int | None, read: TagReader = read_tag) -> RelTag:
    """The relQuery of a request; one that names none is a relQuery of its own, or its HTTP call's.

    Args:
        request_id: vLLM's internal id.
        extra_args: of its sampling parameters; over HTTP, the `vllm_xargs` of the call.
        max_tokens: of its sampling parameters.
        read: reads the tag in `extra_args`.
    """
    tag = read(extra_args, max_tokens)
    if tag is not None:
        return tag
    call = _LIST_CALL.fullmatch(request_id)
    return RelTag(call["call"] if call else request_id, 1, cap_of(max_tokens), is_named=False)


def part_of(tag: RelTag, num_ranks: int | None) -> RelTag:
    """What one of several data parallel ranks may expect of a relQuery: vLLM hands rows out evenly.

    Args:
        num_ranks: None where there are several and nobody said how many: then no row is expected before it
            has come.
    """
    return tag if num_ranks == 1 else tag._replace(rows=ceil(tag.rows / num_ranks) if num_ranks else 1)
