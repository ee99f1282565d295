"""Caps: refused before the first row, stopped while running, and nothing that was answered is lost."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import relserve
from relserve.api import connect
from relserve.call.relquery import Reply
from relserve.engines.loop import spawn
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import FailureKind, OptionError, RowError, SpendingError
from relserve.session.capped_engine import AT_ONCE, CappedEngine
from relserve.session.caps import Amounts, Limits, SpendingCap
from tests.engines.asking import ask, collect, submission_of
from tests.engines.http_fakes import Answered, FakeServer, said

MORE = 3  # times the tokens that bytes let expect
SQL = "SELECT llm('Sum up: {{}}', i, max_tokens := 4{}) FROM range({}) t(i)"


class Counting:
    """A server that says how many tokens it charges, more than one would think."""

    def __init__(self) -> None:
        self.server = FakeServer(self.answer)
        self.tokens = 0
        spawn(self.server.start()).result()

    async def answer(self, body: dict[str, Any]) -> Answered:
        await asyncio.sleep(0.002)
        text = body["messages"][-1]["content"]
        used = {"prompt_tokens": MORE * (len(text) // 4 + 8), "completion_tokens": 4}
        self.tokens += sum(used.values())
        return said("ok " + text[-6:], usage=used)

    @property
    def prompts(self) -> Counter[str]:
        return Counter(body["messages"][-1]["content"] for _, body in self.server.requests)

    @property
    def model(self) -> str:
        return f"{self.server.url}#fake"


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    found = Counting()
    (tmp_path / "prices.toml").write_text(f'["{found.server.url}"]\ninput = 100\noutput = 400\n')
    monkeypatch.setenv("RELSERVE_PRICES", str(tmp_path / "prices.toml"))
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_MAX_IN_FLIGHT", "16")
    monkeypatch.delenv("RELSERVE_ANSWER_CACHE_MB")
    monkeypatch.delenv("RELSERVE_KEEP_LEARNT")
    yield found
    relserve.close_engines(found.model)
    spawn(found.server.stop()).result()


def num_answered(rows: list[tuple[Any, ...]]) -> int:
    return sum(row[0] is not None for row in rows)


TOO_SMALL = ("max_rows := 10", "max_tokens_total := 100", "max_cost := 0.01", "max_cost := 0")


@pytest.mark.cells(2)
@pytest.mark.parametrize("cap", TOO_SMALL)
def test_too_much_is_refused_before_the_first_row(counting: Counting, cap: str) -> None:
    with connect(model=counting.model, progress=False) as con:
        with pytest.raises(SpendingError, match=f"about 50 rows.*llm\\(\\) is {cap[:9]}.*Nothing was asked"):
            con.execute(SQL.format(", " + cap, 50))
        with pytest.raises(SpendingError):
            con.sql(SQL.format(", " + cap, 50)).fetchall()
    assert not counting.server.requests


@pytest.mark.cells(1)
@pytest.mark.parametrize("cap", ["max_tokens_total := 1500", "max_cost := 0.2"])
def test_at_the_cap_no_row_is_sent_and_a_larger_one_asks_the_rest(counting: Counting, cap: str) -> None:
    with connect(model=counting.model, progress=False) as con:
        rows = con.execute(SQL.format(", " + cap, 60)).fetchall()
        answered, sent = num_answered(rows), len(counting.server.requests)
        assert 0 < answered == sent < 60
        kinds = con.execute("SELECT kind, sum(rows) FROM llm_errors() GROUP BY ALL").fetchall()
        assert kinds == [(FailureKind.CAP, 60 - answered)]
        over = counting.tokens - 1500 if "tokens" in cap else 0
        assert over <= 16 * 40, "no more than what was in flight"
        assert num_answered(con.execute(SQL.format(", max_cost := 9", 60)).fetchall()) == 60
    assert max(counting.prompts.values()) == 1, "nothing was asked twice"
    assert len(counting.server.requests) == 60


def test_under_raise_the_statement_fails_and_keeps_what_was_answered(counting: Counting) -> None:
    with connect(model=counting.model, progress=False) as con:
        with pytest.raises(RowError, match=r"max_tokens_total := 1,500 of the call is reached"):
            con.execute(SQL.format(", max_tokens_total := 1500, on_error := 'raise'", 60)).fetchall()
        con.execute(SQL.format("", 60)).fetchall()
    assert set(counting.prompts.values()) == {1}


def test_two_statements_share_the_cap_of_their_connection(counting: Counting) -> None:
    with connect(model=counting.model, progress=False, max_rows=70) as con:
        cursors = [con.cursor(), con.cursor()]
        found: list[int] = []

        def ask(number: int) -> None:
            sql = SQL.format("", 50).replace("Sum up", f"Number {number}")
            with suppress(SpendingError):  # it came so late that the other's rows are counted
                found.append(num_answered(cursors[number].execute(sql).fetchall()))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(found) == len(counting.server.requests) <= 70


def test_each_statement_has_the_cap_of_the_settings(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_MAX_ROWS", "20")
    with connect(model=counting.model, progress=False) as con:
        for number in range(3):
            con.execute(SQL.format("", 20).replace("Sum", str(number))).fetchall()
        with pytest.raises(SpendingError, match="a statement is max_rows := 20"):
            con.execute(SQL.format("", 21).replace("Sum", "Whole"))
    assert len(counting.server.requests) == 60


def test_frames_and_views_and_groups_are_capped(counting: Counting) -> None:
    with pytest.raises(SpendingError):
        relserve.llm_filter(pa.table({"x": ["a", "b", "c"]}), "Is it {}?", model=counting.model, max_rows=2)
    with connect(model=counting.model, progress=False) as con:
        con.execute("CREATE VIEW v AS SELECT llm('V {}', i, max_rows := 2) AS x FROM range(3) t(i)")
        with pytest.raises(SpendingError):
            con.execute("FROM v")
        with pytest.raises(SpendingError):
            con.execute("SELECT llm_agg('All: {}', i, max_rows := 1) FROM range(4) t(i) GROUP BY i % 2")
        with pytest.raises(SpendingError):
            con.execute("CREATE TABLE made AS " + SQL.format(", max_rows := 2", 3))
    assert not counting.server.requests


def test_rows_that_were_not_sent_are_no_requests(counting: Counting) -> None:
    with connect(model=counting.model, progress=False) as con:
        rows = con.execute(SQL.format(", max_tokens_total := 1500", 60)).fetchall()
        (asked,) = con.execute("SELECT requests FROM llm_usage()").fetchall()
        assert asked == (num_answered(rows),)
        (call,) = con.explain_llm(SQL.format("", 60)).calls
        assert call.likely is not None
        per_row = call.likely.tokens / call.likely.num_requests
    assert per_row == pytest.approx(counting.tokens / len(counting.server.requests), rel=0.1)


def test_what_frames_asked_is_known_to_sql(counting: Counting) -> None:
    rows = pa.table({"x": ["a", "bb", "ccc"]})
    relserve.llm(rows, "Say {x}", model=counting.model, progress=False)
    with connect(model=counting.model, progress=False) as con:
        assert con.execute("SELECT function, requests FROM llm_usage()").fetchall() == [("llm", 3)]
        (call,) = con.explain_llm("SELECT llm('Say {x}', x) FROM (VALUES ('dddd')) t(x)").calls
        assert call.likely is not None
        assert call.likely.basis == "3 earlier prompts of this call"


@pytest.mark.long
def test_what_a_limit_may_end_is_stopped_and_not_refused(counting: Counting) -> None:
    sql = "SELECT i FROM range(300) t(i) WHERE llm_filter('Is {} odd?', i, max_rows := 40) LIMIT 5"
    with connect(model=counting.model, progress=False) as con:
        con.execute(sql).fetchall()
    assert 0 < len(counting.server.requests) <= 40


def test_an_unknown_price_is_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(model="scripted", progress=False, max_cost=1.0) as con:
        with pytest.raises(OptionError, match=r"connection needs the price of scripted.*PRICES"):
            con.execute("SELECT llm('{}', i) FROM range(3) t(i)").fetchall()


@pytest.mark.parametrize("wrong", [{"max_rows": -1}, {"max_cost": float("nan")}, {"max_tokens_total": 1.5}])
def test_a_cap_of_a_connection_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        connect(model="scripted", **wrong)


def test_an_engine_here_stops_too() -> None:
    with connect(model="scripted", progress=False, max_rows=30) as con:
        con.execute("SELECT llm('{}', i) FROM range(20) t(i)").fetchall()
        cut = con.cursor()
        with pytest.raises(SpendingError, match="after 20 rows"):
            cut.execute("SELECT llm('other {}', i) FROM range(20) t(i)")


def test_a_row_that_is_refused_before_it_is_sent_is_no_row_of_a_cap() -> None:
    engine = ScriptedEngine(max_prompt_chars=50)
    with connect(engine=engine, progress=False, max_rows=5) as con:
        sql = "SELECT llm('Sum up: {}', repeat('x', 20 * i)) FROM range(4) t(i)"
        assert num_answered(con.execute(sql).fetchall()) == 3
        assert con.session.spending.connection.spent.rows == 3


@pytest.mark.parametrize(("good", "over"), [(8, 0), (13, 3)])
def test_rows_that_are_refused_before_they_are_sent_leave_their_room_to_others(good: int, over: int) -> None:
    cap, prompts = SpendingCap(Limits(rows=10), "x"), ["long" * 20] * 7 + [str(i) for i in range(good)]
    replies = ask(CappedEngine(ScriptedEngine(max_prompt_chars=50), [cap], None), prompts)
    kinds = [reply.failure and reply.failure.kind for reply in replies]
    assert kinds == [FailureKind.OVER_CONTEXT] * 7 + [None] * (good - over) + [FailureKind.CAP] * over
    assert cap.spent.rows == good - over


@pytest.mark.parametrize(
    ("call", "rows"),
    [
        ("llm_probs('{}', i, choices := ['a', 'b', 'c'], debias := 3, max_rows := %s)", 30),
        ("llm_prob('Is {} odd?', i, prior := 'empty', max_rows := %s)", 13),  # three empty inputs
    ],
)
def test_each_request_about_a_row_is_a_row_of_the_estimate_too(call: str, rows: int) -> None:
    with connect(engine=ScriptedEngine(), progress=False) as con:
        with pytest.raises(SpendingError, match=f"this would ask about {rows} rows"):
            con.execute(f"SELECT {call % (rows - 1)} FROM range(10) t(i)").fetchall()
        assert num_answered(con.execute(f"SELECT {call % rows} FROM range(10) t(i)").fetchall()) == 10


def test_rows_wait_for_room_that_rows_under_way_may_leave() -> None:
    cap, engine, row = SpendingCap(Limits(rows=10), "x"), ScriptedEngine(), Amounts(rows=1)
    assert all(cap.claim(row) for _ in range(8))  # of another call

    async def asked() -> list[Reply]:
        pending = asyncio.create_task(
            collect(CappedEngine(engine, [cap], None), submission_of(list("abcde")))
        )
        while cap.spent.rows < 2:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert engine.num_answered == 2
        for _ in range(8):
            cap.release(row)
        return await pending

    replies = spawn(asked()).result()
    assert [reply.failure for reply in replies] == [None] * 5
    assert cap.spent.rows == 5


def test_others_have_a_turn_while_many_rows_are_let_go() -> None:
    num, engine = 5 * AT_ONCE, ScriptedEngine()
    cap, rest = SpendingCap(Limits(rows=num), "x"), Amounts(rows=num - AT_ONCE)

    async def asked() -> list[Reply]:
        submission = submission_of([f"text {i}" for i in range(num)])
        pending = asyncio.create_task(collect(CappedEngine(engine, [cap], None), submission))
        await asyncio.sleep(0)
        assert cap.claim(rest)
        cap.release(rest)
        return await pending

    assert len(spawn(asked()).result()) == cap.spent.rows == num


@pytest.mark.cells(1)
@pytest.mark.parametrize("says", [True, False])
def test_somebody_is_asked_above_a_threshold(counting: Counting, says: bool) -> None:
    with connect(model=counting.model, progress=False) as con:
        spending, asked = con.session.spending, []
        spending.confirm, spending.confirm_above = lambda text: bool(asked.append(text)) or says, 0.05
        con.execute(SQL.format("", 2)).fetchall()
        assert not asked
        if says:
            con.execute(SQL.format("", 60)).fetchall()
        else:
            with pytest.raises(SpendingError, match="nothing was asked: about 58 rows"):
                con.execute(SQL.format("", 60)).fetchall()
    (text,) = asked
    assert text.startswith("about 58 rows, ")
    assert text.endswith(" USD: go on?")
    assert len(counting.server.requests) == (60 if says else 2)


def test_a_cap_waits_for_rows_under_way() -> None:
    cap = SpendingCap(Limits(tokens=100), "x")
    row = Amounts(1, 40, 0.0)
    assert [cap.claim(row) for _ in range(3)] == [True, True, None]
    cap.settle(row, Amounts(1, 10, 0.0))
    assert cap.claim(row) is True
    cap.settle(row, Amounts(1, 45, 0.0))
    cap.settle(row, Amounts(1, 45, 0.0))
    assert cap.claim(row) is False
    assert cap.is_reached()
    assert cap.spent == (3, 100, 0.0)
