"""Gates as `relserve top` draws them: who waits to be admitted to an engine."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from relserve.cli.plain_text import clock_text, plain
from relserve.machine.embedded import called
from relserve.machine.gate_status import GateStatus


def gate_head(gate: GateStatus) -> Text:
    """The line above a gate's users."""
    running = sum(user.running for user in gate.users)
    waiting = sum(user.waiting for user in gate.users)
    places = "" if gate.places is None else f" of {gate.places:,}"
    head = Text.assemble(("admission ", "bold"), (str(gate.pid), "bold"))
    head.append(f"  {plain(called(gate.model), 80)}  {gate.policy}  {running:,}{places} requests running, ")
    return head.append(f"{waiting:,} waiting: {plain(gate.reason, 80)}")


def gate_table(gate: GateStatus) -> Table:
    """A line a user who waits."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("user", no_wrap=True)
    for name in ("running", "waiting", "until the last ends", "refused"):
        table.add_column(name, justify="right", no_wrap=True)
    for user in gate.users:
        if user.waiting:
            about = "" if user.estimate_s is None else clock_text(user.estimate_s)
            numbers = f"{user.running:,}", f"{user.waiting:,}", about, f"{user.refused:,}"
            table.add_row(plain(user.user, 40), *numbers)
    return table
