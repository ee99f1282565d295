"""The rows of a submission at a gate."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Sequence
from functools import cache

from relserve.call.relquery import Reply, Submission
from relserve.gate.gate import Gate
from relserve.gate.request_group import Permit
from relserve.gate.rows import GatedRows


class Admitted:
    """Which rows of a submission run, each with its permit.

    Args:
        num_output_tokens: tokens that a request has said so far; default: that is not seen.
    """

    def __init__(
        self,
        gate: Gate,
        submission: Submission,
        num_output_tokens: Callable[[str], int] = lambda request_id: 0,
    ) -> None:
        self._gate, self._submission, self._num_output_tokens = gate, submission, num_output_tokens
        self._rows: GatedRows | None = None
        self._permits: dict[int, Permit] = {}
        self._asked: dict[int, tuple[int, Sequence[str]]] = {}  # tokens said before, and who says more now

    def come(self, num_rows: int) -> None:
        """So many rows want to start."""
        submission = self._submission
        sampling = submission.sampling
        most = sampling.output_cap if sampling.likely is None else min(sampling.likely, sampling.output_cap)
        self._rows = GatedRows(self._gate, submission, num_rows, submission.user or user_here(), most)
        self._gate.meters.add(self._measure)

    async def take(self, indices: Sequence[int]) -> int:
        """Wait until the first of these rows may start; how many of them may.

        Raises:
            AdmissionError: the deadline has passed.
        """
        assert self._rows is not None
        permits = await self._rows.take(len(indices))
        self._permits.update(zip(indices, permits, strict=False))
        return len(permits)

    def asks(self, index: int, request_ids: Sequence[str]) -> None:
        """These requests are about a row, after those before them have ended."""
        before = self._permits[index].num_output_tokens if index in self._permits else 0.0
        self._asked[index] = int(before), request_ids

    def ended(self, index: int, reply: Reply | None) -> None:
        """A row has its reply, or was given up."""
        permit = self._permits.pop(index, None)
        self._asked.pop(index, None)
        if permit is None or self._rows is None:
            return
        if reply is None:
            self._rows.gone(permit)
        else:
            self._rows.done(permit, reply.usage.output_tokens)

    def leave(self) -> None:
        """Give up what waits and runs."""
        self._gate.meters.discard(self._measure)
        if self._rows is not None:
            self._rows.leave()

    def _measure(self) -> None:
        for index, (before, request_ids) in list(self._asked.items()):
            if (permit := self._permits.get(index)) is not None:
                num_output_tokens = sum(map(self._num_output_tokens, request_ids))
                permit.progress(max(before + num_output_tokens, permit.num_output_tokens))


@cache
def user_here() -> str:
    """The name of the user whose process this is, as far as the system tells."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
