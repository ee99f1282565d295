"""A sqllogictest file as the statements that it runs, one after the other, its loops unrolled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MOST_RECORDS = 400  # of a file; DuckDB's longer ones are loops over one query
REQUIRED_AND_HERE = (
    "skip_reload", "noforcestorage", "no_force_storage", "notwindows", "notmingw", "64bit", "vector_size",
    "no_alternative_verify", "no_vector_verification", "no_latest_storage", "core_functions", "json", "icu",
    "parquet",
)  # fmt: skip
IGNORED = ("hash-threshold", "tags", "reset")  # they say how expected rows are kept or compared
SORTS = {"nosort": "nosort", "rowsort": "rowsort", "sort": "rowsort", "valuesort": "valuesort"}
SIGNED = ("tinyint", "smallint", "integer", "bigint", "hugeint")
INTEGRAL = (*SIGNED, *(f"u{name}" for name in SIGNED))
NUMERIC = (*INTEGRAL, "float", "double")
COLLECTIONS = {
    "<signed>": SIGNED, "<unsigned>": INTEGRAL[5:], "<integral>": INTEGRAL, "<numeric>": NUMERIC,
    "<alltypes>": (*NUMERIC, "bool", "interval", "varchar"),
}  # fmt: skip
CONDITION = re.compile(r"(\w+)(<>|>=|<=|=|<|>)(\S+)")
# Files, other databases, extensions, and what a process writes beside its results.
OUTSIDE = re.compile(
    r"(?-i:[{](TEST|TEMP|DATA|WORKING|CATALOG|LOCAL)\w*[}]|__\w+_DIR\w*__)|\bdata/|secret|profil|logging|_logs?\b"
    r"|\b(copy|export|import|install|load|attach|checkpoint)\b|\.(csv|parquet|json|db|txt|tsv)\b"
    r"|\b(read_\w+|glob|sniff_csv|parquet_\w+|getenv)\(|_directory|_home\b|\bhome_",
    re.I,
)


class Unknown(Exception):
    """What of a file is not run here, in words."""


class Record(NamedTuple):
    """One statement.

    Attributes:
        line: of the file, from 1, where its SQL begins.
        sql: its text.
        is_query: it is there for its rows.
        sort: how rows are sorted before they are compared, one of the values of SORTS.
        client: the name of the connection that runs it.
    """

    line: int
    sql: str
    is_query: bool = False
    sort: str = "nosort"
    client: str = ""


class RecordLine(NamedTuple):
    """A line that says something, with the SQL below it."""

    line: int
    words: list[str]
    sql: str = ""


def read_records(text: str) -> list[Record]:
    """The statements of a file in the order in which they run.

    Raises:
        Unknown: something in the file is not run here.
    """
    found: list[Record] = []
    for record in _run(list(_steps(text.splitlines())), {}):
        if outside := OUTSIDE.search(record.sql):
            raise Unknown(f"files, settings or extensions: {outside[0].strip('.( ').lower()}")
        found.append(record)
        if len(found) > MOST_RECORDS:
            raise Unknown(f"more than {MOST_RECORDS} statements")
    return found


def _steps(lines: Sequence[str]) -> Iterator[RecordLine]:
    at = 0
    while at < len(lines):
        words = lines[at].split()
        at += 1
        if not words or words[0].startswith("#"):
            continue
        if words[0] not in ("statement", "query"):
            yield RecordLine(at, words)
            continue
        first = at
        while at < len(lines) and lines[at].strip() and lines[at] != "----":
            at += 1
        yield RecordLine(first + 1, words, "\n".join(lines[first:at]))
        while at < len(lines) and lines[at].strip():  # what is expected: plain DuckDB says it here
            at += 1


def _run(steps: Sequence[RecordLine], names: dict[str, str]) -> Iterator[Record]:
    """The statements of steps, where the loops around them have given names their values."""
    at, num_skips, runs = 0, 0, True
    while at < len(steps):
        step = steps[at]
        at += 1
        word, *words = [_filled_in(each, names) for each in step.words]
        if word == "mode" and words[0] in ("skip", "unskip"):
            num_skips += 1 if words[0] == "skip" else -1
        elif num_skips:
            continue
        elif word == "halt":
            return
        elif word in ("skipif", "onlyif"):
            runs &= _holds(" ".join(words), names) == (word == "onlyif")
        elif word in ("loop", "foreach"):
            end = _end_of_loop(steps, at)
            for value in _values(word, words):
                yield from _run(steps[at:end], {**names, words[0]: value})
            at = end + 1
        elif word in ("statement", "query"):
            if runs:
                yield _record(step, word, words, names)
            runs = True
        elif word == "require":
            _check_required(words)
        elif word not in IGNORED:
            raise Unknown(f"the runner does not know: {word}")


def _record(step: RecordLine, word: str, words: Sequence[str], names: dict[str, str]) -> Record:
    sql = _filled_in(step.sql, names)
    kind, second = words[0] if words else "", words[1] if len(words) > 1 else ""
    if word == "query":
        return Record(step.line, sql, True, SORTS.get(second, "nosort"), "" if second in SORTS else second)
    if kind not in ("ok", "error", "maybe"):
        raise Unknown(f"the runner does not know: statement {kind}")
    return Record(step.line, sql, client=second)


def _check_required(words: Sequence[str]) -> None:
    if words[0] == "vector_size" and int(words[1]) > 2048:
        raise Unknown("requires another build: vector_size")
    if words[0] not in REQUIRED_AND_HERE:
        raise Unknown(f"requires {words[0]}")


def _end_of_loop(steps: Sequence[RecordLine], at: int) -> int:
    depth = 1
    while at < len(steps):
        depth += {"loop": 1, "foreach": 1, "endloop": -1}.get(steps[at].words[0], 0)
        if not depth:
            return at
        at += 1
    raise Unknown("a loop without its end")


def _values(word: str, words: Sequence[str]) -> Sequence[str]:
    if word == "loop":
        return [str(number) for number in range(int(words[1]), int(words[2]))][: MOST_RECORDS + 1]
    values: list[str] = []
    for each in words[1:]:
        if each.startswith("!") and each[1:] in values:
            values.remove(each[1:])
        elif each.startswith(("<", "$")) and each not in COLLECTIONS:
            raise Unknown(f"the runner does not know: foreach {each}")
        else:
            values += COLLECTIONS.get(each, (each,))
    return values


def _filled_in(text: str, names: dict[str, str]) -> str:
    """The text with the values of loops; a loop over `a,b` has values such as `1,2`."""
    for name, value in names.items():
        its = (name.split(","), value.split(",")) if "," in name else ([name], [value])
        for each, its_value in zip(*its, strict=False):
            text = text.replace("${" + each + "}", its_value).replace("{" + each + "}", its_value)
    return text


def _holds(condition: str, names: dict[str, str]) -> bool:
    """Whether a condition on loops' values holds; a name alone is a database's."""
    if condition == "duckdb":
        return True
    parts = [CONDITION.fullmatch(part.replace(" ", "")) for part in condition.split("&&")]
    return all(part is not None and _compares(names.get(part[1], ""), part[2], part[3]) for part in parts)


def _compares(value: str, comparison: str, other: str) -> bool:
    if comparison in ("=", "<>"):
        return (value == other) == (comparison == "=")
    left, right = float(value), float(other)
    return {">=": left >= right, "<=": left <= right, ">": left > right, "<": left < right}[comparison]
