"""DuckDB's exceptions by the words that its messages begin with, for errors that come as texts."""

from __future__ import annotations

import re

import duckdb

from relserve.errors import OptionError

_OPTION = re.compile(r"(?s)Invalid Input Error: (llm_\w+\(\): \w+ must be .+)")
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


def wrong_option(message: str) -> OptionError | None:
    """What a table macro of ours says of an option; None where the message is another one."""
    told = _OPTION.fullmatch(message)
    return None if told is None else OptionError(told[1])


def error_of(message: str) -> duckdb.Error | None:
    """The exception with this message; None where the message begins with no words of DuckDB's."""
    kind = _BY_WORDS.get(message.partition(":")[0])
    return None if kind is None else kind(message)
