"""Every budget policy by name."""

from __future__ import annotations

from relserve.policies.budget.lens import Lens
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.slack import SlackBudget
from relserve.policies.budget.static import StaticBudget

TOKENS = 2048  # vLLM's own default on most machines
NAMES = ("static", "lens", "slack", "slack-in-order")
FORMER = {"ours": "slack", "ours-in-order": "slack-in-order"}  # earlier names, which configurations may have
BY_LIMITS = ("lens", "slack", "slack-in-order")  # those that have nothing to say where no request has a limit


def make(name: str) -> BudgetPolicy:
    """A policy of that name, for one engine; N tokens a step by `static-N`.

    Raises:
        ValueError: there is none; the message lists them.
    """
    name = FORMER.get(name, name)
    kind, _, number = name.partition("-")
    tokens = int(number) if number.isdecimal() else 0
    if name == "lens":
        return Lens(name)
    if name in ("slack", "slack-in-order"):
        return SlackBudget(name, in_order=name != "slack")
    if name == "static" or (kind == "static" and tokens):
        return StaticBudget(name, tokens or TOKENS)
    raise ValueError(f"no budget policy {name!r}; there are: {', '.join(NAMES)}, any static-N")
