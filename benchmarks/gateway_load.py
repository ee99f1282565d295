"""OpenAI clients and 20 SQL clients on a server at 1.3 times its capacity: who is let in keeps its deadline.

`relserve serve --openai` with the embedded model. Capacity is what closed loops of both kinds get when
everybody is let in; then OpenAI requests come as a Poisson process beside 20 SQL clients, whose statements
of 5 rows are due as Poisson processes too, all with a deadline. Who is let in should keep it; the others
should be refused at once, with the time to wait (429 and Retry-After), or have NULL rows whose error says how
long they would have taken. The same for a fifth of the time with everybody let in.

Before that, while the server knows no deadlines, two users share the engine, first with 8 requests at once
each, then one of them with 500.

Clients take much of a core. To have them on one of their own, so that only the server's is overloaded:
`taskset -c 1 python -m benchmarks.gateway_load --client-core 0`.
"""

from __future__ import annotations

import json
import math
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from benchmarks.claims import Exact, Higher, Untold
from benchmarks.common import arguments, data_folder, finish, table
from benchmarks.gateway.clients import FAILED, IN_TIME, LATE, REFUSED, ClientReport, GatewayPlan, GatewayUser
from benchmarks.provenance import ROOT
from benchmarks.sql_server import SqlServer
from benchmarks.start_up import place_of_its_own
from relserve.server.users.keys import make_key
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier

ROOMS = ("relserve/gate", "relserve/policies/admission", "relserve/server", "relserve/engines")
HEADLINE = {
    "kept": Higher(by=0.15), "in_time": Higher(0.5), "share_kept": Higher(0.5), "refused_untold": Exact(0),
    "failed": Exact(0), "offered": Untold("what was asked"), "kept_off": Untold("with everybody let in"),
    "in_time_off": Untold("with everybody let in"), "share_kept_off": Untold("with everybody let in"),
}  # fmt: skip

WEB, SQL, GREEDY, MODEST = "web", "sql", "greedy", "modest"
PASSWORD = "benchmark"
SQL_CLIENTS, ROWS, SQL_SHARE = 20, 5, 0.3  # of the capacity, in rows
LOAD = 1.3
PART_S = 30.0
FEW, MANY = 8, 500  # requests of a user at once
LONG = 12
OURS, OFF = "ours", "off"
COLUMNS = ("admission", "client", "rows", IN_TIME, LATE, REFUSED, "without a time", FAILED, "p50 s", "p99 s")


class GatewaySeconds(NamedTuple):
    """How long, in seconds."""

    warm: float
    capacity: float
    load: float
    shares: float


class RunningGateway(NamedTuple):
    """A server that runs, and its users' keys."""

    plan: GatewayPlan
    keys: dict[str, str]

    def ask(self, seconds: float, *callers: GatewayUser) -> list[ClientReport]:
        """What clients in a process of their own were told."""
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            found = GatewayPlan(**{**self.plan.__dict__, "seconds": seconds, "callers": list(callers)})
            found.write(Path(file.name))
            command = [sys.executable, "-m", "benchmarks.gateway.clients", file.name]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
        said = ", ".join(f"{each.user} {each.rate or each.clients:g}" for each in callers)
        sys.stderr.write(f"{seconds:g} s of {said}\n")
        return [ClientReport(*each) for each in json.loads(done.stdout)]

    def openai(self, user: str, **more: Any) -> GatewayUser:
        """Of OpenAI's API."""
        return GatewayUser(user, key=self.keys[user], **more)

    def sql(self, **more: Any) -> GatewayUser:
        """The 20 of SQL."""
        return GatewayUser(SQL, password=PASSWORD, clients=SQL_CLIENTS, rows=ROWS, **more)


