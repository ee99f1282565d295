"""COPY's options: what they are by default, what each may be, and which go together."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from relserve.errors import ProtocolError

Format = Literal["text", "csv", "binary"]
ALL_COLUMNS = ("*",)
# PostgreSQL's encodings, and Python's names of those that it has. Nothing else is looked up: Python's codecs
# unpack archives, too.
CODECS = {
    "utf8": "utf-8", "unicode": "utf-8", "sqlascii": "utf-8",
    "latin1": "iso8859-1", "latin2": "iso8859-2", "latin3": "iso8859-3", "latin4": "iso8859-4",
    "latin5": "iso8859-9", "latin6": "iso8859-10", "latin7": "iso8859-13", "latin8": "iso8859-14",
    "latin9": "iso8859-15", "latin10": "iso8859-16",
    "iso88591": "iso8859-1", "iso88592": "iso8859-2", "iso88593": "iso8859-3", "iso88594": "iso8859-4",
    "iso88595": "iso8859-5", "iso88596": "iso8859-6", "iso88597": "iso8859-7", "iso88598": "iso8859-8",
    "iso88599": "iso8859-9", "iso885910": "iso8859-10", "iso885913": "iso8859-13",
    "iso885914": "iso8859-14", "iso885915": "iso8859-15", "iso885916": "iso8859-16",
    "win1250": "cp1250", "win1251": "cp1251", "win": "cp1251", "win1252": "cp1252", "win1253": "cp1253",
    "win1254": "cp1254", "win1255": "cp1255", "win1256": "cp1256", "win1257": "cp1257", "win1258": "cp1258",
    "win866": "cp866", "alt": "cp866", "win874": "cp874", "win932": "cp932", "win936": "gbk",
    "win949": "cp949",
    "windows1250": "cp1250", "windows1251": "cp1251", "windows1252": "cp1252", "windows1253": "cp1253",
    "windows1254": "cp1254", "windows1255": "cp1255", "windows1256": "cp1256", "windows1257": "cp1257",
    "windows1258": "cp1258",
    "koi8": "koi8-r", "koi8r": "koi8-r", "koi8u": "koi8-u",
    "euccn": "gb2312", "gbk": "gbk", "gb18030": "gb18030", "big5": "big5", "eucjp": "euc_jp",
    "eucjis2004": "euc_jis_2004", "sjis": "shift_jis", "shiftjis": "shift_jis",
    "shiftjis2004": "shift_jis_2004", "euckr": "euc_kr", "uhc": "cp949", "johab": "johab",
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
    codec = CODECS.get(re.sub(r"[\W_]", "", name.lower(), flags=re.ASCII))
    if codec is None:
        raise ProtocolError(
            f'argument to option "encoding" is no encoding: "{name}"', "22023",
            "It is one of PostgreSQL's, such as UTF8, LATIN1, WIN1252, EUC_JP, GB18030.",
        )  # fmt: skip
    return codecs.lookup(codec).name


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
