"""What a budget policy is shown before a step, what it answers, and what it is told afterwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relserve.policies.model.work import NUM_COLUMNS, Column, Table


class Decodes(NamedTuple):
    """The requests that decode, a row each.

    Attributes:
        first_s: when each gave its first token.
        num_output_tokens: tokens that each has given.
        expected_left: tokens that each is expected to give yet, one at least.
        slo_s: its limit on the mean time between its tokens (TPOT); infinite for none.
        context_tokens: in memory, of all of them together.
    """

    first_s: Column
    num_output_tokens: Column
    expected_left: Column
    slo_s: Column
    context_tokens: float


class Prompts(NamedTuple):
    """The requests with prompt tokens to compute, in the order in which they get a step's tokens.

    Attributes:
        arrival_s: when each came.
        uncomputed, done: tokens of it that are to be computed, and that are in memory.
        slo_s: its limit on the time until its first token (TTFT); infinite for none.
        tpot_slo_s: its limit on the mean time between the tokens after that.
        num_begun: how many of the first are at work already; the others wait.
    """

    arrival_s: Column
    uncomputed: Column
    done: Column
    slo_s: Column
    tpot_slo_s: Column
    num_begun: int


class BudgetView(NamedTuple):
    """All that a policy knows before a step.

    Attributes:
        most_tokens, most_requests: of a step, by the engine's settings.
    """

    now_s: float
    decodes: Decodes
    prompts: Prompts
    most_tokens: int
    most_requests: int

    @property
    def num_decodes(self) -> int:
        """Requests that decode."""
        return len(self.decodes.num_output_tokens)

    @property
    def num_running(self) -> int:
        """Requests at work."""
        return self.num_decodes + self.prompts.num_begun

    @property
    def num_waiting(self) -> int:
        """Requests that wait."""
        return len(self.prompts.uncomputed) - self.prompts.num_begun

    @property
    def only_decodes(self) -> bool:
        """Whether the step's tokens are no question."""
        return not len(self.prompts.uncomputed)


class Budget(NamedTuple):
    """The next step.

    Attributes:
        tokens, requests: at most, within the engine's settings; never fewer tokens than requests decode.
        target_s: seconds that it should take; infinite where no limit says.
        reason: in a few words, for logs.
    """

    tokens: int
    requests: int
    target_s: float
    reason: str


class EndedRequest(NamedTuple):
    """A request that has ended: time until its first token, mean time of the others, number of all."""

    ttft_s: float
    tpot_s: float
    num_output: int


def works_at(view: BudgetView, tokens: Column) -> Table:
    """The work of steps of so many tokens, a row each: decodes first, then the prompts in their order."""
    prompts = view.prompts
    rows = np.zeros((len(tokens), NUM_COLUMNS))
    rows[:, 2], rows[:, 3] = view.num_decodes, view.decodes.context_tokens
    if not len(prompts.uncomputed):
        return rows
    uncomputed, done = prompts.uncomputed, prompts.done
    ends = uncomputed.cumsum()
    got = np.minimum(np.maximum(tokens - view.num_decodes, 0.0), ends[-1])
    starts = ends - uncomputed
    number = starts.searchsorted(got)  # of the prompts that get any, all but the last of them all of theirs
    last = np.maximum(number - 1, 0)
    of_last, context = got - starts[last], done.cumsum()
    pairs = uncomputed * (done + (uncomputed + 1.0) / 2.0)
    rows[:, 0], rows[:, 1] = got, number
    rows[:, 3] += np.where(number > 0, context[last], 0.0)
    rows[:, 4] = (pairs.cumsum() - pairs)[last] + of_last * (done[last] + (of_last + 1.0) / 2.0)
    return rows
