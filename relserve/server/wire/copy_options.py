"""COPY's options: what they are by default, what each may be, and which go together."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Literal, NamedTuple

from relserve.errors import ProtocolError

Format = Literal["text", "csv", "binary"]
ALL_COLUMNS = ("*",)
_CODECS = {
    "utf8": "utf-8", "unicode": "utf-8", "sqlascii": "utf-8", "latin1": "latin-1", "latin2": "iso8859-2",
    "latin9": "iso8859-15", "euccn": "gb2312", "eucjp": "euc_jp", "euckr": "euc_kr", "sjis": "shift_jis",
}  # fmt: skip
_NAMES = (
    "format", "delimiter", "null", "header", "quote", "escape", "force_quote", "force_not_null", "force_null",
    "encoding", "freeze",
)  # fmt: skip
_OF_CSV = ("quote", "escape", "force_quote", "force_not_null", "force_null")
_TRUE, _FALSE = ("true", "on", "1", ""), ("false", "off", "0")
Given = str | tuple[str, ...]


class CopyOptions(NamedTuple):
    """How COPY's data are written; `header` is "match" where the first line must name the columns.

    `force_quote`, `force_not_null` and `force_null` name columns of CSV; ("*",) is all of them.
    """

    format: Format = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: Literal["no", "yes", "match"] = "no"
    quote: str = '"'
    escape: str = '"'
    force_quote: tuple[str, ...] = ()
    force_not_null: tuple[str, ...] = ()
    force_null: tuple[str, ...] = ()
    codec: str = "utf-8"


def copy_options(given: Mapping[str, Given]) -> CopyOptions:
    """The options of a COPY, those not given as PostgreSQL has them.

    Raises:
        ProtocolError: an option is unknown, of a wrong value, or of another format.
    """
    unknown = [name for name in given if name not in _NAMES]
    if unknown:
        raise ProtocolError(
            f'option "{unknown[0]}" not recognized', "42601", f"COPY knows {', '.join(_NAMES)}."
        )
    kind = _format(given)
    quote = _character(given, "quote", '"')
    options = CopyOptions(
        kind,
        _character(given, "delimiter", "," if kind == "csv" else "\t"),
        _word(given, "null", "" if kind == "csv" else "\\N"),
        _header(given),
        quote,
        _character(given, "escape", quote),
        _columns(given, "force_quote"),
        _columns(given, "force_not_null"),
        _columns(given, "force_null"),
        _codec(_word(given, "encoding", "utf8")),
    )
    _check(options, given)
    return options


def _format(given: Mapping[str, Given]) -> Format:
    match _word(given, "format", "text").lower():
        case "text":
            return "text"
        case "csv":
            return "csv"
        case "binary":
            return "binary"
        case other:
            raise ProtocolError(
                f'COPY format "{other}" not recognized',
                "22023",
                "Formats to and from a client are text, csv, binary.",
            )


def _header(given: Mapping[str, Given]) -> Literal["no", "yes", "match"]:
    word = _word(given, "header", "false").lower()
    if word == "match":
        return "match"
    if word not in _TRUE + _FALSE:
        raise ProtocolError(f"header requires a Boolean value or MATCH, not {word!r}", "42601")
    return "yes" if word in _TRUE else "no"


def _word(given: Mapping[str, Given], name: str, default: str) -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise ProtocolError(f"COPY {name} takes one value, not a list", "42601")
    return value


def _character(given: Mapping[str, Given], name: str, default: str) -> str:
    value = _word(given, name, default)
    if len(value.encode()) != 1:
        raise ProtocolError(f"COPY {name} must be a single one-byte character", "0A000")
    return value


def _columns(given: Mapping[str, Given], name: str) -> tuple[str, ...]:
    value = given.get(name, ())
    return (value,) if isinstance(value, str) else value


def _codec(name: str) -> str:
    plain = name.lower().replace("-", "").replace("_", "")
    try:
        return codecs.lookup(_CODECS.get(plain, plain.replace("win", "cp"))).name
    except LookupError as error:
        raise ProtocolError(f'argument to option "encoding" is no encoding: "{name}"', "22023") from error


def _check(options: CopyOptions, given: Mapping[str, Given]) -> None:
    """What PostgreSQL refuses together."""
    if options.format == "binary" and (
        wrong := [name for name in given if name in ("delimiter", "null", "header")]
    ):
        raise ProtocolError(f"cannot specify {wrong[0].upper()} in BINARY mode", "42601")
    if options.format != "csv" and (wrong := [name for name in given if name in _OF_CSV]):
        raise ProtocolError(f"COPY {wrong[0]} available only in CSV mode", "0A000")
    if options.delimiter in "\r\n" or any(char in options.null for char in "\r\n"):
        raise ProtocolError("COPY delimiter and null cannot be or hold a newline or carriage return", "22023")
    if options.format == "csv" and options.delimiter == options.quote:
        raise ProtocolError("COPY delimiter and quote must be different", "22023")
    if options.format == "text" and options.delimiter in "\\.abcdefghijklmnopqrstuvwxyz0123456789":
        raise ProtocolError(f'COPY delimiter cannot be "{options.delimiter}"', "22023")
    special = options.delimiter + (options.quote if options.format == "csv" else "")
    if options.format != "binary" and any(char in options.null for char in special):
        raise ProtocolError("COPY delimiter or quote must not appear in the NULL specification", "22023")
