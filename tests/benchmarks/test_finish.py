"""What a benchmark does at its end: it saves what a commit stands behind, and prints its headline last."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import common, provenance

PAGE = "| what | NAME |\n|---|---|\n| one | `speed` |\n"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which results are saved, with nothing uncommitted."""
    folder = tmp_path / "results"
    folder.mkdir()
    monkeypatch.setattr(common, "RESULTS", folder)
    monkeypatch.setattr(common, "BENCHMARKS_PAGE", tmp_path / "page.md")
    monkeypatch.setattr(common, "uncommitted", list)
    monkeypatch.setattr("sys.argv", ["benchmarks/speed.py"])
    (tmp_path / "page.md").write_text(PAGE)
    return folder


def test_a_full_run_is_saved_with_its_plot(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert common.finish("speed", {"s": 1}, [2], quick=False, plot=lambda path: path.write_bytes(b"png"))
    saved = json.loads((results / "speed.json").read_text())
    assert saved["headline"] == {"s": 1}
    assert saved["details"] == [2]
    assert saved["provenance"]["commit"]
    assert (results / "speed.png").read_bytes() == b"png"
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"s": 1}


def test_the_page_says_where_a_full_run_is_from(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common.finish("speed", {"s": 1}, [2], quick=False)
    of = json.loads((results / "speed.json").read_text())["provenance"]
    told = (results.parent / "page.md").read_text().splitlines()[-1]
    assert told == f"| one | `speed` | `{of['commit']}` {of['date'][:10]} |"
    assert "page.md names other commits now: its lines' words are yours to renew" in capsys.readouterr().err


def test_what_is_saved_names_no_folder_of_this_machine(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/homes/ada")
    common.finish("speed", {"said": f"{provenance.ROOT}/build/log, /homes/ada/.cache/log"}, [], quick=False)
    saved = json.loads((results / "speed.json").read_text())
    assert saved["headline"]["said"] == "./build/log, ~/.cache/log"


def test_a_quick_run_is_not_saved(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not common.finish("speed", {"s": 1}, [2], quick=True, plot=lambda path: path.write_bytes(b""))
    assert not list(results.iterdir())
    assert (results.parent / "page.md").read_text() == PAGE
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"s": 1}


def test_a_changed_tree_is_not_saved(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(common, "uncommitted", lambda: ["relserve/api.py", "README.md"])
    assert not common.finish("speed", {"s": 1}, [2], quick=False)
    assert not list(results.iterdir())
    said = capsys.readouterr()
    assert "nothing was saved: 2 files differ from the commit, the first is relserve/api.py" in said.err
    assert json.loads(said.out.splitlines()[-1]) == {"s": 1}


def test_without_git_nothing_is_saved(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_git() -> list[str]:
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(common, "uncommitted", no_git)
    assert not common.finish("speed", {"s": 1}, [2], quick=False)
    assert "no git checkout" in capsys.readouterr().err


def test_files_written_by_full_runs_leave_a_tree_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, page, code = tmp_path / "results/speed.json", tmp_path / "page.md", tmp_path / "code.py"
    result.parent.mkdir()
    for file in (result, page, code):
        file.write_text("before")
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setattr(provenance, "WRITTEN_BY_FULL_RUNS", (result.parent, page))
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    result.write_text("after")
    page.write_text("after")
    assert provenance.uncommitted() == []
    code.write_text("after")
    assert provenance.uncommitted() == ["code.py"]
    (tmp_path / "new.py").write_text("x = 2")
    assert provenance.uncommitted() == ["code.py", "new.py"]
