"""Chats on a `vllm serve` keep their time to first token while a 10,000-row relQuery runs there.

200 chats, streamed, come as a Poisson process of 10 a second: beside a relQuery that an SQL client sends over
HTTP, and on the idle server before and after. The relQuery is also timed alone. The same on a server with
relserve's scheduler and on stock vLLM, in one invocation; the prefix cache is emptied before each part.
Server and clients share this machine's cores; the SQL client, which is elsewhere in truth, yields to them.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.served import ServedProcess
from lab.simulator.workload import poisson_arrivals

ROOMS = ("relserve/vllm_plugin", "relserve/policies/scheduling", "relserve/engines/http")
HEADLINE = {
    "ttft_p50_ratio": Lower(0.6), "ttft_p99_ratio": Lower(2), "relquery_slowdown": Lower(0.2),
    "stock_ttft_p50_ratio": Untold("in full runs"), "stock_ttft_p99_ratio": Untold("in full runs"),
    "stock_relquery_slowdown": Untold("in full runs"),
}  # fmt: skip

SIDES = {"relserve": True, "stock": False}
RATE = 10.0  # chats a second
HEAD_START_S = 2.0
WARM_UP = {"rows": 300, "chats": 20}
COLUMNS = ("server", "chats", "number", "p50, ms", "p90, ms", "p99, ms", "most, ms", "relQuery, s")


class ChatSizes(NamedTuple):
    """How much is asked of each server."""

    rows: int
    chats: int


class ChatClientProcess:
    """A client in a process of its own; see `chat_client`."""

    def __init__(self, kind: str, url: str) -> None:
        command = [sys.executable, "-m", "benchmarks.chat_client", kind, url]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, **command: Any) -> None:
        """Have it do something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def result(self) -> dict[str, Any]:
        """What came of it, once it is done."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client ended with {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, **command: Any) -> dict[str, Any]:
        """Have it do something, and wait."""
        self.begin(**command)
        return self.result()

    def __enter__(self) -> ChatClientProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        assert self._process.stdin is not None
        if kind is not None:
            self._process.kill()
        self._process.stdin.close()
        self._process.wait()


class ChatLatencies(NamedTuple):
    """One server: milliseconds to first tokens, and seconds of the relQuery."""

    idle_ms: np.ndarray
    beside_ms: np.ndarray
    alone_s: float
    beside_s: float

    def ratio(self, percent: float) -> float:
        """How much longer the first token takes beside the relQuery."""
        return float(np.percentile(self.beside_ms, percent) / np.percentile(self.idle_ms, percent))

    @property
    def slowdown(self) -> float:
        """How much longer the relQuery takes beside the chats."""
        return self.beside_s / self.alone_s


def first_token_ms(chats: dict[str, Any]) -> np.ndarray:
    """Milliseconds to each first token."""
    return 1e3 * (np.array(chats["first_s"]) - np.array(chats["sent_s"]))


def measure(is_ours: bool, sizes: ChatSizes) -> ChatLatencies:
    """Start a server and measure it."""
    at_s = poisson_arrivals(RATE, sizes.chats, random.Random(7))
    with (
        ServedProcess(is_ours) as server,
        ChatClientProcess("chats", server.url) as chats,
        ChatClientProcess("sql", server.url) as sql,
    ):
        chats.ask(at_s=at_s[: WARM_UP["chats"]])
        sql.ask(rows=WARM_UP["rows"])
        server.forget_prefixes()
        alone_s = sql.ask(rows=sizes.rows)["took_s"]
        idle = [_idle(server, chats, at_s)]
        beside_ms, beside_s = _beside(server, chats, sql, at_s, sizes.rows)
        idle.append(_idle(server, chats, at_s))
    return ChatLatencies(np.concatenate(idle), beside_ms, alone_s, beside_s)


def _idle(server: ServedProcess, chats: ChatClientProcess, at_s: Sequence[float]) -> np.ndarray:
    server.forget_prefixes()
    return first_token_ms(chats.ask(at_s=at_s))


def _beside(
    server: ServedProcess, chats: ChatClientProcess, sql: ChatClientProcess, at_s: Sequence[float], rows: int
) -> tuple[np.ndarray, float]:
    server.forget_prefixes()
    began_s = time.perf_counter()
    sql.begin(rows=rows)
    time.sleep(HEAD_START_S)
    told = chats.ask(at_s=at_s)
    took_s = sql.result()["took_s"]
    inside = np.array(told["sent_s"]) < began_s + took_s
    if np.count_nonzero(inside) < len(at_s) / 2:
        raise RuntimeError("the relQuery ended before half of the chats were sent; give it more rows")
    return first_token_ms(told)[inside], took_s


def row(side: str, kind: str, first_ms: np.ndarray, relquery_s: float | None) -> list[Any]:
    """A line of the table."""
    percentiles = np.percentile(first_ms, [50, 90, 99, 100]).tolist()
    return [side, kind, len(first_ms), *percentiles, relquery_s]


def headline(found: dict[str, ChatLatencies]) -> dict[str, float]:
    """What is claimed, and the same of stock vLLM."""
    keys = {}
    for side, of in found.items():
        prefix = "" if side == "relserve" else f"{side}_"
        keys[f"{prefix}ttft_p50_ratio"] = round(of.ratio(50), 2)
        keys[f"{prefix}ttft_p99_ratio"] = round(of.ratio(99), 2)
        keys[f"{prefix}relquery_slowdown"] = round(of.slowdown, 3)
    return keys


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    sizes = ChatSizes(1_000, 30) if args.quick else ChatSizes(10_000, 200)
    sides = {"relserve": True} if args.quick else SIDES
    found = {side: measure(is_ours, sizes) for side, is_ours in sides.items()}
    rows = []
    for side, of in found.items():
        rows.append(row(side, "idle", of.idle_ms, None))
        rows.append([side, "none", 0, *[None] * 4, of.alone_s])
        rows.append(row(side, "beside", of.beside_ms, of.beside_s))
    print(table(COLUMNS, rows))
    finish(
        "chat_beside", headline(found), [dict(zip(COLUMNS, each, strict=True)) for each in rows], args.quick
    )


if __name__ == "__main__":
    main()
