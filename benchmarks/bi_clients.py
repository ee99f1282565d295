"""What real BI clients see of `relserve serve`, check by check beside a real PostgreSQL 15 with the same tables.

Each client is a small program under benchmarks/bi/programs: it runs named checks against the server that the
environment names. Equal answers pass; `bi/answers/differences.py` lists the only differences that are meant to be. The llm calls,
which PostgreSQL has not, are compared with the same statement through `relserve.connect` (`bi/answers/llm_calls.py`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from benchmarks.bi.answers import llm_calls
from benchmarks.bi.answers.compare import Outcome, Verdict, compare
from benchmarks.bi.sides import runs
from benchmarks.bi.sides.clients import CLIENTS, Client
from benchmarks.bi.sides.install import install, lacking
from benchmarks.bi.sides.servers import Server, postgres, relserve
from benchmarks.common import arguments, finish, table

QUICK = ("psql", "psycopg")


def main() -> None:
    """Print client x verdict, what did not pass, and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--client", action="append", help="only this one (may be repeated); nothing is saved")
    parser.add_argument("--show", action="store_true", help="also what was told where a check did not pass")
    args = parser.parse_args()
    install()
    wanted = args.client or (QUICK if args.quick else [client.name for client in CLIENTS])
    chosen = [client for client in CLIENTS if client.name in wanted]
    missing = {client.name: lacking(client.packages) for client in chosen if lacking(client.packages)}
    outcomes = _all_outcomes([client for client in chosen if client.name not in missing])
    _print(outcomes, missing, args.show)
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    headline = {
        "checks": len(outcomes),
        "passed": verdicts[Verdict.PASSED] + verdicts[Verdict.DECLARED],
        "hung": verdicts[Verdict.HUNG],
        "wrong": verdicts[Verdict.WRONG],
    }
    details = {"not run": missing, "outcomes": [outcome._asdict() for outcome in outcomes]}
    finish("bi_clients", headline, details, args.quick or bool(args.client))
    sys.exit(
        0
        if headline["passed"] >= 0.98 * len(outcomes) and not verdicts[Verdict.HUNG] + verdicts[Verdict.WRONG]
        else 1
    )


def _all_outcomes(chosen: Sequence[Client]) -> list[Outcome]:
    with postgres() as theirs, relserve() as ours:
        outcomes = [outcome for client in chosen for outcome in _outcomes(client, ours, theirs)]
        return outcomes + llm_calls.outcomes(ours, [client.name for client in chosen])


def _outcomes(client: Client, ours: Server, theirs: Server) -> list[Outcome]:
    print(f"{client.name} ..", file=sys.stderr)
    expected = runs.run(client, theirs)
    told = runs.run(client, ours)
    return [compare(client.name, check, told.get(check), answer) for check, answer in expected.items()]


def _print(outcomes: Sequence[Outcome], missing: dict[str, list[str]], show: bool) -> None:
    for outcome in outcomes:
        if outcome.verdict not in (Verdict.PASSED, Verdict.DECLARED):
            print(f"{outcome.verdict.value}: {outcome.client}, {outcome.check}")
            if show:
                print("\n".join(_around_the_difference(outcome)))
    counts = {
        name: Counter(o.verdict for o in outcomes if o.client == name)
        for name in dict.fromkeys(o.client for o in outcomes)
    }
    rows = [
        [name, sum(found.values()), *(found[verdict] for verdict in Verdict)]
        for name, found in counts.items()
    ]
    rows += [
        [f"{name}: not run, apt-get install {' '.join(packages)}", *([None] * 6)]
        for name, packages in missing.items()
    ]
    print(table(["client", "checks", *(verdict.value for verdict in Verdict)], rows))


def _around_the_difference(outcome: Outcome) -> list[str]:
    """Both answers from a little before the place where they part."""
    pairs = zip(outcome.ours, outcome.theirs, strict=False)
    start = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(outcome.ours), len(outcome.theirs)))
    begin = max(0, start - 60)
    return [f"    ours   {outcome.ours[begin:begin + 240]}", f"    theirs {outcome.theirs[begin:begin + 240]}"]


if __name__ == "__main__":
    main()
