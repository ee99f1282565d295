"""What real BI clients see of `relserve serve`, check by check beside a real PostgreSQL 15 with equal tables.

Each client is a small program under tests/clients/bi/programs: it runs named checks against the server that
the environment names. Equal answers pass; `answers/differences.py` beside them lists the only differences
that are meant to be. The llm calls, which PostgreSQL has not, are compared with the same statement through
`relserve.connect` (`answers/llm_calls.py`).
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.claims import Exact, Untold
from benchmarks.common import arguments, finish, table
from tests.clients.bi.answers import llm_calls
from tests.clients.bi.answers.compare import GOOD, Outcome, Verdict, compare
from tests.clients.bi.sides import runs
from tests.clients.bi.sides.clients import CLIENTS, LLM_CLIENTS, Client
from tests.clients.bi.sides.install import install, lacking
from tests.clients.bi.sides.servers import Server, postgres, relserve

ROOMS = ("relserve/server", "duckdb_ext/relserve_duckdb")
HEADLINE = {
    "checks": Untold("a size"), "passed": Untold("the exit status holds its share"), "hung": Exact(0),
    "wrong": Exact(0),
}  # fmt: skip
NEEDS = {
    "/usr/lib/postgresql/15/bin/postgres": "Debian's postgresql-15",
    "build/bi/venv": "the clients, which `python -m benchmarks.bi_clients` installs",
}  # fmt: skip

QUICK = ("psycopg", "psycopg llm")
LEAST_PASSED = 0.98


def main() -> None:
    """Print what did not pass, client x verdict, and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--client", action="append", help="only this one (may be repeated); nothing is saved")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # not without ending the servers
    install()
    names = args.client or (QUICK if args.quick else [client.name for client in CLIENTS + LLM_CLIENTS])
    chosen = [client for client in CLIENTS + LLM_CLIENTS if client.name in names]
    missing = {client.name: lacking(client.packages) for client in chosen if lacking(client.packages)}
    outcomes = _run([client for client in chosen if client.name not in missing])
    print(table(["client", "checks", *(verdict.value for verdict in Verdict)], _counts(outcomes)))
    for name, packages in missing.items():
        print(f"not run: {name}, for which apt-get install {' '.join(packages)}")
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    headline = {
        "checks": len(outcomes), "passed": sum(verdicts[verdict] for verdict in GOOD),
        "hung": verdicts[Verdict.HUNG], "wrong": verdicts[Verdict.WRONG],
    }  # fmt: skip
    details = {"not_run": missing, "outcomes": [outcome._asdict() for outcome in outcomes]}
    finish("bi_clients", headline, details, args.quick or bool(args.client))
    is_good = headline["passed"] >= LEAST_PASSED * len(outcomes) and not headline["hung"] + headline["wrong"]
    sys.exit(0 if is_good else 1)


def _run(chosen: Sequence[Client]) -> list[Outcome]:
    with postgres() as theirs, relserve() as ours:
        return [outcome for client in chosen for outcome in _shown(_outcomes(client, ours, theirs))]


def _outcomes(client: Client, ours: Server, theirs: Server) -> list[Outcome]:
    print(f"{client.name} ..", file=sys.stderr)
    if client in LLM_CLIENTS:
        return llm_calls.outcomes(client, ours)
    expected, told = runs.run(client, theirs), runs.run(client, ours)
    return [compare(client.name, check, told.get(check), answer) for check, answer in expected.items()]


def _shown(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """The outcomes; those that are not good are printed, from a little before the place where they part."""
    for outcome in outcomes:
        if outcome.verdict not in GOOD:
            print(f"{outcome.verdict.value}: {outcome.client}, {outcome.check}")
            pairs = enumerate(zip(outcome.ours, outcome.theirs, strict=False))
            parted = next((i for i, (a, b) in pairs if a != b), min(len(outcome.ours), len(outcome.theirs)))
            begin = max(0, parted - 60)
            print(f"    ours   {outcome.ours[begin : begin + 240]!r}")
            print(f"    theirs {outcome.theirs[begin : begin + 240]!r}", flush=True)
        yield outcome


def _counts(outcomes: Sequence[Outcome]) -> list[list[str | int]]:
    counts: dict[str, Counter[Verdict]] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.client, Counter())[outcome.verdict] += 1
    return [
        [name, sum(found.values()), *(found[verdict] for verdict in Verdict)]
        for name, found in counts.items()
    ]


if __name__ == "__main__":
    main()