@contextmanager
def served(
    admission: str, texts: list[str], max_tokens: int, core: int | None = None, seed: int = 1
) -> Iterator[RunningGateway]:
    """A server with its users."""
    with (
        tempfile.TemporaryDirectory() as folder,
        place_of_its_own(RELSERVE_ENGINE="shared", RELSERVE_ADMISSION=admission) as environ,
    ):
        users, keys = Users(Path(folder) / "users.json"), {}
        for name in (WEB, SQL, GREEDY, MODEST):
            keys[name], key = make_key()
            users.put(User(name, make_verifier(PASSWORD), keys=(key,)))
        users.save()
        database = Path(folder) / "bench.duckdb"
        duckdb.connect(str(database)).close()
        port = free_port()
        more = ("--model", "tiny", "--users", str(users.path), "--openai", str(port))
        with SqlServer(database, environ, more) as server:
            url = f"http://127.0.0.1:{port}/v1"
            yield RunningGateway(
                GatewayPlan(server.port, url, database.stem, 0.0, max_tokens, texts, [], core, seed), keys
            )


def texts_of(long: float) -> list[str]:
    """Prompts, of which this share are `LONG` times as long as the others."""
    beer = data_folder() / "tables" / "beer.csv"
    query = f"SELECT left(\"review/text\", 300) FROM read_csv('{beer}') WHERE \"review/text\" <> '' LIMIT 500"
    texts = [text for (text,) in duckdb.sql(query).fetchall()]
    number = round(long * len(texts))
    return [*(" ".join(texts[i : i + LONG]) for i in range(number)), *texts[number:]]


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def rows(told: Sequence[ClientReport], user: str, *whats: str) -> int:
    """How many of a user's came to that."""
    return sum(each.rows for each in told if each.user == user and (not whats or each.what in whats))


def line(admission: str, user: str, told: Sequence[ClientReport]) -> list[Any]:
    """Of the table."""
    own = [each for each in told if each.user == user]
    took_s = sorted(each.took_s for each in own if each.what == IN_TIME) or [0.0]
    untold = sum(each.rows for each in own if each.what == REFUSED and not each.estimate)
    counts = [rows(own, user, what) for what in (IN_TIME, LATE, REFUSED)]
    quantiles = [statistics.median(took_s), took_s[int(0.99 * (len(took_s) - 1))]]
    return [admission, user, rows(own, user), *counts, untold, rows(own, user, FAILED), *quantiles]


def kept(told: Sequence[ClientReport]) -> float:
    """The share of those let in that kept their deadline."""
    counts = {what: sum(each.rows for each in told if each.what == what) for what in (IN_TIME, LATE)}
    return counts[IN_TIME] / max(sum(counts.values()), 1)


def over_time(told: Sequence[ClientReport], seconds: float) -> list[list[float]]:
    """Each half minute: when it ended, rows in time, late and refused; later ones are left out."""
    width = min(PART_S, seconds)
    ends = [width * (i + 1) for i in range(math.ceil(seconds / width))]
    parts = [[each for each in told if end - width <= each.at_s < end] for end in ends]
    return [
        [end, *[sum(t.rows for t in part if t.what == what) for what in (IN_TIME, LATE, REFUSED)]]
        for end, part in zip(ends, parts, strict=True)
    ]  # fmt: skip


class GatewayLoad(NamedTuple):
    """What is asked of a server: capacity in rows a second, and the deadline."""

    capacity: float
    deadline_s: float

    def put(self, place: RunningGateway, seconds: float) -> tuple[list[ClientReport], float]:
        """What came of it, and the load that it was."""
        web = place.openai(WEB, rate=(LOAD - SQL_SHARE) * self.capacity, deadline_s=self.deadline_s)
        every_s = SQL_CLIENTS * ROWS / (SQL_SHARE * self.capacity)
        told = place.ask(seconds, web, place.sql(every_s=every_s, deadline_s=self.deadline_s))
        return told, sum(each.rows for each in told) / seconds / self.capacity

    def in_time(self, told: Sequence[ClientReport], seconds: float) -> float:
        """Rows a second that were in time, over the capacity."""
        return sum(each.rows for each in told if each.what == IN_TIME) / seconds / self.capacity


def load_of(place: RunningGateway, sizes: GatewaySeconds, slo: float) -> GatewayLoad:
    """Measure a server that knows nothing yet."""
    both = (place.openai(WEB, clients=FEW), place.sql())
    place.ask(sizes.warm, *both)
    alone = place.ask(sizes.warm, place.openai(WEB))
    idle_s = statistics.median(each.took_s for each in alone)
    told = place.ask(sizes.capacity, *both)
    longest_s = max(each.took_s for each in told)
    return GatewayLoad(sum(each.rows for each in told) / (sizes.capacity + longest_s / 2), slo * idle_s)


