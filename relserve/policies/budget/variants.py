"""Every budget policy by name."""

from __future__ import annotations

from relserve.policies.budget.lens import Lens
from relserve.policies.budget.ours import Ours
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.static import Pressure, Static

TOKENS = 2048  # vLLM's own default on most machines
PRESSURE = 16384  # P-PAS's larger budget
NAMES = ("static", "lens", "ours", "ours-in-order", "pressure", "pressure+")
BY_LIMITS = ("lens", "ours", "ours-in-order")  # those that have nothing to say where no request has a limit


def make(name: str) -> BudgetPolicy:
    """A policy of that name, for one engine; N tokens a step by `static-N`, under pressure by `pressure-N`.

    Raises:
        ValueError: there is none; the message lists them.
    """
    kind, _, number = name.partition("-")
    tokens = int(number) if number.isdecimal() else 0
    if name == "lens":
        return Lens(name)
    if name in ("ours", "ours-in-order"):
        return Ours(name, in_order=name != "ours")
    if name == "static" or (kind == "static" and tokens):
        return Static(name, tokens or TOKENS)
    if name in ("pressure", "pressure+") or (kind == "pressure" and tokens):
        large = 65536.0 if name == "pressure+" else float("inf")
        return Pressure(name, PRESSURE, tokens or 1280, large)
    raise ValueError(f"no budget policy {name!r}; there are: {', '.join(NAMES)}, any static-N and pressure-N")
