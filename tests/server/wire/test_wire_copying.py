"""COPY statements: what is read from each text, and which options go together."""

from __future__ import annotations

import pytest

from relserve.errors import ProtocolError
from relserve.server.wire.copy_options import ALL_COLUMNS, CODECS, CopyOptions
from relserve.server.wire.copy_reader import CopyReader
from relserve.server.wire.copying import CopyFrom, CopyTo, read_copy

CSV = CopyOptions("csv", ",", "")


@pytest.mark.parametrize(
    ("sql", "copy"),
    [
        ("copy t from stdin", CopyFrom("t", (), CopyOptions())),
        ('COPY "a b".t (a, "B c") FROM STDIN;', CopyFrom('"a b".t', ("a", "B c"), CopyOptions())),
        ("copy a . b . c from stdin with csv", CopyFrom("a . b . c", (), CSV)),
        ("-- x\n/* y */ copy t to stdout -- z", CopyTo("SELECT * FROM t", CopyOptions())),
        ('copy t (a, "b""c") to stdout', CopyTo('SELECT "a", "b""c" FROM t', CopyOptions())),
        (
            "copy (select 'x)', $$to stdout$$ -- )\n, (1)) to stdout",
            CopyTo("select 'x)', $$to stdout$$ -- )\n, (1)", CopyOptions()),
        ),
        (
            "copy t from stdin (format csv, header, delimiter E'\\t', null 'NA')",
            CopyFrom("t", (), CSV._replace(delimiter="\t", null="NA", header="yes")),
        ),
        (
            "copy t from stdin with (FORMAT 'csv', header match, quote '''', escape '\\')",
            CopyFrom("t", (), CSV._replace(header="match", quote="'", escape="\\")),
        ),
        (
            "copy t from stdin (format csv, quote '''')",
            CopyFrom("t", (), CSV._replace(quote="'", escape="'")),
        ),
        (
            "copy t from stdin (header false, encoding 'LATIN1')",
            CopyFrom("t", (), CopyOptions(codec="iso8859-1")),
        ),
        ("copy t from stdin (encoding WIN1252, freeze)", CopyFrom("t", (), CopyOptions(codec="cp1252"))),
        (
            "copy t to stdout (format csv, force_quote *)",
            CopyTo("SELECT * FROM t", CSV._replace(force_quote=ALL_COLUMNS)),
        ),
        (
            'copy t to stdout (format csv, force_quote (a, "B"))',
            CopyTo("SELECT * FROM t", CSV._replace(force_quote=("a", "B"))),
        ),
        (
            "copy t from stdin csv header delimiter as ';' null as '-' force not null a, b force null c",
            CopyFrom(
                "t",
                (),
                CSV._replace(
                    delimiter=";", null="-", header="yes", force_not_null=("a", "b"), force_null=("c",)
                ),
            ),
        ),
        (
            "copy t to stdout with csv force quote * encoding 'utf-8'",
            CopyTo("SELECT * FROM t", CSV._replace(force_quote=ALL_COLUMNS)),
        ),
        ("copy binary t from stdin", CopyFrom("t", (), CopyOptions("binary"))),
        ("copy t to stdout (format binary)", CopyTo("SELECT * FROM t", CopyOptions("binary"))),
        ("copy t from stdin with delimiter '|'", CopyFrom("t", (), CopyOptions(delimiter="|"))),
    ],
)
def test_statements(sql: str, copy: CopyFrom | CopyTo) -> None:
    assert read_copy(sql) == copy


@pytest.mark.parametrize(
    "sql",
    [
        "select 1", "", "copyright", "copy t from 'x.csv'", "copy t to '/tmp/x' (format parquet)",
        "copy (select * from t) to 'x.csv'", "copy from database a to b", "select 'copy t from stdin'",
        "copy t from 'stdin'", "COPY", "copy (select 1 from stdin) to 'x.csv'",
    ],
)  # fmt: skip
def test_texts_that_are_duckdbs(sql: str) -> None:
    assert read_copy(sql) is None


@pytest.mark.parametrize(
    ("sql", "sqlstate", "words"),
    [
        ("copy t from stdin (format parquet)", "22023", 'format "parquet" not recognized'),
        ("copy t from stdin (compression gzip)", "42601", 'option "compression" not recognized'),
        ("copy t from stdin garbage", "42601", "garbage is not understood"),
        ("copy t from stdin (header", "42601", "ends too early"),
        ("copy t from stdin (header true header)", "42601", "separated by commas"),
        ("copy t from stdin (header true, header false)", "42601", "given twice"),
        ("copy t from stdin (header maybe)", "42601", "Boolean value or MATCH"),
        ("copy t from stdin (delimiter 'ab')", "0A000", "one-byte character"),
        ("copy t from stdin (delimiter 'é')", "0A000", "one-byte character"),
        ("copy t from stdin (delimiter 'a')", "22023", 'delimiter cannot be "a"'),
        ("copy t from stdin (delimiter (a, b))", "42601", "takes one value"),
        ("copy t from stdin (null E'a\\nb')", "22023", "newline"),
        ("copy t from stdin (format csv, delimiter '\"')", "22023", "must be different"),
        ("copy t from stdin (format csv, null 'a,b')", "22023", "NULL specification"),
        ("copy t from stdin (quote '\"')", "0A000", "available only in CSV mode"),
        ("copy t from stdin binary null 'x'", "42601", "NULL in BINARY mode"),
        ("copy t from stdin (encoding 'klingon')", "22023", "klingon"),
        ("copy t from stdin (encoding 'bz2')", "22023", '"bz2"'),
        ("copy (select 1) from stdin", "42601", "into a table"),
        ("copy t (a b) from stdin", "42601", "ends with )"),
    ],
)  # fmt: skip
def test_statements_that_are_wrong(sql: str, sqlstate: str, words: str) -> None:
    with pytest.raises(ProtocolError) as raised:
        read_copy(sql)
    assert words in str(raised.value)
    assert raised.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    "name",
    [
        "zlib", "zip_codec", "bz2_codec", "hex", "base64", "quopri", "uu", "rot13", "idna", "punycode",
        "unicode_escape", "raw_unicode_escape", "undefined", "charmap", "utf_16", "utf_32", "utf_7", "cp037",
        "hz", "iso2022_jp", "utf_8_sig", "palmos", "",
    ],
)  # fmt: skip
def test_pythons_codecs_are_no_encodings(name: str) -> None:
    with pytest.raises(ProtocolError, match="is no encoding") as raised:
        read_copy(f"copy t from stdin (encoding '{name}')")
    assert raised.value.sqlstate == "22023"


@pytest.mark.cells(20)
@pytest.mark.parametrize("name", CODECS)
def test_every_encoding_reads_a_line_byte_by_byte(name: str) -> None:
    copy = read_copy(f"copy t from stdin (encoding '{name}', format csv)")
    assert isinstance(copy, CopyFrom)
    reader = CopyReader(["a", "b"], copy.options)
    rows = [row for byte in b'1,"x\n"\n' for row in reader.feed(bytes([byte]))] + reader.finish()
    assert rows == [["1", "x\n"]]
