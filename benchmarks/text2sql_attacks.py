"""Hostile SQL and obedient models against text2sql(): what is written, what is read outside, what ends late.

Every text goes through the guard as generated SQL does; injections go through the whole pipeline, with a
model that does what it reads. After each, rows, catalog, files and settings are compared with those before,
and what was shown is searched for planted secrets.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.attacks.changes import WRITES
from benchmarks.attacks.hogs import HOGS
from benchmarks.attacks.house import AttackedDatabase
from benchmarks.attacks.injected import Injection
from benchmarks.attacks.judge import AttackJudge, AttackOutcome
from benchmarks.attacks.outside import READS
from benchmarks.claims import Exact, Untold
from benchmarks.common import arguments, finish, table
from relserve.text2sql.guard.connection import GuardedConnection
from relserve.text2sql.guard.limits import StatementLimits

ROOMS = ("relserve/text2sql",)
HEADLINE = {"cases": Untold("a size"), "escaped": Exact(0)}

LIMITS, QUICK_LIMITS = StatementLimits(seconds=2.0), StatementLimits(seconds=0.5)
PIPELINE_S = 30.0  # of some candidates, each within its own limits


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", help="attacks whose kind holds this; nothing is saved")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="relserve-attacks-") as folder,
        AttackedDatabase(Path(folder)) as house,
    ):
        outcomes = _outcomes(house, args.quick, args.only or "")
    rows = [
        [o.name, o.cases, len(o.escaped), round(o.longest_s, 2), round(o.most_mb), _told(o)] for o in outcomes
    ]
    print(table(["attack", "cases", "escaped", "longest s", "most MB", "ended"], rows))
    for outcome in outcomes:
        for escaped in outcome.escaped:
            print(f"  {outcome.name}: {escaped}")
    headline = {
        "cases": sum(o.cases for o in outcomes),
        "escaped": sum(len(o.escaped) for o in outcomes),
    }
    finish("text2sql_attacks", headline, [vars(o) for o in outcomes], args.quick or bool(args.only))
    sys.exit(1 if headline["escaped"] else 0)


def _outcomes(house: AttackedDatabase, quick: bool, only: str) -> list[AttackOutcome]:
    limits, share = (QUICK_LIMITS, 8) if quick else (LIMITS, 1)
    guarded = GuardedConnection(house.con.cursor(), limits, house.schema)
    judge = AttackJudge(house, limits.seconds)
    kinds: dict[str, Callable[[str], AttackOutcome]] = {
        "reads": lambda name: judge.judge(name, [(text, text) for text in READS[::share]], guarded.rows),
        "bound": lambda name: judge.judge(name, [(text, text) for text in READS[::share]], guarded.explain),
        "changes": lambda name: judge.judge(name, [(text, text) for text in WRITES[::share]], guarded.rows),
        "hogs": lambda name: judge.judge(name, list(HOGS.items())[::share], guarded.rows, may_run=True),
        "injections": lambda name: _injections(name, house, share),
    }
    outcomes = []
    for name, attack in kinds.items():
        if only in name:
            print(f"{name} ..", file=sys.stderr)
            outcomes.append(attack(name))
    return outcomes


def _injections(name: str, house: AttackedDatabase, share: int) -> AttackOutcome:
    """One by one, for each changes the database before it is made."""
    judge, whole = AttackJudge(house, PIPELINE_S), AttackOutcome(name)
    for injection in list(Injection.all())[::share]:
        schema = injection.plant(house)
        whole.add(
            judge.judge(
                injection.place,
                [(f"{injection.place}: {injection.order}", injection.order)],
                lambda _, injection=injection, schema=schema: injection.ask(house, schema),
            )
        )
    return whole


def _told(outcome: AttackOutcome) -> str:
    return ", ".join(f"{ended} {count}" for ended, count in outcome.ended.most_common())


if __name__ == "__main__":
    main()
