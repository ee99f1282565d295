"""`relserve sql` asks a person before it spends, shows a dry run, and asks no program."""

import io
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from relserve.api import connect
from relserve.cli.spending_question import ask_before_spending
from relserve.errors import SpendingError
from tests.command_line import relserve

SQL = "SELECT llm('Sum up: {}', i) FROM range(50) t(i)"


class Typed(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prices.toml").write_text("[scripted]\ninput = 1\noutput = 400\n")
    monkeypatch.setenv("RELSERVE_PRICES", str(tmp_path / "prices.toml"))


@pytest.mark.parametrize(("typed", "is_asked"), [("y\n", True), ("n\n", False), ("\n", False), ("", False)])
def test_a_person_is_asked(typed: str, is_asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    monkeypatch.setattr(sys, "stderr", Typed())
    with connect(model="scripted", progress=False) as con:
        ask_before_spending(con, "scripted")
        with nullcontext() if is_asked else pytest.raises(SpendingError, match="nothing was asked"):
            con.execute(SQL).fetchall()
        assert con.execute("SELECT count(*) FROM llm_queries()").fetchall() == [(int(is_asked),)]
    assert "about 50 rows, 13,322 tokens, 5.12 USD: go on?" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_a_program_is_not_asked() -> None:
    done = relserve("sql", SQL, "--model", "scripted", "--format", "csv")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 51


def test_a_dry_run_tells_and_asks_nothing() -> None:
    done = relserve("sql", "--dry-run", SQL, "--model", "scripted", "--stats")
    text = " ".join(done.stdout.decode().split())
    assert done.returncode == 0
    assert "1 llm call: 50 rows" in text
    assert "cost: 5.12 USD" in text
    assert "rel_id" not in done.stderr.decode()
