"""PostgreSQL's SQLSTATE for each exception, by its class and, where that is too coarse, by its words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from relserve import errors

UNKNOWN = "XX000"

_BY_CLASS: Mapping[type[BaseException], str] = {
    # DuckDB's, and the classes of Python's database API above them
    duckdb.BinderException: "42000", duckdb.CatalogException: "42704", duckdb.ConnectionException: "08000",
    duckdb.ConstraintException: "23000", duckdb.ConversionException: "22P02",
    duckdb.DependencyException: "2BP01", duckdb.FatalException: UNKNOWN, duckdb.HTTPException: "58030",
    duckdb.IOException: "58030", duckdb.InternalException: UNKNOWN, duckdb.InterruptException: "57014",
    duckdb.InvalidInputException: "22023", duckdb.InvalidTypeException: "42804",
    duckdb.NotImplementedException: "0A000", duckdb.OutOfMemoryException: "53200",
    duckdb.OutOfRangeException: "22003", duckdb.ParserException: "42601",
    duckdb.PermissionException: "42501", duckdb.ResourceInUseException: "55006",
    duckdb.SequenceException: "2200H", duckdb.SerializationException: "58030",
    duckdb.SyntaxException: "42601", duckdb.TransactionException: "25000",
    duckdb.TypeMismatchException: "42804", duckdb.DataError: "22000", duckdb.IntegrityError: "23000",
    duckdb.InternalError: UNKNOWN, duckdb.NotSupportedError: "0A000", duckdb.OperationalError: "58000",
    duckdb.ProgrammingError: "42000", duckdb.DatabaseError: "58000", duckdb.Error: "58000",
    # relserve's
    errors.TemplateError: "22023", errors.OptionError: "22023", errors.UsageError: "22023",
    errors.ModelError: "42704", errors.EngineStartError: "58000", errors.EngineDeadError: "58000",
    errors.EngineError: "58000", errors.RowError: "22000", errors.ComplexSqlError: "54001",
    errors.UnsafeSqlError: "42501", errors.LimitError: "54000", errors.Text2SqlError: "22000",
    errors.UnlinkedWordsError: "22000",
    errors.ForbiddenError: "42501", errors.AdmissionError: "53000",
    errors.SpendingError: "53400", errors.QuotaError: "53400",
    errors.ProtocolError: "08P01", errors.Cancelled: "57014",
    errors.RelserveError: "58000",
    # Arrow's, for values that PostgreSQL's form has no room for, and Python's
    pa.ArrowInvalid: "22003", pa.ArrowNotImplementedError: "0A000", KeyboardInterrupt: "57014",
    MemoryError: "53200", RecursionError: "54001", UnicodeError: "22021", Warning: "01000",
}  # fmt: skip


def _then(first: str, second: str) -> str:
    """A pattern of two texts, one behind the other, that reads a message once: it may quote a long name."""
    return rf"\A(?>.*?{first})(?>.*?{second})"


_BY_WORDS: Mapping[type[BaseException], Sequence[tuple[str, str]]] = {
    duckdb.BinderException: (
        (r"Referenced column|does not have a column|has no column", "42703"),
        (_then("[Cc]olumn ", " not found"), "42703"),
        (r"Referenced table", "42P01"),
        (_then("[Tt]able ", " does not exist"), "42P01"),
        (r"^Ambiguous reference", "42702"),
        (r"^No function matches", "42883"),
        (_then("Function ", " does not exist"), "42883"),
        (r"^Could not choose a best candidate", "42725"),
        (r"GROUP BY clause|cannot contain aggregates|aggregate function calls cannot be nested", "42803"),
        (r"WHERE clause cannot contain window|window functions? (is|are) not allowed", "42P20"),
        (_then("Prepared statement ", " does not exist"), "26000"),
        (r"columns but \d+ values", "42601"),
        (r"Duplicate alias", "42712"),
        (r"Cannot compare values of type|type mismatch|Cannot mix values", "42804"),
        (_then("Catalog ", " does not exist"), "3D000"),
    ),
    duckdb.CatalogException: (
        (r'^Table with name "[^"]*" does not exist because schema', "3F000"),
        (r"^(Table|View|Sequence|Index) with name .* does not exist", "42P01"),
        (_then("Function with name ", " does not exist"), "42883"),
        (_then("Macro ", " does not exist"), "42883"),
        (r"^Schema with name .* does not exist|^SET schema|No catalog \+ schema", "3F000"),
        (r"^(Catalog|Database) .* does not exist", "3D000"),
        (r"^(Could not|Cannot) drop|depend", "2BP01"),
    ),
    duckdb.ConstraintException: (
        (r"^Duplicate key|^PRIMARY KEY or UNIQUE", "23505"),
        (r"^NOT NULL constraint", "23502"),
        (r"^CHECK constraint", "23514"),
        (r"foreign key", "23503"),
    ),
    duckdb.ConversionException: (
        (r"field value out of range", "22008"),
        (r"^invalid (date|time|timestamp) field format", "22007"),
        (r"out of range|^Failed to cast decimal value", "22003"),
        (_then("Could not cast value ", " to DECIMAL"), "22003"),
    ),
    duckdb.InvalidInputException: (
        (r"^Values were not provided|^Parameter argument/count mismatch", "08P01"),
        (r"^More than one row returned by a subquery", "21000"),
        (r"^Failed to cast value.*out of range", "22008"),
        (r"^Failed to cast value.*((date|time|timestamp) field format|to INTERVAL)", "22007"),
        (r"^Failed to cast value: extract specifier", "22007"),
        (r"^Failed to cast value|^Malformed JSON", "22P02"),
        (r"read-only (mode|database)", "25006"),
        (r"TransactionContext Error: Current transaction is aborted", "25P02"),
    ),
    duckdb.TransactionException: (
        (r"within a transaction", "25001"),
        (r"no transaction is active", "25P01"),
        (r"transaction is aborted", "25P02"),
        (r"[Cc]onflict", "40001"),
        (r"read-only mode", "25006"),
    ),
    duckdb.IOException: (
        (r"^No files found|No such file", "58P01"),
        (r"^Extension .* not found", "58P01"),
        (r"Permission denied", "42501"),
    ),
}  # fmt: skip

_EXISTS_ALREADY = (
    (r"^Schema", "42P06"), (r"^Column", "42701"), (r"Function|Macro", "42723"), (r"^Type", "42710"),
    (r"^(Table|View|Sequence|Index)", "42P07"),
)  # fmt: skip


def sqlstate_of(error: BaseException, message: str) -> str:
    """The five letters; `message` is the error's own, without the words that DuckDB puts before it."""
    if isinstance(error, errors.ProtocolError):
        return error.sqlstate
    if isinstance(error, duckdb.CatalogException) and "already exists" in message:
        return _first(_EXISTS_ALREADY, message) or "42710"
    kinds = type(error).__mro__
    rules = next((_BY_WORDS[kind] for kind in kinds if kind in _BY_WORDS), ())
    return _first(rules, message) or next((_BY_CLASS[kind] for kind in kinds if kind in _BY_CLASS), UNKNOWN)


def is_mapped(kind: type[BaseException]) -> bool:
    """Whether an exception's own class has a code, not only one above it."""
    return kind in _BY_CLASS


def _first(rules: Sequence[tuple[str, str]], message: str) -> str | None:
    return next((code for pattern, code in rules if re.search(pattern, message, re.DOTALL)), None)
