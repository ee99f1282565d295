"""`relserve top`: the relQueries of every engine on this machine, and who waits at its gate, drawn again."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from relserve.cli.console import console
from relserve.cli.fleet_table import fleet_head, members_table
from relserve.cli.plain_text import clock_text, plain
from relserve.machine.embedded import called
from relserve.machine.engine_status import EngineStatus, RelStatus, read_engines, state_dir
from relserve.machine.fleet_status import FleetStatus, read_fleets
from relserve.machine.gate_status import GateStatus, read_gates

NOBODY = """No engine with relserve's scheduler is running on this machine.
An engine starts with the first llm function that is asked, for instance:  relserve demo
or as a server:  vllm serve MODEL --scheduler-cls relserve.vllm_plugin.scheduler.make"""
STALE_S = 5.0  # a busy engine writes every second, or after each step where steps are longer
MAX_ID = 40  # characters of a relQuery's id shown


def run(once: bool, interval_s: float, as_json: bool) -> None:
    """Show the engines until Ctrl-C; only once where asked, or where the table does not go to a terminal."""
    folder = state_dir()
    with contextlib.suppress(KeyboardInterrupt):
        if as_json:
            _write_json(folder)
            while not once:
                time.sleep(interval_s)
                _write_json(folder)
        elif once or not console().is_terminal:
            console().print(_drawn(folder))
        else:
            _live(folder, interval_s)


def _drawn(folder: Path) -> RenderableType:
    return draw(read_engines(folder), time.time(), read_gates(folder), read_fleets(folder))


def _live(folder: Path, interval_s: float) -> None:
    screen = console()
    with Live(console=screen, screen=True, auto_refresh=False) as live:
        while True:
            live.update(_drawn(folder), refresh=True)
            time.sleep(interval_s)


def _write_json(folder: Path) -> None:
    engines, gates, fleets = read_engines(folder), read_gates(folder), read_fleets(folder)
    found = {"time_s": time.time(), "engines": engines, "gates": gates, "fleets": fleets}
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    sys.stdout.flush()


def draw(
    engines: list[EngineStatus], now_s: float, gates: Sequence[GateStatus] = (),
    fleets: Sequence[FleetStatus] = (),
) -> RenderableType:  # fmt: skip
    """One block a fleet and one an engine, and one a gate at which somebody waits.

    Args:
        now_s: seconds of the wall clock, as in `EngineStatus.written_s`.
    """
    if not engines and not fleets:
        return Text(NOBODY)
    blocks: list[RenderableType] = []
    for fleet in fleets:
        blocks += [fleet_head(fleet), members_table(fleet.members), Text("")]
    for engine in engines:
        rels = [_table(engine, now_s)] if engine.rels else []
        blocks += [_head(engine, now_s), *_budget(engine), *rels, Text("")]
    for gate in gates:
        if any(user.waiting for user in gate.users):
            blocks += [_gate_head(gate), _gate_table(gate), Text("")]
    return Group(*blocks[:-1])


def _head(engine: EngineStatus, now_s: float) -> Text:
    model = plain(called(engine.model), 80)
    head = Text.assemble(("engine ", "bold"), (str(engine.pid), "bold"), f"  {model}  {engine.variant}  ")
    if not engine.running + engine.waiting:
        return head.append("idle", "green")
    relqueries = "1 relQuery" if engine.num_rels == 1 else f"{engine.num_rels:,} relQueries"
    head.append(f"{relqueries}, {engine.running:,} requests running, {engine.waiting:,} waiting, ")
    head.append(f"KV cache {engine.kv_used:.0%} used")
    if engine.hidden or engine.switched:
        head.append(f", {engine.hidden:,} hidden, {engine.switched:,} switched")
    silent_s = now_s - engine.written_s
    if silent_s > STALE_S:
        head.append(f"  no news for {clock_text(silent_s)}: a long step, or stuck", "red")
    return head


def _budget(engine: EngineStatus) -> list[Text]:
    """What bounds its steps, where something does."""
    budget = engine.budget
    if budget is None or (not budget.limited and budget.tokens is None):
        return []
    return [Text(f"  {plain(budget.text, 200)}")]


def _table(engine: EngineStatus, now_s: float) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("relQuery", no_wrap=True)
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("phase", no_wrap=True)
    for name in ("priority", "left", "since arrival"):
        table.add_column(name, justify="right", no_wrap=True)
    passed_s = max(now_s - engine.written_s, 0.0)
    has_deadlines = any(rel.deadline_s is not None for rel in engine.rels)
    for name in ("deadline", "slack", "urgency") if has_deadlines else ():
        table.add_column(name, justify="right", no_wrap=True)
    for rel in engine.rels:
        table.add_row(*_cells(rel, passed_s), *(_to_deadline(rel, passed_s) if has_deadlines else ()))
    if engine.num_rels > len(engine.rels):
        table.add_row(Text(f"and {engine.num_rels - len(engine.rels):,} more", "dim"))
    return table


def _cells(rel: RelStatus, passed_s: float) -> list[Text]:
    rows = f"{rel.done:,}/{rel.rows:,}" + (f" ({rel.failed:,} aborted)" if rel.failed else "")
    priority = (
        ""
        if rel.priority is None
        else f"{rel.priority:,.2f}"
        if rel.priority < 1e4
        else f"{rel.priority:,.0f}"
    )
    left = "" if rel.left_s is None else clock_text(rel.left_s)
    cells = [plain(rel.rel_id, MAX_ID), rows, rel.phase, priority, left, clock_text(rel.age_s + passed_s)]
    return [Text(cell) for cell in cells]


def _to_deadline(rel: RelStatus, passed_s: float) -> list[Text]:
    """Time until the deadline, slack and urgency of a relQuery; nothing where it has none."""
    if rel.deadline_s is None:
        return [Text("")] * 3
    left_s = rel.deadline_s - passed_s
    ends = Text("missed", "red") if left_s < 0 else Text(clock_text(left_s))
    if rel.slack_s is None or rel.urgency_s is None:
        return [ends, Text(""), Text("")]
    slack_s, urgency_s = rel.slack_s - passed_s, rel.urgency_s + passed_s
    slack = Text(f"-{clock_text(-slack_s)}", "red") if slack_s < 0 else Text(clock_text(slack_s))
    return [ends, slack, Text(f"{urgency_s:,.1f}")]


def _gate_head(gate: GateStatus) -> Text:
    """The line above a gate's users."""
    running = sum(user.running for user in gate.users)
    waiting = sum(user.waiting for user in gate.users)
    places = "" if gate.places is None else f" of {gate.places:,}"
    head = Text.assemble(("admission ", "bold"), (str(gate.pid), "bold"))
    head.append(f"  {plain(called(gate.model), 80)}  {gate.policy}  {running:,}{places} requests running, ")
    return head.append(f"{waiting:,} waiting: {plain(gate.reason, 80)}")


def _gate_table(gate: GateStatus) -> Table:
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
