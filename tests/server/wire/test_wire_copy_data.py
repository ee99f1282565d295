"""COPY's data: as PostgreSQL writes them, and read in pieces cut anywhere."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relserve.errors import ProtocolError
from relserve.server.wire.copy_options import CopyOptions, copy_options
from relserve.server.wire.copy_reader import CopyReader, Row
from relserve.server.wire.copy_writer import CopyWriter
from relserve.server.wire.copying import CopyTo, read_copy
from relserve.server.wire.types import TEXT, PgType, ResultColumn, pg_type

FORMS = (
    "", "delimiter '|'", "null ''", "header", "format csv", "format csv, header match", "encoding 'gb18030'",
    "format csv, quote '''', escape '\\'", "format csv, null 'NA', force_quote *", "format csv, escape '#'",
    "format csv, delimiter ';'", "format binary",
)  # fmt: skip
NAMES = ["a", "b b"]
texts = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6) | st.sampled_from(
    [
        "",
        "\\",
        "\\N",
        "\\.",
        "\n",
        "\r",
        "\r\n",
        "\t",
        ",",
        ";",
        '"',
        '""',
        "'",
        "\\x41",
        "\\n",
        "NA",
        "a b",
        "#",
        "|",
    ]
)
rows_of_texts = st.lists(st.tuples(st.none() | texts, st.none() | texts), max_size=6)


def options_of(form: str) -> CopyOptions:
    copy = read_copy(f"copy t to stdout ({form})" if form else "copy t to stdout")
    assert isinstance(copy, CopyTo)
    return copy.options


def payload(messages: bytes) -> list[bytes]:
    """What is in CopyData messages."""
    pieces, at = [], 0
    while at < len(messages):
        kind, size = struct.unpack_from("!ci", messages, at)
        assert kind == b"d"
        pieces.append(messages[at + 5 : at + 1 + size])
        at += 1 + size
    return pieces


def write(batch: pa.RecordBatch, columns: Sequence[ResultColumn], options: CopyOptions) -> list[bytes]:
    writer = CopyWriter(columns, options)
    return payload(writer.start() + writer.rows(batch) + writer.end())


def written(rows: Sequence[Sequence[str | None]], options: CopyOptions) -> bytes:
    columns = [ResultColumn(name, PgType(TEXT)) for name in NAMES]
    arrays = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(NAMES))]
    return b"".join(write(pa.RecordBatch.from_arrays(arrays, NAMES), columns, options))


def read(
    data: bytes, options: CopyOptions, cuts: Sequence[int] = (), names: Sequence[str] = NAMES
) -> list[Row]:
    """The rows of data that come in pieces, cut at these places."""
    reader = CopyReader(names, options)
    ends = [*sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    starts = [0, *ends[:-1]]
    rows = [row for start, end in zip(starts, ends, strict=True) for row in reader.feed(data[start:end])]
    return rows + reader.finish()


@pytest.mark.cells(1)
@pytest.mark.parametrize("form", FORMS)
@given(rows=rows_of_texts, cuts=st.lists(st.integers(0, 200), max_size=6))
@example(rows=[("\\.", None)], cuts=[])
@example(rows=[("a\r", "b")], cuts=[])
def test_rows_are_the_same_after_a_way_out_and_in(
    form: str, rows: list[tuple[str | None, ...]], cuts: list[int]
) -> None:
    options = options_of(form)
    if options.null == "" and options.format == "text":
        rows = [tuple(value or None for value in row) for row in rows]  # an empty text is NULL there
    found = read(written(rows, options), options, cuts)
    expected = [
        [value if value is None or form != "format binary" else value.encode() for value in row]
        for row in rows
    ]
    assert found == expected


@pytest.mark.cells(2)
@pytest.mark.parametrize("form", FORMS)
@given(data=st.binary(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=4))
def test_any_bytes_give_rows_or_a_protocol_error(form: str, data: bytes, cuts: list[int]) -> None:
    results: list[list[Row] | None] = []
    for each in ([], cuts):
        try:
            results.append(read(data, options_of(form), each))
        except ProtocolError:
            results.append(None)
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (
            "",
            [
                b"1\ta,b\n",
                b"2\t\\N\n",
                b'3\tx"y\n',
                b"4\tn\\n\\t\\\\x\\b\\f\\r\\v\n",
                b"5\t\n",
                b"6\t\\\\N\n",
            ],
        ),
        (
            "header, delimiter ','",
            [
                b"i,s\n",
                b"1,a\\,b\n",
                b"2,\\N\n",
                b'3,x"y\n',
                b"4,n\\n\\t\\\\x\\b\\f\\r\\v\n",
                b"5,\n",
                b"6,\\\\N\n",
            ],
        ),
        (
            "format csv, header",
            [
                b"i,s\n",
                b'1,"a,b"\n',
                b"2,\n",
                b'3,"x""y"\n',
                b'4,"n\n\t\\x\b\f\r\v"\n',
                b'5,""\n',
                b"6,\\N\n",
            ],
        ),
        (
            "format csv, force_quote (i), escape '\\'",
            [
                b'"1","a,b"\n',
                b'"2",\n',
                b'"3","x\\"y"\n',
                b'"4","n\n\t\\\\x\b\f\r\v"\n',
                b'"5",""\n',
                b'"6",\\N\n',
            ],
        ),
        (
            "format binary",
            [
                b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\0\2\0\0\0\4\0\0\0\1\0\0\0\3a,b",
                b"\0\2\0\0\0\4\0\0\0\2\xff\xff\xff\xff",
                b'\0\2\0\0\0\4\0\0\0\3\0\0\0\3x"y',
                b"\0\2\0\0\0\4\0\0\0\4\0\0\0\x09n\n\t\\x\b\f\r\v",
                b"\0\2\0\0\0\4\0\0\0\5\0\0\0\0",
                b"\0\2\0\0\0\4\0\0\0\6\0\0\0\2\\N",
                b"\xff\xff",
            ],
        ),
    ],
)
def test_lines_are_postgresqls(form: str, lines: list[bytes]) -> None:
    """As PostgreSQL 15.18 wrote them for the same rows."""
    values = ["a,b", None, 'x"y', "n\n\t\\x\b\f\r\v", "", "\\N"]
    batch = pa.RecordBatch.from_arrays([pa.array(range(1, 7), pa.int32()), pa.array(values)], ["i", "s"])
    columns = [ResultColumn("i", pg_type("INTEGER")), ResultColumn("s", pg_type("VARCHAR"))]
    assert write(batch, columns, options_of(form)) == lines


@pytest.mark.parametrize(
    ("form", "data", "rows"),
    [
        ("", b"1\tx\\ty\\\\z\\x41\\101\\xC3\\xA9\n", [["1", "x\ty\\zAAé"]]),
        ("", b"1\t2", [["1", "2"]]),
        ("", b"1\t2\n\\.\nrubbish", [["1", "2"]]),
        ("", b"1\t2\r\n3\t4\r\n", [["1", "2"], ["3", "4"]]),
        ("", b"1\t2\r\n3\t4", [["1", "2"], ["3", "4"]]),
        ("format csv, header", b'x,"y\nz"\n1,2\n', [["1", "2"]]),
        ("header", b"x\n1\t2\n", [["1", "2"]]),
        ("header match", b"a\tb b\n1\t2\n", [["1", "2"]]),
        ("format csv", b'1,"a\n""b"",c"\r\n', [["1", 'a\n"b",c']]),
        ("format csv", b'x"y"z,\n', [["xyz", None]]),
        ("format csv", b'"",\n', [["", None]]),
        ("format csv, force_null *", b'"",x\n', [[None, "x"]]),
        ("format csv, force_not_null (a)", b",\n", [["", None]]),
        ("format csv", b'1,"a\r\n"\r\n', [["1", "a\r\n"]]),
        ("encoding latin1", b"\xe9\t\\N\n", [["é", None]]),
        ("format csv", b"1,2\n\\.\n", [["1", "2"]]),
        ("format csv, escape '\\'", b'"\\"\\\\\\a",\n', [['"\\\\a', None]]),
        (
            "format binary",
            b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\2xx\0\2\0\0\0\1a\xff\xff\xff\xff\xff\xff",
            [[b"a", None]],
        ),
        ("format binary", b"PGCOPY\n\xff\r\n\0" + bytes(8), []),
    ],
)
def test_data_that_clients_send(form: str, data: bytes, rows: list[Row]) -> None:
    assert read(data, options_of(form)) == rows
    assert read(data, options_of(form), range(len(data))) == rows


@pytest.mark.parametrize(
    ("form", "data", "words"),
    [
        ("", b"1\n", 'missing data for column "b b" (COPY, line 1)'),
        ("", b"1\t2\n1\t2\t3\n", "extra data after last expected column (COPY, line 2)"),
        ("", b"1\t2\n3\tx\ry\n", "carriage return stands in the data"),
        ("", b"1\t2\r\n3\t4\n", "newline stands alone"),
        ("", b"1\t2\\", "ends with a backslash"),
        ("header match", b"a\tc\n", "the header names"),
        ("format csv", b'1,"2', "unterminated CSV quoted field (COPY, line 1)"),
        ("format csv", b"1,x\ry\n", "carriage return"),
        ("", b"\xff\t1\n", "invalid byte sequence for encoding utf-8: 0xff"),
        ("", b"1\t\\xff\n", "invalid byte sequence"),
        ("format binary", b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\xff\xffx", "after the end marker"),
        ("format binary", b"PGCOPX", "signature not recognized"),
        ("format binary", b"PG", "unexpected end"),
        ("format binary", b"PGCOPY\n\xff\r\n\0\x80\0\0\0\0\0\0\0", "critical flags"),
        (
            "format binary",
            b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\0\3",
            "row field count is 3, expected 2 (COPY, row 1)",
        ),
        ("format binary", b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\0\2\xff\xff\xff\xfe", "invalid field size"),
        ("format binary", b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\0\2\0\0\0\5a", "unexpected end"),
    ],
)
def test_malformed_data(form: str, data: bytes, words: str) -> None:
    with pytest.raises(ProtocolError) as raised:
        read(data, options_of(form))
    assert words in str(raised.value)


def test_options_name_columns_that_there_are() -> None:
    with pytest.raises(ProtocolError, match='"x" not referenced by COPY'):
        CopyWriter([ResultColumn("a", PgType(TEXT))], copy_options({"format": "csv", "force_quote": ("x",)}))
    with pytest.raises(ProtocolError, match='"x" not referenced by COPY'):
        CopyReader(["a"], copy_options({"format": "csv", "force_null": ("x",)}))


def test_a_character_that_an_encoding_has_not() -> None:
    with pytest.raises(ProtocolError, match="no equivalent in encoding iso8859-1") as raised:
        written([("中", None)], options_of("encoding latin1"))
    assert raised.value.sqlstate == "22P05"


def test_a_line_of_many_pieces_is_read_in_time() -> None:
    piece = b"x" * 10_000
    reader = CopyReader(["a"], CopyOptions())
    for _ in range(2_000):
        assert reader.feed(piece) == []
    (row,) = reader.feed(b"\n")
    assert row == ["x" * 20_000_000]


def test_a_row_of_many_pieces_in_binary_is_read_in_time() -> None:
    """A field that is whole is not copied again with each byte of the next one."""
    reader, size = CopyReader(["a", "b"], options_of("format binary")), 20_000_000
    reader.feed(b"PGCOPY\n\xff\r\n\0" + bytes(8) + struct.pack("!hi", 2, size) + bytes(size))
    reader.feed(struct.pack("!i", 2_000))
    for _ in range(1_999):
        assert reader.feed(b"x") == []
    (row,) = reader.feed(b"x")
    assert row == [bytes(size), b"x" * 2_000]


@pytest.mark.parametrize(
    ("form", "pieces"),
    [("", [b"x" * 60, b"x" * 60]), ("format csv", [b'"' + b"x" * 60 + b"\n", b"x" * 60 + b"\n"]),
     ("format binary", [b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\0\2\0\0\0\x40", bytes(64), b"\0\0\0\x40"])],
)  # fmt: skip
def test_a_row_that_does_not_end_is_refused(
    form: str, pieces: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relserve.server.wire.copy_reader.ROW_LIMIT", 100)
    reader = CopyReader(NAMES, options_of(form))
    for piece in pieces[:-1]:
        assert reader.feed(piece) == []
    with pytest.raises(ProtocolError, match=r"longer than 0 MiB|invalid field size"):
        reader.feed(pieces[-1])
