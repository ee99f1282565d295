"""`relserve evaluate` with the scripted engine: tables, formats, and figures counted again from the rows."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.command_line import relserve

MODEL = ("--model", "scripted")
REVIEWS = ("evaluate", "--examples", "reviews", "--label", "stars >= 4", "-q", "Praise? {review}", *MODEL)


def ran(*args: str) -> str:
    done = relserve(*args)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def table(*args: str) -> list[dict[str, str]]:
    """One table of an evaluation, read from CSV."""
    return list(csv.DictReader(io.StringIO(ran(*args, "--format", "csv"))))


def test_a_person_sees_all_tables() -> None:
    text = ran(*REVIEWS, "-q", "Would they buy it? {review}", "--rows", "50")
    for shown in ("accuracy", "By class", "NULL", "p-value", "The worst rows", "asked: llm_filter(..)"):
        assert shown in text
    assert " to " in text  # the interval
    assert "4 rows without a label were left out" in text


@pytest.mark.long
def test_markdown_has_a_heading_a_table() -> None:
    text = ran(*REVIEWS, "--rows", "50", "--format", "markdown")
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## How often it is right, with the 95 % interval",
        "## Beside it: the commonest label, errors, and what was asked", "## By class",
        "## Rows by label (down) and answer (across)", "## The worst rows",
    ]  # fmt: skip


@pytest.mark.cells(1)
@pytest.mark.parametrize("width", [80, 140])
def test_no_screen_hides_the_accuracy(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relserve.cli.console.PLAIN_WIDTH", width)
    text = ran(*REVIEWS, "-q", "Would they buy it? {review}", "--rows", "50")
    for shown in ("right", "accuracy", "commonest", "tokens in", "precision", "only second", "p-value"):
        assert shown in text
    assert "columns shown" not in text


def test_json_has_an_object_a_line_that_names_its_table() -> None:
    lines = [json.loads(line) for line in ran(*REVIEWS, "--rows", "50", "--format", "json").splitlines()]
    assert Counter(line["part"] for line in lines) == {
        "summary": 1,
        "classes": 2,
        "confusion": 2,
        "worst": 20,
    }
    assert lines[0]["rows"] == 50
    assert sum(line["NULL"] for line in lines if line["part"] == "confusion") == lines[0]["null_answers"]


@pytest.mark.long
def test_csv_is_one_table() -> None:
    (row,) = table(*REVIEWS)
    assert (row["model"], row["question"]) == ("scripted", "Praise? {review}")
    assert [each["class"] for each in table(*REVIEWS, "--part", "classes")] == ["true", "false"]


def test_a_file_a_database_and_a_select_are_data(tmp_path: Path) -> None:
    file, db = tmp_path / "mails.csv", tmp_path / "shop.db"
    file.write_text("body,topic\nbroken,return\nwhere?,order\n,order\nwhen?,\n")
    with duckdb.connect(str(db)) as con:
        con.execute(f"CREATE TABLE mails AS FROM '{file}'")
    asked = ("--label", "topic", "-q", "About? {body}", *MODEL)
    found = [
        table("evaluate", str(file), *asked),
        table("evaluate", "mails", "--db", str(db), *asked),
        table("evaluate", "SELECT * FROM mails", "--db", str(db), *asked),
        table("evaluate", str(tmp_path / "m*.csv"), *asked),
    ]
    assert {(one["rows"], one["null_answers"]) for (one,) in found} == {("3", "1")}


@pytest.mark.cells(2)
@pytest.mark.parametrize("label", ["order", "Bought on", "a-b", "stars > 3"])
def test_a_column_is_a_label_by_its_bare_name(label: str, tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text("text,order,bought on,a-b,stars\nred,true,false,true,2\nblue,false,true,true,5\n")
    (row,) = table("evaluate", str(file), "--label", label, "-q", "Is it? {text}", *MODEL)
    assert row["rows"] == "2"


@pytest.mark.long
def test_options_are_those_of_the_function() -> None:
    args = ("evaluate", "--examples", "beers", "--label", "stars", "--function", "llm_score", *MODEL)
    (row,) = table(*args, "-q", "Stars? {review}", "--option", "lo=1", "--option", "hi=5")
    assert 0 < float(row["mean_absolute_error"]) <= 4
    assert row["macro_f1"] == ""
    choices = ("--choice", "billing", "--choice", "delivery", "--choice", "other")
    args = ("evaluate", "--examples", "SELECT * FROM tickets WHERE kind = 'billing'", "--label", "kind")
    classes = table(*args, "-q", "Kind? {text}", *choices, *MODEL, "--part", "classes")
    assert [(each["class"], each["support"] != "0") for each in classes] == [
        ("billing", True), ("delivery", False), ("other", False),
    ]  # fmt: skip


@pytest.mark.cells(4)
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("reviews", "--label", "stars >= 4", "-q", "{review}", "--db", "no.db"), "there is no file 'no.db'"),
        (("reviews", "--label", "stars >= 4", "-q", "{review}"), "one of the shipped tables: add --examples"),
        (("no", "--label", "stars >= 4", "-q", "{review}"), "or read a file in place: FROM 'no.csv'"),
        (("tests", "--label", "stars", "-q", "{review}"), "'tests' is a folder: name a file in it"),
        (("no.csv", "--label", "order", "-q", "{review}"), 'No files found that match the pattern "no.csv"'),
        (("no.csv", "--label", "stars", "-q", "{review}"), 'No files found that match the pattern "no.csv"'),
        (("reviews", "--examples", "--label", "stars", "-q", "{review}", "--option", "lo"), "NAME=VALUE"),
        (("reviews", "--examples", "--label", "starz", "-q", "{review}"), "starz"),
        (("reviews", "--examples", "--label", "stars > 3", "-q", "{rewiev}"), "Did you mean 'review'?"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_words(args: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = relserve("evaluate", *args, *MODEL)
    assert done.returncode == 1
    assert said in done.stderr.decode()
    assert not Path("no.db").exists()


@pytest.mark.long
def test_the_shipped_reviews_have_the_figures_of_their_rows() -> None:
    check_figures(*REVIEWS)
    check_figures("evaluate", "--examples", "tickets", "--label", "kind", "-q", "Kind? {text}", *MODEL)
    args = ("evaluate", "--examples", "films", "--label", "stars", "-q", "Stars? {review}", *MODEL)
    check_figures(*args, "--option", "lo=1", "--option", "hi=5")


REAL = {  # a boolean, a number, and two classes beside reviews of which 225 are NULL
    "beer": ('"review/text"', "split_part(\"review/overall\", '/', 1)::INT >= 14", "LIMIT 1000"),
    "amazon": ("review_content", "floor(TRY_CAST(rating AS DOUBLE))::INT", ""),
    "rotten": ("review_content", "CASE WHEN movie_title < 'M' THEN 'first half' ELSE 'second half' END", ""),
}


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_tables_have_the_figures_of_their_rows(name: str) -> None:
    file = Path(os.environ.get("RELSERVE_DATA", "")) / "tables" / f"{name}.csv"
    if "RELSERVE_DATA" not in os.environ or not file.is_file():
        pytest.skip("no real tables: set RELSERVE_DATA")
    text, label, limit = REAL[name]
    query = f"SELECT {text} AS text, {label} AS label FROM '{file}' {limit}"
    check_figures("evaluate", query, "--label", "label", "-q", "What? {text}", *MODEL)


def check_figures(*args: str) -> None:
    """Count the rows of an evaluation again, and compare every figure of its tables."""
    rows = [(row["label"], row["answer"] or None) for row in table(*args, "--part", "rows")]
    (summary,) = table(*args)
    num_right = sum(label == answer for label, answer in rows)
    answered = [(label, answer) for label, answer in rows if answer is not None]
    assert (summary["rows"], summary["right_answers"]) == (str(len(rows)), str(num_right))
    assert int(summary["null_answers"]) == len(rows) - len(answered)
    assert float(summary["accuracy"]) == pytest.approx(num_right / len(rows))
    assert float(summary["accuracy_low"]) < num_right / len(rows) < float(summary["accuracy_high"])
    if summary["mean_absolute_error"]:
        errors = [abs(float(label) - float(answer)) for label, answer in answered]
        assert float(summary["mean_absolute_error"]) == pytest.approx(sum(errors) / len(errors))
        return
    classes = table(*args, "--part", "classes")
    assert float(summary["macro_f1"]) == pytest.approx(
        sum(float(each["f1"]) for each in classes) / len(classes)
    )
    counts: dict[tuple[str, str | None], int] = Counter(rows)
    for each in classes:
        check_class(each, rows, each["class"])
    for line in table(*args, "--part", "confusion"):
        found = {(line["label"], name): int(line[name]) for name in (each["class"] for each in classes)}
        assert found == {pair: counts[pair] for pair in found}
        assert int(line["NULL"]) == counts[line["label"], None]


def check_class(found: dict[str, str], rows: list[tuple[str, Any]], name: str) -> None:
    right = sum(label == answer == name for label, answer in rows)
    support = sum(label == name for label, _ in rows)
    given = sum(answer == name for _, answer in rows)
    assert (found["support"], found["given"], found["right"]) == (str(support), str(given), str(right))
    assert float(found["precision"]) == pytest.approx(right / given)
    assert float(found["recall"]) == pytest.approx(right / support)
    assert float(found["f1"]) == pytest.approx(2 * right / (support + given))
