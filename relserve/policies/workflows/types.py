"""What the policies on workflows are told: a step's demand, and a step that waits in an engine's queue."""

from __future__ import annotations

from typing import NamedTuple

from relserve.policies.model.linear import CostModel


class Demand(NamedTuple):
    """What a step, or several, ask of an engine: prompt tokens to compute, output tokens."""

    prompt_tokens: float
    output_tokens: float

    def plus(self, other: Demand) -> Demand:
        """Both, one after the other."""
        return Demand(self.prompt_tokens + other.prompt_tokens, self.output_tokens + other.output_tokens)

    def seconds(self, cost: CostModel, num_decodes: float = 1.0) -> float:
        """t_comp = t_prefill(L) + t_decode(L_out) (Eq. 2), on an engine of this cost.

        Args:
            num_decodes: requests that decode together with it, which lengthen each of its steps.
        """
        return self.prompt_tokens * cost.prefill_per_token_s + self.output_tokens * cost.decode(num_decodes)

    def at_pace(self, step_s: float, cost: CostModel) -> float:
        """The same where each step takes so long, or as long as alone if that is longer."""
        decode_s = max(step_s, cost.decode(1.0))
        return self.prompt_tokens * cost.prefill_per_token_s + self.output_tokens * decode_s


NOTHING = Demand(0.0, 0.0)


class QueuedStep(NamedTuple):
    """A step of a workflow that waits on an engine; a relQuery of no workflow is a workflow of one step.

    All times are of one clock, in seconds.

    Attributes:
        workflow: names the workflow; steps of it that fan out share the name.
        stage: names the step's kind.
        queued_s: when the step came to the engine.
        arrival_s: when the workflow began.
        deadline_s: when the workflow is to be done; None: as soon as may be.
        work_s: what the step takes on this engine, t_m in the paper.
        work_left_s: what is left of the workflow with this step, alone, mean of all engines.
        mean_work_s: what the step takes in the mean of all engines; None: there is one engine.
    """

    workflow: str
    stage: str
    queued_s: float
    arrival_s: float
    deadline_s: float | None
    work_s: float
    work_left_s: float
    mean_work_s: float | None = None
