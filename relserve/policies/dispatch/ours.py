"""Ours: by predicted seconds, from each member's own cost model, what it reported, and what was sent since."""

from __future__ import annotations

import numpy as np

from relserve.policies.dispatch.board import Board
from relserve.policies.dispatch.loads import in_turn
from relserve.policies.dispatch.state import Column, Request

LATE = 10.0


class Predicted:
    """The member where the request is expected to end first, limits kept."""

    def __init__(self, name: str = "ours", late: float = LATE) -> None:
        self.name, self.late = name, late
        self._next = 0

    def choose(self, request: Request, board: Board, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        board.some()
        found = in_turn(self.seconds(request, board, now_s), self._next)
        self._next = found + 1
        return found

    def seconds(self, request: Request, board: Board, now_s: float) -> Column:
        """Predicted seconds until the request's end on each member, with a penalty for limits missed."""
        own = request.prompt_tokens - self.held(request, board)
        before = board.left(now_s)
        number = board["others"] + board["unanswered"]
        in_prompt = np.minimum(before / max(request.prompt_tokens, 1.0), number)
        decodes = number - in_prompt
        budget = np.maximum(board["budget_tokens"], 1.0)
        room = np.maximum(budget - board["num_running"], 32.0)
        rows_s = board["request_s"] * decodes
        full_s = board["token_s"] * room + rows_s + board["mixed_base_s"]
        alone_s = rows_s + board["request_s"] + board["decode_base_s"]
        before_s = before / room * full_s
        ttft_s = before_s + np.maximum(own / room, 1.0) * full_s
        need = request.prompt_tokens + request.output_tokens
        short = np.maximum(need - (board["free_tokens"] - board["since_need"]), 0.0) / need
        ttft_s = ttft_s + short * request.output_tokens * alone_s
        busy_s = np.minimum(request.output_tokens * full_s, before_s)
        decode_s = request.output_tokens * alone_s + busy_s * (1.0 - alone_s / full_s)
        finish_s = ttft_s + decode_s
        if request.ttft_slo_s < np.inf:
            finish_s = finish_s + self.late * np.maximum(ttft_s - request.ttft_slo_s, 0.0)
        if request.tpot_slo_s < np.inf:
            limit_s = request.tpot_slo_s * request.output_tokens
            finish_s = finish_s + self.late * np.maximum(decode_s - limit_s, 0.0)
        return finish_s

    def held(self, request: Request, board: Board) -> Column:
        """Tokens of the prompt that each member need not compute."""
        found = np.zeros(len(board))
        for name, tokens in request.cached_tokens.items():
            row = board.row(name)
            if row >= 0:
                found[row] = min(tokens, request.prompt_tokens - 1.0)
        return found
