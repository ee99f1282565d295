"""The dispatchers of `workflows/` as entries here: HexGen-Text2SQL's, and ours of that time."""

from __future__ import annotations

import numpy as np

from relserve.policies.dispatch.board import Board
from relserve.policies.dispatch.state import Request
from relserve.policies.workflows.dispatch import TYPICAL_DECODES, Dispatch, EngineState, NewStep
from relserve.policies.workflows.types import Demand


class Hexgen:
    """Shows a dispatcher of workflows' steps the members as engines; a request is a step of its own.

    Its coordinator knows its engines' queues, so what was sent since a report counts.
    """

    def __init__(self, name: str, inner: Dispatch) -> None:
        self.name, self._inner = name, inner

    def choose(self, request: Request, board: Board, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        board.some()
        demand = Demand(request.prompt_tokens, request.output_tokens)
        step = NewStep("", "", demand, request.cached_tokens)
        return self._inner.choose(step, engines_of(board))


def engines_of(board: Board) -> list[EngineState]:
    """The members as the dispatchers of `workflows/` see engines."""
    since = board["since_num"]
    waiting = board["num_waiting"] + since
    outputs = board["output_tokens"] + board["since_output"]
    mean_output = outputs / np.maximum(waiting + board["num_running"], 1)
    prompt, output = board["waiting_tokens"] + board["since_prompt"], mean_output * waiting
    decode_s = board["request_s"] * TYPICAL_DECODES + board["decode_base_s"]
    columns = [
        board["budget_tokens"], waiting, board["num_running"], board["prompt_tokens"] + board["since_prompt"],
        outputs, prompt * board["token_s"] + output * decode_s,
    ]  # fmt: skip
    rows = zip(board.names, board.costs(), *[column.tolist() for column in columns], strict=True)
    return [EngineState(*row) for row in rows]
