"""Every budget policy by name."""

from __future__ import annotations

from relserve.policies.budget.lens import Lens
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.slack import SlackBudget
from relserve.policies.budget.static import StaticBudget
from relserve.policies.registry import Registry

TOKENS = 2048  # vLLM's own default on most machines
FORMER = {"ours": "slack", "ours-in-order": "slack-in-order"}  # earlier names, which configurations may have
BY_LIMITS = ("lens", "slack", "slack-in-order")  # those that have nothing to say where no request has a limit

_VARIANTS: Registry[BudgetPolicy] = Registry(
    "budget policy",
    {
        "static": lambda name: StaticBudget(name, TOKENS),
        "lens": Lens,
        "slack": SlackBudget,
        "slack-in-order": lambda name: SlackBudget(name, in_order=True),
    },
    {"static": StaticBudget},
    former=FORMER,
)
NAMES = _VARIANTS.names
make = _VARIANTS.make  # for one engine; N tokens a step by `static-N`
