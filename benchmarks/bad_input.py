"""Bad input and faults: each case and what the user sees, on the embedded model and a real engine.

Writes docs/bad_input.md on a full run. A case fails the benchmark when what is seen lacks its key words.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from benchmarks.claims import Exact, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.provenance import BAD_INPUT_PAGE
from relserve import api
from relserve.api import Connection, connect
from relserve.engines import registry
from relserve.errors import RelserveError
from relserve.settings import load

ROOMS = (
    "duckdb_ext/relserve_duckdb", "relserve/session", "relserve/call", "relserve/engines",
    "relserve/errors.py",
)  # fmt: skip
HEADLINE = {
    "cases": Untold("a size"), "not_as_said": Exact([]),
    "slowest_s": Untold("the start of an engine, see start_up"),
}  # fmt: skip

MAX_SHOWN, MAX_IN_TABLE = 600, 80  # characters
LEAD = """# Bad input and faults: what you see

Each row has a mistake or a fault, and what the user sees.
`.venv/bin/python -m benchmarks.bad_input` made each of them with the model `tiny` and wrote this page.

| case | what was done | what the user sees |
|---|---|---|
"""


class BadInputCase(NamedTuple):
    """One case: how it is done in words or SQL, the doing, and words that must be seen."""

    name: str
    done: str
    run: Callable[[Connection], Any]
    key: str


def sql(name: str, text: str, key: str) -> BadInputCase:
    """A case that is one statement."""
    return BadInputCase(name, f"`{text}`", lambda con: con.execute(text).fetchall(), key)


def with_error_table(text: str) -> Callable[[Connection], Any]:
    """Run a statement and show its rows with the newest recorded error."""

    def run(con: Connection) -> str:
        rows = con.execute(text).fetchall()
        kind, message = con.execute("SELECT kind, message FROM llm_errors()").fetchall()[-1]
        return f"{rows}, and in llm_errors(): {kind}, {message}"

    return run


def killed_engine(con: Connection) -> str:
    """kill -9 of the engine in the middle of a query."""
    engine: Any = api.find_engine("tiny")
    threading.Timer(0.7, lambda: os.kill(engine.pid, signal.SIGKILL)).start()
    query = "SELECT count(llm_filter('Is {} good? ' || repeat('really ', 60), i)) FROM range(3000) t(i)"
    return (
        f'{con.execute(query).fetchall()} after "engine for tiny died (killed by SIGKILL) .. starting engine"'
    )


def two_threads(con: Connection) -> str:
    """Two threads execute on one connection, then both read."""
    said: list[str] = []
    meet = threading.Barrier(2)

    def ask(k: int) -> None:
        result = con.execute(f"SELECT llm_filter('Is {{}} good?', i) FROM range({k}, {k} + 50) t(i)")
        meet.wait()
        try:
            said.append(f"one thread has its {len(result.fetchall())} answers")
        except duckdb.Error as error:
            said.append(f"the other {type(error).__name__}: {error}")

    threads = [threading.Thread(target=ask, args=(k,)) for k in (0, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return "; ".join(sorted(said))


def port_taken(con: Connection) -> Any:
    """A URL at which something listens that is no LLM server."""
    with _silly_server() as port:
        return con.execute(f"SELECT llm('hi {{}}', 1, model := 'http://127.0.0.1:{port}/v1')").fetchall()


@contextlib.contextmanager
def _silly_server() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client, contextlib.suppress(OSError):
                        client.recv(65536)
                        client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope")

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def no_disk(con: Connection) -> str:
    """The cache folder cannot be written."""
    import io

    blocked = Path("/dev/full/relserve")
    before, os.environ["RELSERVE_CACHE_DIR"] = os.environ.get("RELSERVE_CACHE_DIR"), str(blocked)
    try:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            registry._log_path("tiny", load())
        rows = con.execute("SELECT llm_filter('Is {} good?', 'sugar')").fetchall()
        return f'"{said.getvalue().strip()}", and the query answers: {rows}'
    finally:
        os.environ.pop("RELSERVE_CACHE_DIR")
        if before is not None:
            os.environ["RELSERVE_CACHE_DIR"] = before


LONG = "SELECT llm('Sum up: {}', repeat('beer ', 20000))"
MEGABYTE = "SELECT llm_filter('Good? {}', repeat('x', 1000000))"
CASES = [
    sql("unknown placeholder", "SELECT llm('Rate {review} by {author}', 'fine')", "{author} has no argument"),
    sql(
        "placeholder that the row lacks",
        "SELECT llm('Rate {reviw}', t) FROM (SELECT 'x' AS review) t",
        "The row has: review",
    ),
    sql("unused argument", "SELECT llm('Rate {}', 'fine', 'left over')", "argument 2 has no placeholder"),
    sql("unclosed brace", "SELECT llm('Rate {review', 'fine')", "'{' is never closed"),
    sql(
        "ninth positional argument",
        "SELECT llm('{}{}{}{}{}{}{}{}{}', 1, 2, 3, 4, 5, 6, 7, 8, 9)",
        "at most 8",
    ),
    sql("unknown option", "SELECT llm('Rate {}', 'fine', max_token := 5)", "max_tokens"),
    sql("option of the wrong type", "SELECT llm('Rate {}', 'fine', max_tokens := 'five')", "whole number"),
    sql(
        "thinking with a model that cannot think",
        "SELECT llm('Rate {}', 'fine', thinking := 'low', model := 'tiny')",
        "cannot be asked to think",
    ),
    sql("choices empty", "SELECT llm_classify('Mood of {}', 'fine', choices := [])", "not empty"),
    sql(
        "choices duplicated",
        "SELECT llm_classify('Mood of {}', 'fine', choices := ['a', 'a'])",
        "more than once",
    ),
    sql("choices missing", "SELECT llm_classify('Mood of {}', 'fine')", "needs choices"),
    sql(
        "llm_probs with one choice",
        "SELECT llm_probs('Mood? {}', 'fine', choices := ['a'])",
        "two choices",
    ),
    sql(
        "llm_probs with 300 choices",
        "SELECT llm_probs('Which? {}', 'x', choices := range(300)::VARCHAR[])",
        "at most 255",
    ),
    sql(
        "threshold out of range",
        "SELECT llm_tags('About? {}', 'x', choices := ['a'], threshold := 2)",
        "from 0 to 1",
    ),
    sql("unknown model path", "SELECT llm('Rate {}', 'fine', model := './no/such/folder')", "no model"),
    sql("a model's name at a host", "SELECT llm('Rate {}', 'fine', model := 'gpt-4o')", "Did you mean"),
    BadInputCase("prompt longer than the context", f"`{LONG}`", with_error_table(LONG), "over_context"),
    BadInputCase(
        "prompt longer than the context, on_error := 'raise'",
        "`.., on_error := 'raise'`",
        lambda con: con.execute(LONG[:-1] + ", on_error := 'raise')").fetchall(),
        "context holds",
    ),
    sql("empty string", "SELECT llm_filter('Is it good? {}', '')", "[("),
    sql("NULL", "SELECT llm_filter('Is it good? {}', NULL)", "[(None,)]"),
    sql("emoji", "SELECT llm_filter('Is it good? {}', '\U0001f600\U0001f44d')", "[("),
    BadInputCase(
        "half a character",
        "a parameter that is half a character, '\\ud83d'",
        lambda con: con.execute("SELECT llm_filter('Good? {}', ?)", ["\ud83d"]).fetchall(),
        "urrogate",
    ),
    BadInputCase("1 MB cell", f"`{MEGABYTE}`", with_error_table(MEGABYTE), "over_context"),
    sql("zero rows", "SELECT llm('Rate {}', i) FROM range(0) t(i)", "[]"),
    BadInputCase("engine killed with SIGKILL", "kill -9 in the middle of 3,000 rows", killed_engine, "3000"),
    BadInputCase(
        "two threads on one connection",
        "both execute a query of 50 rows, then read",
        two_threads,
        "50 answers; the other",
    ),
    BadInputCase("URL of another program", "a URL where no LLM server listens", port_taken, "404"),
    BadInputCase(
        "no disk space for the cache folder", "RELSERVE_CACHE_DIR is not writable", no_disk, "cache folder"
    ),
]


def seen(case: BadInputCase, con: Connection) -> str:
    """What a user sees: the rows, or the error's type and message."""
    try:
        return str(case.run(con))
    except (RelserveError, duckdb.Error) as error:
        return f"{type(error).__name__}: {error}"


