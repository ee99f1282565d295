"""`relserve batches`, and what `relserve cache clear` deletes of them."""

from pathlib import Path

from relserve.cache.kept_batches import BatchBook, BatchRowState, KeptBatch, KeptRow, LandedRow
from tests import command_line

MODEL = "batch:http://127.0.0.1:9/v1#m"  # where nothing answers


def relserve(folder: Path, *args: str) -> tuple[int, str, str]:
    done = command_line.relserve(*args, env={"RELSERVE_CACHE_DIR": str(folder)})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_batches_are_shown_and_forgotten(tmp_path: Path) -> None:
    book = BatchBook(tmp_path)
    batch = KeptBatch("rb-1", MODEL, "s", "", "k", "{}", 1, state="in_progress", server_id="batch_1")
    book.begin(batch, [KeptRow(b"key", "rb-1", 0, BatchRowState.SENT)])
    status, out, _ = relserve(tmp_path, "batches", "--format", "csv")
    assert status == 0
    assert out.splitlines()[1].startswith(f'"rb-1","{MODEL}","in_progress",1,0,0,')
    assert '"batch_1","no LLM server answers at http://127.0.0.1:9/v1' in out
    status, _, err = relserve(tmp_path, "batches", "forget", "rb-2")
    assert (status, "no batch 'rb-2'; those that have not ended: rb-1" in err) == (1, True)
    assert relserve(tmp_path, "batches", "forget", "rb-1")[0] == 0
    assert not book.find([b"key"])
    assert "has ended (failed)" in relserve(tmp_path, "batches", "cancel", "rb-1")[2]


def test_clearing_the_cache_deletes_the_answers_of_batches_that_ended(tmp_path: Path) -> None:
    book = BatchBook(tmp_path)
    for name in ("old", "new"):
        book.begin(
            KeptBatch(name, MODEL, "s", "", "k", "{}", 1, state="in_progress", server_id=name),
            [KeptRow(name.encode(), name, 0, BatchRowState.SENT)],
        )
    old = next(each for each in book.batches() if each.id == "old")
    book.land(old, [LandedRow(b"old", BatchRowState.ANSWERED, 0, "the answer")])
    assert book.find([b"old"])[b"old"].reply == "the answer"
    assert relserve(tmp_path, "cache", "clear", "--yes")[0] == 0
    assert [each.id for each in book.batches()] == ["new"]
    assert list(book.find([b"old", b"new"])) == [b"new"]
