"""`relserve ask`: SQL, rows and bars, files as tables, one question after another; the SQL is recorded."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from relserve_duckdb.questions import asker
from rich.console import Console
from typer.testing import CliRunner

from relserve.cli.ask import ask
from relserve.cli.formats import Format
from relserve.cli.main import app
from relserve.cli.picture import bars_of, picture
from relserve.errors import Text2SqlError, UnlinkedWordsError, UsageError
from relserve.text2sql.guard.limits import DEFAULT, NONE, StatementLimits
from relserve.text2sql.pipeline import QuestionOutcome
from tests.duckdb_ext.questions.recorded_answers import Recorded

ANSWERS = {
    "How many?": "SELECT count(*) AS n FROM sales",
    "By region?": "SELECT region, sum(amount) AS total FROM sales GROUP BY region ORDER BY region",
    "Shops?": 'SELECT shop FROM "my_shops" ORDER BY shop',
    "Kept?": "SELECT a FROM kept",
}
Ask = Callable[..., Any]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    pipeline = Recorded(ANSWERS)
    monkeypatch.setattr(asker, "_standard", lambda: pipeline)
    return pipeline


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, ...]:
    sales, shops = tmp_path / "sales.csv", tmp_path / "my shops.2024.parquet"
    sales.write_text("region,amount\nnorth,10\nsouth,30\nnorth,5\n")
    duckdb.sql("SELECT unnest(['b', 'a']) AS shop").write_parquet(str(shops))
    return sales, shops


def run(question: str | None, source: ask.QuestionSource, confirms: bool = False, **options: Any) -> None:
    format = options.pop("format", Format.table)
    ask.run(question, source, options, ask.Manner(confirms, format, stats=False), cache=False)


def test_the_sql_and_the_rows_of_a_csv_file(
    recorded: Recorded, files: tuple[Path, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run("How many?", ask.QuestionSource(files=files), effort="quick")
    shown = capsys.readouterr().out
    assert "SELECT count(*) AS n FROM sales" in shown
    assert "3" in shown.splitlines()[-2]
    ((questions, options),) = recorded.asked
    assert (questions, options.effort, options.evidence) == (["How many?"], "quick", None)


@pytest.mark.long
def test_files_of_other_kinds_are_tables_by_plain_names(
    recorded: Recorded, files: tuple[Path, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    run("Shops?", ask.QuestionSource(files=files), format=Format.csv)
    said = capsys.readouterr()
    assert said.out == '"shop"\n"a"\n"b"\n'
    assert said.err == ANSWERS["Shops?"] + "\n"


def test_a_database_is_only_read(
    recorded: Recorded, tmp_path: Path, files: tuple[Path, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kept.db"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE kept AS SELECT 7 AS a")
    before = path.read_bytes()
    run("Kept?", ask.QuestionSource(path, files), format=Format.csv)
    assert capsys.readouterr().out == '"a"\n7\n'
    assert path.read_bytes() == before


@pytest.mark.cells(1)
@pytest.mark.parametrize(("said", "is_run"), [("n\n", False), ("y\n", True), ("\n", True), ("", False)])
def test_it_asks_before_it_runs_where_told_to(
    recorded: Recorded,
    files: tuple[Path, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: str,
    is_run: bool,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(said))
    run("How many?", ask.QuestionSource(files=files), confirms=True, format=Format.csv)
    shown = capsys.readouterr()
    assert "Run it?" in shown.err
    assert shown.out == ('"n"\n3\n' if is_run else "")


def test_questions_from_stdin_go_on_from_those_before_and_from_errors(
    recorded: Recorded,
    files: tuple[Path, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("How many?\n\nWhat else?\n By region?\nquit\nShops?\n"))
    run(None, ask.QuestionSource(files=files), format=Format.csv, model="scripted")
    shown = capsys.readouterr()
    assert shown.out == '"n"\n3\n"region","total"\n"north",15\n"south",30\n'
    assert "relserve: text2sql, stage candidates: no table fits" in shown.err
    assert [questions for questions, _ in recorded.asked] == [["How many?"], ["What else?"], ["By region?"]]
    before = f"The question before was: How many?\nIts SQL was: {ANSWERS['How many?']}"
    assert [options.evidence for _, options in recorded.asked] == [None, before, before]


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize("options", [{}, {"model": "tiny-sql"}])
def test_a_model_that_reads_the_question_alone_is_told_no_other(
    recorded: Recorded, files: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("How many?\nBy region?\n"))
    run(None, ask.QuestionSource(files=files), format=Format.csv, **options)
    assert [asked.evidence for _, asked in recorded.asked] == [None, None]


def test_the_only_question_fails_the_command(recorded: Recorded, files: tuple[Path, ...]) -> None:
    with pytest.raises(Text2SqlError, match="no table fits"):
        run("What else?", ask.QuestionSource(files=files))


PROPOSED = (
    "SELECT region, llm_filter('Is it big? {region}', region) IS NULL AS untold FROM sales ORDER BY amount"
)


@pytest.fixture
def refused(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions have a word that no table knows; "Poem?" is about nothing that texts tell."""
    monkeypatch.setenv("RELSERVE_MODEL", "scripted")

    def outcome(question: str, _: object) -> QuestionOutcome:
        proposal = None if question == "Poem?" else PROPOSED
        failure = UnlinkedWordsError("big means nothing", "candidates", (), ("big",), proposal)
        return QuestionOutcome(question, None, (), (), failure, "wf-1")

    monkeypatch.setattr(recorded, "_outcome", outcome)


