"""Servers that misbehave in 93 ways: each row is right or NULL on record, and nothing wrong is kept.

A made-up server answers two rows of three, and misbehaves on the other one. Then it behaves, and the same is
asked again with what was kept: every row has its right answer now, and only those are asked that had none.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.odd_servers.in_the_reply import IN_THE_REPLY
from benchmarks.odd_servers.kinds import TRIES, Misbehaviour, OddRowOutcome
from benchmarks.odd_servers.on_the_wire import ON_THE_WIRE
from benchmarks.odd_servers.server import DECIDED, RIGHT, ROWS, YES, OddRequest, OddServer, good
from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.decisions import Decision
from relserve.call.options import FUNCTIONS, parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.http.engine import HttpEngine
from relserve.engines.loop import spawn
from relserve.errors import EngineError
from relserve.session.session import Session

ROOMS = (
    "relserve/engines/http", "relserve/session", "relserve/call", "relserve/cache",
)  # fmt: skip
HEADLINE = {
    "kinds": Untold("a size"), "cases": Untold("a size"), "wrong": Exact(0), "crashed": Exact(0),
    "kept_wrong": Exact(0), "requests_over_least": Lower(by=0.05),
    "most_over_least": Lower(by=0.1),
}  # fmt: skip

KINDS = [*ON_THE_WIRE, *IN_THE_REPLY]
OPTIONS: dict[str, dict[str, Any]] = {
    "llm_classify": {"choices": ["good", "bad"]}, "llm_score": {"lo": 0, "hi": 10},
    "llm_extract": {"schema": '{"n": "INTEGER"}'}, "llm_probs": {"choices": ["good", "bad"]},
}  # fmt: skip
TEMPLATE = "Row {}. What is it?"
AT_ONCE = 16  # cases under way: most of their time is waiting
IN_A_QUICK_RUN = ("llm", "llm_extract", "llm_prob")


class OddServerCase(NamedTuple):
    """A kind of misbehaviour, and the function that meets it."""

    kind: Misbehaviour
    function: str

    @property
    def is_wrapped(self) -> bool:
        """Whether the answer is wanted as {"answer": ..}."""
        return self.function not in ("llm", *DECIDED)

    @property
    def outcome(self) -> OddRowOutcome:
        """What is to come of the odd row."""
        return OddRowOutcome.RIGHT if self.kind.if_wrapped and not self.is_wrapped else self.kind.outcome

    @property
    def least(self) -> int:
        """Requests that the statement takes at least."""
        least = self.kind.least(self.is_wrapped)
        if self.kind.on_every_row:
            return least
        return least + (1 if self.outcome is OddRowOutcome.ENDS else len(ROWS) - 1)

    @property
    def right(self) -> Any:
        """The right answer as a value of SQL's."""
        kind = FUNCTIONS[self.function].answer_type(self.query.options)
        if isinstance(kind, Decision):
            return kind.value_of((YES, 1 - YES))
        return kind.parse(good_content(self.function)).value

    @property
    def query(self) -> RelQuery:
        """The statement's call."""
        options = parse_options(self.function, OPTIONS.get(self.function, {}))
        return RelQuery(self.function, Template.parse(TEMPLATE).bind(1), [(row,) for row in ROWS], options)


def cases_of(functions: Sequence[str]) -> list[OddServerCase]:
    """The kinds that each function can meet; of a completion's content there is none in a decision."""
    return [
        OddServerCase(kind, function)
        for kind in KINDS
        for function in functions
        if function not in DECIDED or kind in ON_THE_WIRE
    ]


def good_content(function: str) -> str:
    """What a reply to a function says that nobody wraps."""
    return OddRequest("", function, False, 1).content


class OddServerFindings(NamedTuple):
    """What came of a case.

    Attributes:
        wrong: rows with another answer than the right one, or NULL where that is not to be, or not on record.
        crashed: the exception that is none of those documented.
        kept_wrong: rows that are not right once the server behaves.
        num_requests, least: of both statements.
    """

    case: OddServerCase
    wrong: list[str]
    crashed: str
    kept_wrong: list[str]
    num_requests: int
    least: int


def see(case: OddServerCase, folder: Path) -> OddServerFindings:
    """Run a case."""
    server = OddServer(case.function, case.kind.behaviour, case.kind.on_every_row)
    spawn(server.start()).result()
    engine = HttpEngine(server.url, max_in_flight=1, max_retries=TRIES - 1, timeout_s=case.kind.patience_s)
    cache = AnswerCache(folder / FILE_NAME, 2**22, lambda problem: sys.stderr.write(problem + "\n"))
    try:
        return _seen(case, server, engine, cache)
    finally:
        cache.close()
        spawn(engine.close()).result()
        spawn(server.stop()).result()