def shares(place: RunningGateway, seconds: float) -> list[float]:
    """What the modest user gets a second beside the other one with few and with many requests."""
    modest, found = place.openai(MODEST, clients=FEW), []
    for clients in (FEW, MANY):
        told = place.ask(seconds, modest, place.openai(GREEDY, clients=clients))
        found.append(rows(told, MODEST, IN_TIME) / seconds)
    return found


def main() -> None:
    """Print the tables and the headline."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--slo", type=float, default=10.0, help="deadline over what one request takes alone")
    parser.add_argument("--client-core", type=int, help="of the clients' process; default: any")
    parser.add_argument("--max-tokens", type=int, default=64, help="of an answer")
    parser.add_argument("--long", type=float, default=0.0, help=f"share of prompts, {LONG} times as long")
    parser.add_argument("--seed", type=int, default=1, help="of arrivals and texts")
    args = parser.parse_args()
    sizes = GatewaySeconds(2, 4, 8, 4) if args.quick else GatewaySeconds(5, 20, 300, 30)
    texts = texts_of(args.long)
    lines, found = [], dict[str, dict[str, Any]]()
    with served(OFF, texts, args.max_tokens, args.client_core, args.seed) as place:
        load = load_of(place, sizes, args.slo)
        shared = shares(place, sizes.shares)
        told, _ = load.put(place, sizes.load / 5)
        lines += [line(OFF, user, told) for user in (WEB, SQL)]
        found[OFF] = {"kept": kept(told), "in_time": load.in_time(told, sizes.load / 5), "shares": shared}
    with served(OURS, texts, args.max_tokens, args.client_core, args.seed) as place:
        load_of(place, sizes, args.slo)  # it learns what the other one had learnt
        shared = shares(place, sizes.shares)
        told, offered = load.put(place, sizes.load)
        lines += [line(OURS, user, told) for user in (WEB, SQL)]
        found[OURS] = {"kept": kept(told), "in_time": load.in_time(told, sizes.load), "shares": shared}
    print(f"{load.capacity:.1f} rows/s; deadline {load.deadline_s:.2f} s; offered {offered:.2f} times that")
    print(table(COLUMNS, lines))
    notes = sorted({each.note for each in told if each.what == FAILED})
    print("\n".join(notes[:5]))
    each = {name: one["shares"] for name, one in found.items()}
    pairs = [[name, *two] for name, two in each.items()]
    print(table(["admission", f"modest, rows/s beside {FEW}", f"beside {MANY}"], pairs))
    untold = sum(each.rows for each in told if each.what == REFUSED and not each.estimate)
    headline = {
        "kept": round(found[OURS]["kept"], 4), "kept_off": round(found[OFF]["kept"], 4),
        "in_time": round(found[OURS]["in_time"], 3), "in_time_off": round(found[OFF]["in_time"], 3),
        "offered": round(offered, 2), "refused_untold": untold,
        "failed": sum(each.rows for each in told if each.what == FAILED),
        "share_kept": round(each[OURS][1] / each[OURS][0], 3),
        "share_kept_off": round(each[OFF][1] / each[OFF][0], 3),
    }  # fmt: skip
    parts = over_time(told, sizes.load)
    print(table(["until, s", IN_TIME, LATE, REFUSED], parts))
    details = {
        "lines": [COLUMNS, *lines], "load": load._asdict(), "found": found, "settings": vars(args),
        "over_time": parts,
    }  # fmt: skip
    finish("gateway_load", headline, details, args.quick, partial(draw, told, load.deadline_s))


def draw(told: Sequence[ClientReport], deadline_s: float, path: Path) -> None:
    """How long those let in took."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 4))
    for user in (WEB, SQL):
        took_s = [each.took_s for each in told if each.user == user and each.what in (IN_TIME, LATE)]
        axis.hist(took_s, bins=60, alpha=0.6, label=user)
    axis.axvline(deadline_s, color="black", label="deadline")
    axis.set(xlabel="s", ylabel="answers")
    axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
