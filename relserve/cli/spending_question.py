"""The question before a statement that costs much: "about 12,400 rows, 3.1 M tokens, 0.47 USD: go on?"."""

from __future__ import annotations

import sys

from relserve.api import Connection
from relserve.cli.console import confirmed
from relserve.settings import load


def ask_before_spending(con: Connection, model: str | None = None) -> None:
    """Have somebody at a terminal asked before statements whose estimate is above RELSERVE_CONFIRM_ABOVE.

    Args:
        con: with a session of its own.
        model: of calls that name none; None: that of the settings.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    settings, spending = load(), con.session.spending
    spending.confirm_above = settings.confirm_above
    spending.confirm = lambda question: confirmed(f"relserve: {question}", default=False)
    spending.default_is_priced = spending.prices.find(model or settings.model) is not None