def _seen(
    case: OddServerCase, server: OddServer, engine: HttpEngine, cache: AnswerCache
) -> OddServerFindings:
    wrong, crashed, values = list[str](), "", list[Any]()
    session = Session(lambda model: engine, cache=cache)
    try:
        values = session.run(case.query).values
        wrong = _wrong(case, values, session)
    except EngineError as error:
        if case.outcome is not OddRowOutcome.ENDS:
            crashed = f"{type(error).__name__}: {error}"
    except Exception as error:  # whatever it is, it is what the benchmark looks for
        crashed = f"{type(error).__name__}: {error}"
    cache.flush()
    num_answered = sum(value is not None for value in values) if values else 1
    server.behaviour, server.on_every_row = good, False
    kept_wrong = list[str]()
    try:
        again = Session(lambda model: engine, cache=cache).run(case.query).values
        kept_wrong = [row for row, value in zip(ROWS, again, strict=True) if value != case.right]
    except Exception as error:
        crashed = crashed or f"again: {type(error).__name__}: {error}"
    least = case.least + len(ROWS) - num_answered
    return OddServerFindings(case, wrong, crashed, kept_wrong, server.num_requests, least)


def _wrong(case: OddServerCase, values: Sequence[Any], session: Session) -> list[str]:
    """The rows that are not as they are to be."""
    session.history.queries_table()
    session.history.errors_table()
    on_record = {row for row in ROWS for error in session.history.errors() if f"Row {row}." in error.prompt}
    wrong = [] if case.outcome is not OddRowOutcome.ENDS else ["the statement did not end"]
    for row, value in zip(ROWS, values, strict=True):
        may_be_null = row == "odd" and case.outcome in (OddRowOutcome.NULL, OddRowOutcome.EITHER)
        may_be_right = row != "odd" or case.outcome in (OddRowOutcome.RIGHT, OddRowOutcome.EITHER)
        is_right = value == case.right and row not in on_record
        if not (may_be_right and is_right) and not (may_be_null and value is None and row in on_record):
            wrong.append(f"{row}: {value!r}")
    return wrong


def rows_of(seen: Sequence[OddServerFindings]) -> list[list[Any]]:
    """The table's lines, one an area."""
    areas = dict.fromkeys(each.case.kind.area for each in seen)
    return [[area, *_figures([s for s in seen if s.case.kind.area == area]).values()] for area in areas]


def _figures(seen: Sequence[OddServerFindings]) -> dict[str, Any]:
    return {
        "kinds": len({each.case.kind for each in seen}), "cases": len(seen),
        "wrong": sum(bool(each.wrong) for each in seen), "crashed": sum(bool(each.crashed) for each in seen),
        "kept_wrong": sum(len(each.kept_wrong) for each in seen),
        "requests_over_least": round(sum(s.num_requests for s in seen) / sum(s.least for s in seen), 3),
        "most_over_least": round(max(s.num_requests / s.least for s in seen), 3),
    }  # fmt: skip


def main() -> None:
    """Print the table and the headline; status 1 if a case is not as it is to be."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", default="", help="kinds whose name has this in it")
    args = parser.parse_args()
    functions = IN_A_QUICK_RUN if args.quick else tuple(RIGHT)
    cases = [case for case in cases_of(functions) if args.only in case.kind.name]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        folders = [Path(folder, str(number)) for number in range(len(cases))]
        for each in folders:
            each.mkdir()
        seen = list(pool.map(see, cases, folders))
    for each in seen:
        if each.wrong or each.crashed or each.kept_wrong or each.num_requests != each.least:
            print(told(each))
    headline = _figures(seen)
    print(table(["area", *headline], rows_of(seen)))
    finish("odd_servers", headline, [told(each) for each in seen], args.quick or bool(args.only))
    sys.exit(1 if headline["wrong"] or headline["crashed"] or headline["kept_wrong"] else 0)


def told(seen: OddServerFindings) -> str:
    """A case in a line."""
    case = seen.case
    problems = [*seen.wrong, *([seen.crashed] if seen.crashed else [])]
    problems += [f"{row} is kept wrong" for row in seen.kept_wrong]
    said = "; ".join(problems) or "as it is to be"
    return (
        f"{case.kind.area}, {case.kind.name}, {case.function}: {said}, "
        f"{seen.num_requests} requests of at least {seen.least}"
    )


if __name__ == "__main__":
    main()