class BadInputOutcome(NamedTuple):
    """What became of a case: the text that the user sees, and the seconds until then."""

    case: BadInputCase
    text: str
    seconds: float

    @property
    def is_as_said(self) -> bool:
        return self.case.key in self.text

    @property
    def shown(self) -> str:
        """The text, cut where it is long."""
        return self.text if len(self.text) < MAX_SHOWN else self.text[:MAX_SHOWN] + " ..."

    @property
    def table_line(self) -> list[Any]:
        first_line = self.text.partition("\n")[0]
        return [self.case.name, "yes" if self.is_as_said else "NO", self.seconds, first_line[:MAX_IN_TABLE]]

    @property
    def page_line(self) -> str:
        cell = self.shown.replace("|", "\\|").replace("\n", "<br>").replace("  ", "&nbsp;&nbsp;")
        return f"| {self.case.name} | {self.case.done.replace('|', '&#124;')} | {cell} |\n"


def outcome_of(case: BadInputCase, con: Connection) -> BadInputOutcome:
    """Run a case."""
    started = time.monotonic()
    text = seen(case, con)
    return BadInputOutcome(case, text, time.monotonic() - started)


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    con = connect(model="tiny", progress=False)
    outcomes = [outcome_of(case, con) for case in CASES if not (args.quick and case.run is killed_engine)]
    con.close()
    print(table(["case", "as said", "seconds", "what the user sees"], [o.table_line for o in outcomes]))
    missed = [outcome for outcome in outcomes if not outcome.is_as_said]
    for outcome in missed:
        print(f"\nnot as said: {outcome.case.name}\n{outcome.shown}")
    headline = {
        "cases": len(outcomes), "not_as_said": [o.case.name for o in missed],
        "slowest_s": round(max(o.seconds for o in outcomes), 1),
    }  # fmt: skip
    details = [{"case": o.case.name, "done": o.case.done, "seen": o.shown} for o in outcomes]
    if finish("bad_input", headline, details, args.quick):
        BAD_INPUT_PAGE.write_text(LEAD + "".join(o.page_line for o in outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
