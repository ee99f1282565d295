"""How long relQueries took, from one process to the next."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from relserve.cache import small_file
from relserve.cache.kept_pace import FILE_NAME, MOST_A_MODEL, KeptPace, PaceFile
from relserve.call.options import Options
from relserve.call.relquery import CallSite, RelQuery, Sampling, Submission, Usage
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine
from relserve.session.estimate import estimate, pace_of
from relserve.session.folding import fold_rows
from relserve.session.history import History, QueryRecord
from relserve.session.session import Session

HUNDRED = KeptPace("llm", 100, 10_000, 200, 5.0)  # 2,000 tokens a second


def seconds(kept: list[KeptPace], num_prompts: int) -> tuple[float | None, str]:
    asked = Submission("r", [f"{i:04} " + "x" * 391 for i in range(num_prompts)], Sampling(50))
    record = QueryRecord("r", "llm", "t {}", "m", num_prompts, num_prompts)
    found = estimate(ScriptedEngine(), asked, record, History(), None, kept)
    return found.seconds, found.basis


def test_another_process_finds_what_was_kept(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom relserve.cache.kept_pace import KeptPace, PaceFile\n"
        "paces = PaceFile(Path(sys.argv[1]))\n"
        "for i in range(3): paces.add('m', KeptPace('llm', 100, 10_000, 200, 5.0 + i))"  # two at its end
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)
    assert PaceFile(tmp_path).find("m") == [HUNDRED._replace(seconds=each) for each in (7.0, 6.0, 5.0)]
    assert PaceFile(tmp_path).find("another") == []
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o077 == 0


def test_two_at_once_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_file, "WRITE_EVERY_S", 0.0)
    files = [PaceFile(tmp_path), PaceFile(tmp_path)]
    num_each = MOST_A_MODEL // 2

    def write(file: PaceFile) -> None:
        for _ in range(num_each):
            file.add("m", HUNDRED)

    threads = [threading.Thread(target=write, args=(file,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(files[0].find("m")) == 2 * num_each
    files[0].add("m", HUNDRED._replace(seconds=1.0))
    found = files[1].find("m")
    assert (len(found), found[0].seconds) == (MOST_A_MODEL, 1.0)


def test_a_file_that_is_no_database_is_no_pace(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 500)
    paces = PaceFile(tmp_path)
    paces.add("m", HUNDRED)
    assert paces.find("m") == []


def test_those_of_a_near_size_tell_the_time() -> None:
    small = KeptPace("llm", 4, 400, 8, 2.0)  # few at once are slow
    told, basis = seconds([small, HUNDRED], 100)
    assert told == pytest.approx(5.0, rel=0.05)
    assert basis == "1 relQuery of earlier processes"
    told, _ = seconds([small], 100)
    assert told == pytest.approx(50.0, rel=0.05)
    assert seconds([small], 1000) == (None, "nothing is known of this model's pace yet")


@pytest.mark.parametrize(("model", "is_kept"), [("named", True), ("scripted", False)])
def test_a_session_elsewhere_tells_the_time_by_it(tmp_path: Path, model: str, is_kept: bool) -> None:
    engine = ScriptedEngine(model=model)
    binding, rows = Template.parse("say {}").bind(1), [("a" * 400,), ("b" * 400,)]
    Session(lambda _: engine, paces=PaceFile(tmp_path)).run(RelQuery("llm", binding, rows, Options()))
    site = CallSite("llm", binding, Options())
    found = Session(lambda _: engine, paces=PaceFile(tmp_path)).estimate(site, fold_rows(site.prompts(rows)))
    assert (found.seconds is not None) == is_kept


def test_what_tells_no_pace_is_not_kept() -> None:
    def took(**more: object) -> KeptPace | None:
        given = dict(num_done=2, state="done", seconds=1.0, usage=Usage(20, 0, 4)) | more
        return pace_of(QueryRecord("r", "llm", "{}", "m", 2, 2, **given))  # type: ignore[arg-type]

    assert took() == KeptPace("llm", 2, 24, 4, 1.0)
    assert took(num_cached=1) == KeptPace("llm", 1, 24, 4, 1.0)
    assert [took(state="failed"), took(seconds=None), took(usage=Usage())] == [None] * 3
