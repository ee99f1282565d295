"""Hostile clients and kill -9 against `relserve serve`: what crashes, what hangs, what of another's is seen.

A real server with TLS and passwords. While each attack runs, another user's short statements run beside it;
every answer is looked at, and how long the slowest took is in the table. The texts of `generated` are looked
at from the admin's side, too: has anything been done that no plain user may do?
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from benchmarks.claims import Exact, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.hostile import deaths, garbage, generated, sockets, statements, strangers
from benchmarks.hostile.eye import Eye
from benchmarks.hostile.house import AttackedServer, watched
from benchmarks.hostile.outcome import PATIENCE_S, HostileOutcome

ROOMS = ("relserve/server",)
HEADLINE = {
    "cases": Untold("a size"), "crashed": Exact(0), "hung": Exact(0), "leaked": Exact(0), "escaped": Exact(0),
    "other_user_s": Untold("the longest of thousands of waits, on a machine that others use"),
}  # fmt: skip

BAD = ("crashed", "hung", "leaked", "escaped")  # counts of an outcome that must be 0
AIM_S = 1.0  # that another user's statement may wait
Attack = Callable[[AttackedServer], HostileOutcome]
Generated = Callable[[AttackedServer, Eye], HostileOutcome]


def attacks(quick: bool) -> Sequence[Attack]:
    """In their order; a quick run has fewer cases of each."""
    share = 20 if quick else 1
    return (
        partial(garbage.before_login, count=3000 // share, seed=1),
        partial(garbage.after_login, count=6000 // share, seed=2),
        partial(garbage.lengths, count=1000 // share, seed=3),
        partial(sockets.half_open, count=200 // share, waits=not quick),
        partial(sockets.slow_readers, count=4, seconds=3 if quick else 20),
        partial(sockets.passwords, threads=8, tries=2 if quick else 25),
        statements.refused,
        statements.looks_around,
        *(() if quick else (sockets.big_strings, partial(statements.hogs, timeout_s=10))),
        deaths.client,
    )


def generated_attacks(share: int) -> Sequence[Generated]:
    """Those that are generated, in their order; so few of their cases that a share of this many are left."""
    return (
        partial(generated.made_up, count=12_000 // share, seed=11),
        partial(generated.unicode, count=6_000 // share, seed=12),
        partial(generated.growing, count=1_500 // share, seed=13),
        partial(generated.names, count=3_000 // share, seed=14),
        partial(generated.columns, count=3_000 // share, seed=15),
        partial(strangers.names, count=500 // share, seed=16),
    )


def main() -> None:
    """Print the table and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", help="attacks whose name holds this; nothing is saved")
    args = parser.parse_args()
    outcomes = []
    if not args.quick and (args.only or "engine") in "deaths.engine":
        with tempfile.TemporaryDirectory(prefix="relserve-hostile-") as folder:
            outcomes.append(_on_vllm(Path(folder)))
    with tempfile.TemporaryDirectory(prefix="relserve-hostile-") as folder:
        outcomes += _on_scripted(Path(folder), args.quick, args.only)
    rows = [[o.name, o.cases, *(getattr(o, each) for each in BAD), round(o.longest_s, 3)] for o in outcomes]
    print(table(["attack", "cases", *BAD, "longest wait of another"], rows))
    for outcome in outcomes:
        for said in outcome.said:
            print(f"  {outcome.name}: {said}")
    headline = {"cases": sum(o.cases for o in outcomes)}
    headline |= {each: sum(getattr(o, each) for o in outcomes) for each in BAD}
    other_user_s = round(max(o.longest_s for o in outcomes), 3)
    print(f"another user's statement waited {other_user_s} s at most; the aim is {AIM_S:.0f} s")
    details = [asdict(o) for o in outcomes]
    finish(
        "server_hostile", {**headline, "other_user_s": other_user_s}, details, args.quick or bool(args.only)
    )
    sys.exit(1 if any(headline[each] for each in BAD) else 0)


def _on_scripted(folder: Path, quick: bool, only: str | None) -> list[HostileOutcome]:
    house = AttackedServer(folder)
    house.start()
    try:
        with house.connect("root") as con:
            con.execute("CREATE TABLE copied (a INT, b INT)")
        outcomes = []
        for attack in attacks(quick):
            if only is None or only in _name(attack):
                outcomes.append(_watched(house, attack))
        outcomes += _on_generated(house, quick, only)
        if only is None or only in "deaths.server":
            outcomes.append(deaths.server(house, 2 if quick else 10, 4))
        outcomes.append(_orderly_end(house))
        return outcomes
    finally:
        if house.is_up:
            house.kill()


def _on_generated(house: AttackedServer, quick: bool, only: str | None) -> list[HostileOutcome]:
    wanted = [each for each in generated_attacks(20 if quick else 1) if only is None or only in _name(each)]
    if not wanted:
        return []
    eye = Eye(house)
    outcomes = [_watched(house, partial(each, eye=eye)) for each in wanted]
    eye.found()  # which leaves the tables as they were
    return outcomes


def _on_vllm(folder: Path) -> HostileOutcome:
    house = AttackedServer(folder, model="tiny")
    house.start()
    try:
        return _watched(house, deaths.engine)
    finally:
        house.stop()
        house.end_engines()


def _watched(house: AttackedServer, attack: Attack) -> HostileOutcome:
    """The attack, with a bystander at work; a server that it ended is started again for the next."""
    print(f"{_name(attack)} ..", file=sys.stderr)
    began = time.monotonic()
    with watched(house) as bystander:
        outcome = attack(house)
    outcome.longest_s = max(outcome.longest_s, bystander.longest_s)
    for wrong in bystander.wrong:
        outcome.tell("crashed", f"a bystander: {wrong}")
    if bystander.longest_s > PATIENCE_S:
        outcome.tell("hung", f"a bystander's SELECT waited {bystander.longest_s:.1f} s")
    if not house.is_up:
        outcome.tell("crashed", f"the server ended:\n{house.log.read_text(errors='replace')[-500:]}")
        house.start()
    print(f"  {time.monotonic() - began:.1f} s, {bystander.count} statements beside it", file=sys.stderr)
    return outcome


def _orderly_end(house: AttackedServer) -> HostileOutcome:
    """The server ends when told to, after all of that, and the database opens again."""
    outcome = HostileOutcome("the end", 1)
    if house.stop() != 0:
        outcome.tell("hung", "the server did not end in order")
    house.start()
    with house.connect("ann") as con:
        if con.execute("SELECT count(*) FROM copied").fetchone() != (0,):
            outcome.tell("leaked", "the table that was attacked has changed")
    house.stop()
    return outcome


def _name(attack: Callable[..., HostileOutcome]) -> str:
    function = attack.func if isinstance(attack, partial) else attack
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


if __name__ == "__main__":
    main()
