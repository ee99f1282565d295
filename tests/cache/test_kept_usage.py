"""Tokens and money by day: added up over processes, read back, and faults that cost no query."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from relserve.api import connect
from relserve.cache import kept_usage, small_file
from relserve.cache.kept_usage import FILE_NAME, UsageBook, UsageCounts, UsageKey, today

KEY = UsageKey("2026-01-02", "ann", "m", "llm", "k")
ONE = UsageCounts(1, 100, 30, 10, 5, 0.25, 0)


def test_what_two_processes_add_is_one_sum(tmp_path: Path) -> None:
    first, second = UsageBook(tmp_path), UsageBook(tmp_path)
    for book in (first, second, first):
        book.add(KEY, ONE)
    second.add(KEY._replace(kind="other"), ONE)
    second.flush()
    assert first.of_kind("m", "k") == UsageCounts(3, 300, 90, 30, 15, 0.75, 0)
    assert first.by_day() == [(KEY._replace(kind=""), UsageCounts(4, 400, 120, 40, 20, 1.0, 0))]
    assert first.of_day("ann", "2026-01-02").cost == 1.0
    assert first.of_day("bob", "2026-01-02") == UsageCounts()


def test_a_file_that_is_none_costs_nothing_but_itself(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"x" * 5000)
    book = UsageBook(tmp_path)
    book.add(KEY, ONE)
    assert book.of_kind("m", "k") == ONE, "counted here, if not in the file"


def test_an_event_loop_waits_for_no_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_usage, "WAIT_S", 600.0)  # for which it would wait
    monkeypatch.setattr(small_file, "WRITE_EVERY_S", 0.0)
    book = UsageBook(tmp_path)
    book.add(KEY, ONE)
    book.flush()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        asyncio.run(_add(book, 3))
    book.flush()
    assert UsageBook(tmp_path).of_kind("m", "k").requests == 4


async def _add(book: UsageBook, times: int) -> None:
    for _ in range(times):
        book.add(KEY, ONE)


def test_what_a_forked_child_counts_is_kept_though_it_ends_at_once(tmp_path: Path) -> None:
    inherited = UsageBook.of(tmp_path)
    inherited.add(KEY, ONE)
    with inherited._writing:  # a thread of the parent writes
        child = os.fork()
        if not child:
            UsageBook.of(tmp_path).add(KEY, ONE)
            inherited.by_day()  # does not wait for the parent's thread, which the child does not have
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert UsageBook(tmp_path).of_kind("m", "k").requests == 2


def test_what_follows_a_read_is_kept_at_once(tmp_path: Path) -> None:
    book = UsageBook(tmp_path)
    assert book.by_day() == []
    book.add(KEY, ONE)
    assert UsageBook(tmp_path).of_kind("m", "k") == ONE


def test_old_days_leave(tmp_path: Path) -> None:
    book = UsageBook(tmp_path)
    book.add(KEY._replace(day="2001-01-01"), ONE)
    book.flush()
    book.add(KEY._replace(day=today()), ONE)
    book.flush()
    assert [key.day for key, _ in book.by_day()] == [today()]


def test_money_from_explain_to_the_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prices.toml").write_text("[scripted]\ninput = 1\noutput = 4\n", encoding="utf-8")
    monkeypatch.setenv("RELSERVE_PRICES", str(tmp_path / "prices.toml"))
    sql = "SELECT llm('Sum up: {}', i) FROM range(20) t(i)"
    with connect(model="scripted", progress=False) as con:
        con.execute(sql).fetchall()
        told = con.explain_llm(sql)
        ((cost, read, written),) = con.execute(
            "SELECT cost, prompt_tokens, output_tokens FROM llm_queries()"
        ).fetchall()
        assert cost == pytest.approx((read + 4 * written) / 1e6)
        assert told.cost == pytest.approx(cost, rel=0.05)
        assert told.table["cost"].to_pylist() == [told.cost]
        assert f"cost: {told.cost:.2g} USD" in " ".join(str(told).split())
        columns = "model, function, requests, cost, unpriced_requests"
        rows = con.execute(f"SELECT {columns} FROM llm_usage()").fetchall()
        assert rows == [("scripted", "llm", 20, pytest.approx(cost), 0)]


def test_what_has_no_price_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(model="scripted", progress=False) as con:
        con.execute("SELECT llm('Sum up: {}', i) FROM range(3) t(i)").fetchall()
        assert con.execute("SELECT cost FROM llm_queries()").fetchall() == [(None,)]
        assert con.execute("SELECT cost, unpriced_requests FROM llm_usage()").fetchall() == [(None, 3)]
        assert "cost" not in str(con.explain_llm("SELECT llm('Sum up: {}', i) FROM range(3) t(i)"))
