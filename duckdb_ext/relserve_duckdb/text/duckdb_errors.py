"""DuckDB's exceptions by the words that its messages begin with, for errors that come as texts."""

from __future__ import annotations

import re

import duckdb

from relserve.errors import OptionError, UsageError
from relserve_duckdb.text.quoted_errors import called_at

_OPTION = re.compile(r"(?s)Invalid Input Error: (llm_\w+\(\): \w+ must be .+)")
# What query_table() says, which each table macro calls with its first argument.
_NO_TABLE = re.compile(
    r"(?s)(?:Binder Error: (?:Cannot use NULL as function argument|Table function cannot contain subqueries"
    r"|No function matches .*'query_table\()"
    r"|Parser Error: Zero-length identifier|Invalid Input Error: Input list is empty).*"
)
# A name without quotes, behind llm_calibrate's rows; `found` is the macro's own.
_UNQUOTED = re.compile(
    r'(?s)Binder Error: Referenced column "([^"\n]+)" not found in FROM clause!\n'
    r'Candidate bindings: "found"\n.*'
)
_LENGTHS = re.compile(r"left length '(\d+)' and right length '(\d+)'")
_INSIDE_ITSELF = re.compile(r'(?s).*attempting to recursively expand table macro "(llm_\w+)".*')
_BY_WORDS: dict[str, type[duckdb.Error]] = {
    "Binder Error": duckdb.BinderException, "Catalog Error": duckdb.CatalogException,
    "Connection Error": duckdb.ConnectionException, "Constraint Error": duckdb.ConstraintException,
    "Conversion Error": duckdb.ConversionException,
    "Dependency Error": duckdb.DependencyException, "HTTP Error": duckdb.HTTPException,
    "INTERNAL Error": duckdb.InternalException, "INTERRUPT Error": duckdb.InterruptException,
    "IO Error": duckdb.IOException, "Invalid Input Error": duckdb.InvalidInputException,
    "Invalid type Error": duckdb.InvalidTypeException,
    "Not implemented Error": duckdb.NotImplementedException,
    "Out of Memory Error": duckdb.OutOfMemoryException, "Out of Range Error": duckdb.OutOfRangeException,
    "Parser Error": duckdb.ParserException, "Permission Error": duckdb.PermissionException,
    "Resource In Use Error": duckdb.ResourceInUseException, "FATAL Error": duckdb.FatalException,
    "Sequence Error": duckdb.SequenceException, "Serialization Error": duckdb.SerializationException,
    "Syntax Error": duckdb.SyntaxException, "TransactionContext Error": duckdb.TransactionException,
    "Type Error": duckdb.TypeMismatchException,
}  # fmt: skip


def wrong_argument(message: str) -> UsageError | None:
    """What is wrong with an argument of a table macro of ours; None where the message is another one."""
    if told := _OPTION.fullmatch(message):
        return OptionError(told[1])
    if "cosine_similarity: " in message and (lengths := _LENGTHS.search(message)):
        return UsageError(
            f"vectors of {lengths[1]} and of {lengths[2]} numbers cannot be compared: make both by the same "
            "model, as llm_embed() does with the same option model"
        )
    if inside := _INSIDE_ITSELF.fullmatch(message):
        return UsageError(
            f"{inside[1]}() cannot read a view that calls {inside[1]}() itself; keep the view's rows in a "
            "table: CREATE TABLE kept AS FROM .."
        )
    if (unquoted := _UNQUOTED.fullmatch(message)) and called_at(message) == "llm_calibrate":
        return UsageError(f"llm_calibrate() takes a name in quotes: name := '{unquoted[1]}'")
    function = called_at(message) if _NO_TABLE.fullmatch(message) else ""
    if not function.startswith("llm_"):
        return None
    return UsageError(
        f"{function}() takes the name of a table, a view or a WITH query in quotes, such as "
        f"{function}('mails', ..), and this is none"
    )


def error_of(message: str) -> duckdb.Error | None:
    """The exception with this message; None where the message begins with no words of DuckDB's."""
    kind = _BY_WORDS.get(message.partition(":")[0])
    return None if kind is None else kind(message)