@pytest.mark.usefixtures("refused")
def test_a_query_with_llm_calls_runs_where_it_was_asked_for(
    files: tuple[Path, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    source = ask.QuestionSource(files=files)
    ask.run("Big?", source, {}, ask.Manner(False, Format.csv, False, with_llm=True), cache=False)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ['"region","untold"', '"north",false', '"north",false', '"south",false']
    assert PROPOSED in shown.err


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(("question", "hint"), [("Big?", True), ("Poem?", False)])
def test_elsewhere_it_is_an_error_that_tells_how(
    files: tuple[Path, ...], capsys: pytest.CaptureFixture[str], question: str, hint: bool
) -> None:
    with pytest.raises(UnlinkedWordsError, match="big means nothing") as failed:
        run(question, ask.QuestionSource(files=files))
    assert ("--with-llm" in str(failed.value)) is hint
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(("said", "is_run"), [("y\n", True), ("\n", False)])
def test_on_a_terminal_the_user_is_asked(
    files: tuple[Path, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    said: str,
    is_run: bool,
) -> None:
    typed = io.StringIO(said)
    typed.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", typed)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run("Big?", ask.QuestionSource(files=files), format=Format.csv)
    shown = capsys.readouterr()
    assert "big means nothing" in shown.err
    assert bool(shown.out) is is_run


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (ask.QuestionSource(), "what is the question about"),
        (ask.QuestionSource(Path("no.db")), "no file 'no.db'"),
        (ask.QuestionSource(files=(Path("no.csv"),)), "no file 'no.csv'"),
    ],
)
def test_what_is_not_there_is_told_before_anything_is_asked(source: ask.QuestionSource, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        run("How many?", source)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "Rows.csv").write_text("x\n1\n")
    with pytest.raises(UsageError, match="two files would be a table 'rows'"):
        run("How many?", ask.QuestionSource(files=(tmp_path / "a" / "Rows.csv", tmp_path / "b" / "Rows.csv")))


def drawn(rows: pa.Table) -> list[str]:
    bars = bars_of(rows)
    assert bars is not None
    console = Console(file=io.StringIO(), width=120)
    console.print(picture(bars))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_bars_are_as_long_as_their_numbers() -> None:
    lines = drawn(pa.table({"n": [10, 20, 0, None], "who": ["a", "b", None, "d"]}))
    assert [line.count("█") for line in lines] == [30, 60, 0, 0]
    assert [line.split()[0] for line in lines] == ["a", "b", "NULL", "d"]
    assert lines[1].endswith("20")


def test_bars_of_negative_numbers_go_the_other_way() -> None:
    below, above = drawn(pa.table({"who": ["a", "b"], "n": [-1.0, 1.0]}))
    assert below.index("█") < above.index("█")
    assert below.count("█") == above.count("█") == 30


@pytest.mark.parametrize(
    "rows",
    [
        {"a": [1, 2]},
        {"a": [1, 2], "b": [1, 2]},
        {"a": ["x", "y"], "b": ["x", "y"]},
        {"a": ["x"], "n": [1]},
        {"a": ["x"] * 41, "n": [1] * 41},
        {"a": ["x", "y"], "n": pa.array([None, None], pa.int64())},
        {"a": ["x", "y"], "n": [1, 2], "m": [1, 2]},
    ],
)
def test_other_results_have_no_bars(rows: dict[str, Any]) -> None:
    assert bars_of(pa.table(rows)) is None


@pytest.mark.cells(1)
@pytest.mark.parametrize(("flags", "expected"), [([], DEFAULT), (["--no-limits"], NONE)])
def test_the_sql_is_held_to_limits_unless_the_caller_lifts_them(
    recorded: Recorded, files: tuple[Path, ...], flags: list[str], expected: StatementLimits
) -> None:
    done = CliRunner().invoke(app, ["ask", "How many?", "--csv", str(files[0]), *flags])
    assert done.exit_code == 0, done.output
    ((_, options),) = recorded.asked
    assert options.held_to == expected
