"""How long, large and wide generated SQL may get, wherever it runs.

The SQL of a question becomes a part of its user's statement, view or macro. So it takes its limits along:
that of rows as SQL, which fails where there are more, and the others as words in a text that nothing reads;
whoever runs a statement with such words watches over it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from relserve.errors import LimitError, OptionError


class StatementLimits(NamedTuple):
    """What one statement may take; infinity: as much as it likes.

    Attributes:
        seconds: from its planning to its last row, without those in which a model is asked.
        memory_mb: memory in MB (10^6 bytes).
        rows: of the answer.
        disk_mb: of temporary files, in MB.
    """

    seconds: float = 10.0
    memory_mb: float = 1024
    rows: float = 10_000
    disk_mb: float = 1024


DEFAULT = StatementLimits()
NONE = StatementLimits(*[math.inf] * len(StatementLimits._fields))
WITHOUT = "none"  # the option's word for no limits


def limit_error(name: str, limits: StatementLimits) -> LimitError:
    """The error of a statement that was ended at a limit."""
    value = getattr(limits, name)
    told = {
        "seconds": f"it ran for {value:g} seconds",
        "memory_mb": f"it took {value:,} MB of memory",
        "disk_mb": f"it wrote {value:,} MB of temporary files",
        "rows": f"its answer has more than {value:,} rows",
    }[name]
    allows = f"text2sql(.., limits := {{'{name}': ..}}) allows more"
    return LimitError(f"generated SQL was ended: {told}; {allows}", name)


def read_limits(name: str, value: Any) -> StatementLimits:
    """The limits of an option: names with numbers, where None is no limit, or "none".

    Raises:
        OptionError: it is something else; says what there is.
    """
    if isinstance(value, StatementLimits):
        return value
    if value == WITHOUT:
        return NONE
    if not isinstance(value, Mapping) or not value.keys() <= set(StatementLimits._fields):
        raise OptionError(f"{name} is {WITHOUT!r} or like {DEFAULT._asdict()}, not {value!r}")
    return DEFAULT._replace(**{key: _number(name, key, each) for key, each in value.items()})


def _number(name: str, key: str, value: Any) -> float:
    if value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not value > 0:
        raise OptionError(f"{name}: {key} is a number above 0, or NULL for no limit, not {value!r}")
    return value if isinstance(value, int) else float(value)


_WORDS = "text2sql within {!r} seconds, {!r} MB of memory, {!r} rows, {!r} MB of disk"
_MARK = re.compile(_WORDS.replace("{!r}", r"([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|inf)"))
_TOO_MANY = re.compile(r"generated SQL was ended: its answer has more than .{1,300}? allows more")
_ALIAS = re.compile(r"(?i)\bas\s+text2sql\b(?!\s*\()")


def limited(sql: str, limits: StatementLimits) -> str:
    """A SELECT that takes its limits along; the same where there are none."""
    if limits == NONE:
        return sql
    counted = f"'{_WORDS.format(*limits)}' <> ''"
    if limits.rows == math.inf:
        return f"SELECT * FROM ({sql}) WHERE {counted}"
    told = str(limit_error("rows", limits)).replace("'", "''")
    too_many = f"system.main.row_number() OVER () > {math.floor(limits.rows)}"
    holds = f"CASE WHEN {too_many} THEN system.main.error('{told}') ELSE {counted} END"
    return f"SELECT * FROM ({sql}) QUALIFY {holds}"


def limits_in(text: str) -> StatementLimits | None:
    """The narrowest of the limits that SQL in a text has taken along; None: there is no such SQL."""
    found = [StatementLimits(*map(_read, mark)) for mark in _MARK.findall(text)]
    return StatementLimits(*map(min, zip(*found, strict=True))) if found else None


def _read(number: str) -> float:
    return int(number) if number.isdigit() else float(number)


def too_many_rows(error: Exception) -> LimitError | None:
    """The error of SQL that has failed at the limit of rows that it has taken along; None for another one."""
    found = _TOO_MANY.search(str(error))
    return None if found is None else LimitError(found[0], "rows")


def without_words(text: str) -> str:
    """A text without the words of limits, and without the name of what has them, which ask nothing."""
    return _ALIAS.sub("", _MARK.sub("", text))
