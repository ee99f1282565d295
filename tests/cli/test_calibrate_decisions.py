"""`relserve calibrate decisions`: figures on the screen, a calibration that a query finds, and mistakes."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from relserve.cli import calibrate
from tests.command_line import relserve

ASKED = (
    "calibrate", "decisions", "--table", "reviews", "--examples", "--truth", "stars >= 4",
    "--model", "scripted",
)  # fmt: skip
PRAISE = (*ASKED, "-q", "Praise? {review}", "--name", "praise")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))


def ran(*args: str) -> str:
    done = relserve(*args)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_it_prints_the_figures_and_a_query_finds_it(tmp_path: Path) -> None:
    text = ran(*PRAISE, "--rows", "100")
    for shown in ("praise: temperature, 99 rows", "Brier score", "calibration error", "0.9 to 1.0", "said"):
        assert shown in text
    assert f"kept in {tmp_path / 'calibrations' / 'praise.json'}; use it: calibration := 'praise'" in text
    assert "share that is right" not in text  # which --chart draws
    query = "SELECT llm_prob('Praise? {}', review{}) AS p FROM reviews WHERE stars > 0 ORDER BY p"
    found = []
    for option in ("", ", calibration := 'praise'"):
        sql = query.replace("review{}", f"review{option}")
        out = ran("sql", sql, "--examples", "--model", "scripted", "--format", "csv")
        found.append([float(row["p"]) for row in csv.DictReader(io.StringIO(out))])
    raw, corrected = found
    assert raw != corrected  # whose made-up probabilities mean nothing
    assert max(corrected) - min(corrected) < max(raw) - min(raw)


def test_choices_and_a_chart() -> None:
    choices = ("--choice", "billing", "--choice", "account", "--choice", "other")
    truth = "CASE WHEN kind IN ('billing', 'account') THEN kind ELSE 'other' END"
    args = ("--table", "tickets", "--truth", truth)
    asked = ("calibrate", "decisions", *args, "--examples", "--model", "scripted")
    text = ran(*asked, "-q", "Kind? {text}", *choices, "--name", "kind", "--chart")
    assert "share that is right, by probability, before" in text
    assert "█" in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((*ASKED, "-q", "Praise? {rewiev}", "--name", "p"), "Did you mean 'review'?"),
        ((*ASKED, "-q", "Praise? {review}", "--name", "p q"), "name must be a name of letters"),
        (("calibrate", "--seconds", "5", *PRAISE[1:]), "write options behind the command: calibrate dec"),
    ],
)
def test_what_is_wrong_is_told_in_words(args: tuple[str, ...], said: str) -> None:
    done = relserve(*args)
    assert done.returncode == 1
    assert said in done.stderr.decode()


def test_steps_are_measured_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(calibrate, "calibrate", lambda *args: asked.append(args))
    ran("calibrate", "--model", "m", "--out", "o.json", "--seconds", "6")
    assert asked == [("m", Path("o.json"), 6.0)]
