"""What a dispatch policy is: one pure decision a request."""

from __future__ import annotations

from typing import Protocol

from relserve.policies.dispatch.board import Board
from relserve.policies.dispatch.state import Request


class DispatchPolicy(Protocol):
    """Chooses the member of each request; owns no queue, no connection and no clock."""

    @property
    def name(self) -> str:
        """The variant's name."""

    def choose(self, request: Request, board: Board, now_s: float) -> int:
        """The member's row of the board, which has one at least (see `Board.some`).

        Raises:
            ValueError: there is none.
        """
