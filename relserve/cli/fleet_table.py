"""A fleet's members as `relserve fleet status` and `relserve top` draw them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from relserve.cli.plain_text import plain
from relserve.machine.fleet_status import FleetStatus, MemberStatus

COLUMNS = ("member", "where", "state", "rows", "answered", "deaths", "waiting", "report's age", "chosen by")


def fleet_head(fleet: FleetStatus) -> Text:
    """The line above a fleet's members."""
    head = Text.assemble(("fleet ", "bold"), (str(fleet.pid), "bold"), f"  {plain(fleet.model, 100)}  ")
    asked = f"{fleet.queries:,} relQueries and requests under way"
    return head.append(f"{fleet.policy}  {asked}, {fleet.waiting:,} rows wait for a member")


def members_table(members: Sequence[MemberStatus]) -> Table:
    """A line a member."""
    table = Table(*COLUMNS, box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for each in members:
        queued = "" if each.queued is None else f"{each.queued:,}"
        age = "" if each.age_s is None else f"{1000 * each.age_s:,.0f} ms"
        state = f"{each.shown}: {each.why}" if each.why else each.shown
        numbers = f"{each.rows:,}", f"{each.answered:,}", f"{each.deaths:,}", queued, age
        table.add_row(
            plain(each.name, 60), plain(each.where, 60),
            Text(plain(state, 120), "green" if each.shown == "up" else "red"), *numbers,
            plain(each.reason, 40),
        )  # fmt: skip
    return table
