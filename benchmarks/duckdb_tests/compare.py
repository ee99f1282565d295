"""A file's statements in plain DuckDB and in ours, and what differs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.duckdb_tests.records import Record, Unknown, read_records
from benchmarks.duckdb_tests.sides import QueryForm, SideOutcome, Texts, TooLong, ours, plain, run, texts_of

LIMIT_S = 2.0  # that plain DuckDB may take for a file
OUR_LIMIT_S = 60.0  # and ours, for it asks an engine
NUM_CHECKS = 6  # further runs of plain DuckDB, at most, that show whether its own results move
MOVES = "plain DuckDB's own result is another in another run"
OIDS = "our functions take oids of the catalog, so those of what is made later are others"
OID = re.compile(r"\b2\d{4}\b")
# A pattern of the statement's text as plain DuckDB runs it, or of its outcome there, and why ours may differ.
KNOWN = (
    (r"\bcurrent_query\(\)", "it tells the text that runs, in which the llm call stands"),
    (r"\btxid_current\(\)", "it counts transactions, of which a rehearsal and our functions take some"),
    (r"(?i)^pragma functions\b|\bduckdb_functions\(", "it lists functions, ours too"),
    (r"(?i)\bindex if not exists\b", "DuckDB does not set the count that it tells where the index is there"),
    (r"Total Time: ", "it tells seconds"),
    (r"Type with name \w+ does not exist!\nDid you mean", "DuckDB proposes another name where it knows more"),
    (
        r"Cannot perform list_reduce on an empty input list",
        "DuckDB tries a condition around a query before the query's own, on rows that this leaves out; one "
        "that asks a model comes last",
    ),
    (r"^\w+: INTERNAL Error", "an error of DuckDB's own ends the database, and a rehearsal meets it first"),
)


class Difference(NamedTuple):
    """A statement of which ours makes something else.

    Attributes:
        form: what became of the query, in words.
        reason: the known one; empty without.
    """

    file: str
    line: int
    form: str
    plain: str
    ours: str
    reason: str = ""


class FileComparison(NamedTuple):
    """What came of a file.

    Attributes:
        skipped: why it was not run, in words; empty if it was.
        records: statements compared, in each form.
    """

    file: str
    skipped: str = ""
    records: int = 0
    differences: tuple[Difference, ...] = ()


def compare(path: Path, name: str, our_side: Callable[[], Any] = ours) -> FileComparison:
    """Run a file's statements on both sides in each form."""
    try:
        records = read_records(path.read_text(encoding="utf-8"))
    except Unknown as error:
        return FileComparison(name, str(error))
    except UnicodeDecodeError:
        return FileComparison(name, "no text in UTF-8")
    if not records:
        return FileComparison(name, "no statement is left to run")
    found: list[Difference] = []
    num_records = 0
    for form in QueryForm:
        texts = [texts_of(record, form) for record in records]
        is_other = [index for index, text in enumerate(texts) if text.plain != text.ours]
        if form is not QueryForm.WRITTEN and not is_other:
            continue
        try:
            theirs = run(plain, [text.plain for text in texts], records, LIMIT_S)
        except TooLong:
            return FileComparison(name, f"takes plain DuckDB more than {LIMIT_S:g} s")
        num_records += len(records) if form is QueryForm.WRITTEN else len(is_other)
        found += _differences(name, form, records, texts, theirs, our_side)
    return FileComparison(name, "", num_records, tuple(found))


def _differences(
    name: str,
    form: QueryForm,
    records: Sequence[Record],
    texts: Sequence[Texts],
    theirs: Sequence[SideOutcome],
    our_side: Callable[[], Any],
) -> list[Difference]:
    try:
        its = run(our_side, [text.ours for text in texts], records, OUR_LIMIT_S)
    except TooLong:
        return [Difference(name, records[0].line, form.value, "ended", f"took more than {OUR_LIMIT_S:g} s")]
    differ = {
        index: told(theirs[index], its[index], texts[index]) for index in range(len(records))
        if seen(theirs[index], texts[index]) != seen(its[index], texts[index])
    }  # fmt: skip
    moving = _moving(records, texts, theirs, differ)
    return [
        Difference(
            name, records[index].line, form.value, *said,
            reason=MOVES if index in moving else reason_of(texts[index].plain, *said),
        )
        for index, said in differ.items()
    ]  # fmt: skip


def _moving(
    records: Sequence[Record], texts: Sequence[Texts], theirs: Sequence[SideOutcome], differ: Collection[int]
) -> set[int]:
    """Of the statements that differ, those of which plain DuckDB makes something else in another run."""
    moving: set[int] = set()
    for _ in range(NUM_CHECKS):
        if moving.issuperset(differ):
            break
        again = run(plain, [text.plain for text in texts], records, OUR_LIMIT_S)
        moving |= {index for index in differ if again[index] != theirs[index]}
    return moving


def seen(outcome: SideOutcome, texts: Texts) -> SideOutcome:
    """What is compared: where the texts differ, the errors' first lines, for the others quote the text."""
    if texts.plain == texts.ours:
        return outcome
    return outcome._replace(error=outcome.error.partition("\n")[0])


def told(theirs: SideOutcome, its: SideOutcome, texts: Texts) -> tuple[str, str]:
    """The first thing that differs, of both."""
    left, right = seen(theirs, texts), seen(its, texts)
    if left.error != right.error:
        return left.error or f"{len(left.rows)} rows", right.error or f"{len(right.rows)} rows"
    if left.columns != right.columns:
        return str(left.columns), str(right.columns)
    for one, other in zip(left.rows, right.rows, strict=False):
        if one != other:
            return one, other
    return f"{len(left.rows)} rows", f"{len(right.rows)} rows"


def reason_of(sql: str, theirs: str, its: str) -> str:
    """Why a statement may differ, if that is known."""
    if OID.search(theirs) and OID.sub("oid", theirs) == OID.sub("oid", its):
        return OIDS
    return next(
        (reason for pattern, reason in KNOWN if any(re.search(pattern, each) for each in (sql, theirs))), ""
    )
