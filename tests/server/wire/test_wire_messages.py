"""Messages both ways: what a client's bytes mean, that no bytes do harm, and what the server's look like."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from relserve.errors import ProtocolError
from relserve.server.wire import backend, frontend
from relserve.server.wire.backend import ErrorFields
from relserve.server.wire.frontend import formats_of_each, read_message, read_startup
from relserve.server.wire.types import INT4, NUMERIC, PgType, ResultColumn, numeric

VERSION_3 = struct.pack("!I", 3 << 16)
KINDS = [bytes([kind]) for kind in range(256)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (VERSION_3 + b"user\0bob\0database\0d\xc3\xa9\0\0",
         frontend.StartupMessage(0, {"user": "bob", "database": "dé"})),
        (struct.pack("!I", 3 << 16 | 2) + b"user\0bob\0\0", frontend.StartupMessage(2, {"user": "bob"})),
        (struct.pack("!I", 80877103), frontend.SSLRequest()),
        (struct.pack("!I", 80877104), frontend.GSSENCRequest()),
        (struct.pack("!II", 80877102, 4_000_000_000) + b"key!",
         frontend.CancelRequest(4_000_000_000, b"key!")),
    ],
)  # fmt: skip
def test_first_messages(data: bytes, message: frontend.Startup) -> None:
    assert read_startup(data) == message


@pytest.mark.parametrize(
    ("data", "sqlstate", "words"),
    [
        (b"", "08P01", "byte 0 of 0, 4 more wanted"),
        (struct.pack("!I", 2 << 16) + b"x", "0A000", "unsupported frontend protocol 2.0"),
        (VERSION_3 + b"\0", "28000", "no PostgreSQL user name"),
        (VERSION_3 + b"user\0bob\0", "08P01", "no zero byte"),
        (VERSION_3 + b"user\0bob\0\0x", "08P01", "1 bytes too many"),
        (VERSION_3 + b"user\0\xff\0\0", "22021", "0xff"),
        (struct.pack("!I", 80877103) + b"x", "08P01", "too many"),
    ],
)
def test_first_messages_that_are_wrong(data: bytes, sqlstate: str, words: str) -> None:
    with pytest.raises(ProtocolError, match=words) as raised:
        read_startup(data)
    assert raised.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (b"Q", b"SELECT 1\0", frontend.Query("SELECT 1")),
        (b"P", b"s\0SELECT $1\0\0\2\0\0\0\x17\xff\xff\xff\xff",
         frontend.Parse("s", "SELECT $1", (INT4, 4_294_967_295))),
        (b"B", b"p\0s\0\0\1\0\1\0\2\0\0\0\2\0\5\xff\xff\xff\xff\0\2\0\0\0\1",
         frontend.Bind("p", "s", (1, 1), (b"\0\5", None), (0, 1))),
        (b"B", b"\0\0\0\0\0\0\0\0", frontend.Bind("", "", (), (), ())),
        (b"D", b"Sname\0", frontend.Describe("S", "name")),
        (b"C", b"P\0", frontend.Close("P", "")),
        (b"E", b"p\0\0\0\0\5", frontend.Execute("p", 5)),
        (b"E", b"p\0\xff\xff\xff\xff", frontend.Execute("p", 0)),
        (b"H", b"", frontend.Flush()),
        (b"S", b"", frontend.Sync()),
        (b"p", b"secret\0", frontend.PasswordMessage(b"secret\0")),
        (b"d", b"\0\1", frontend.CopyData(b"\0\1")),
        (b"c", b"", frontend.CopyDone()),
        (b"f", b"no more\0", frontend.CopyFail("no more")),
        (b"X", b"", frontend.Terminate()),
    ],
)  # fmt: skip
def test_messages_of_a_session(kind: bytes, data: bytes, message: frontend.Message) -> None:
    assert read_message(kind, data) == message


@pytest.mark.parametrize(
    ("kind", "data", "sqlstate", "words"),
    [
        (b"Q", b"SELECT 1", "08P01", "no zero byte"),
        (b"Q", b"\xc3\x28\0", "22021", "0xc3 0x28"),
        (b"Q", b"a\0b\0", "08P01", "2 bytes too many"),
        (
            b"B",
            b"\0\0\0\2\0\0\0\0\0\1\0\0\0\0\0\0",
            "08P01",
            "2 parameter formats but there are 1 parameters",
        ),
        (b"B", b"\0\0\0\1\0\2\0\0\0\0", "22023", "format code: 2"),
        (b"B", b"\0\0\0\0\0\1\xff\xff\xff\xfe", "08P01", "-2 more wanted"),
        (b"B", b"\0\0\0\0\0\1\0\0\0\5ab", "08P01", "5 more wanted"),
        (b"D", b"X\0", "08P01", "subtype 88"),
        (b"F", b"", "0A000", "function calls"),
        (b"!", b"", "08P01", "message type 33"),
        (b"", b"", "08P01", "message type"),
    ],
)
def test_messages_that_are_wrong(kind: bytes, data: bytes, sqlstate: str, words: str) -> None:
    with pytest.raises(ProtocolError, match=words) as raised:
        read_message(kind, data)
    assert raised.value.sqlstate == sqlstate


def test_steps_of_a_login() -> None:
    assert frontend.PasswordMessage("pä\0".encode()).password() == "pä"
    first = frontend.PasswordMessage(b"SCRAM-SHA-256\0\0\0\0\5n,,n=")
    assert first.sasl_initial() == ("SCRAM-SHA-256", b"n,,n=")
    assert frontend.PasswordMessage(b"SCRAM-SHA-256\0\xff\xff\xff\xff").sasl_initial()[1] == b""


def outcome(read: Callable[[], Any]) -> Any:
    """What was read, or the error of the protocol that says why not; any other error is a failure."""
    try:
        return read()
    except ProtocolError as error:
        return error


@given(st.sampled_from(KINDS), st.binary(max_size=60))
@example(b"P", b"\0\0\xff\xff")
@example(b"B", b"\0\0\0\0\xff\xff\0\0\0\0")
def test_no_bytes_give_anything_but_a_message_or_a_protocol_error(kind: bytes, data: bytes) -> None:
    assert isinstance(outcome(lambda: read_message(kind, data)), frontend.Message | ProtocolError)


@given(st.sampled_from([VERSION_3, b"", struct.pack("!I", 80877102)]), st.binary(max_size=40))
def test_no_first_bytes_give_anything_but_a_message_or_a_protocol_error(start: bytes, data: bytes) -> None:
    assert isinstance(outcome(lambda: read_startup(start + data)), frontend.Startup | ProtocolError)


@given(st.binary(max_size=30), st.text(max_size=9).filter(lambda text: "\0" not in text))
def test_a_message_that_is_cut_short_is_an_error(parameter: bytes, name: str) -> None:
    whole = name.encode() + b"\0\0\0\0\0\1" + struct.pack("!i", len(parameter)) + parameter + b"\0\0"
    assert read_message(b"B", whole) == frontend.Bind(name, "", (0,), (parameter,), ())
    for end in range(len(whole)):
        with pytest.raises(ProtocolError):
            read_message(b"B", whole[:end])


def test_formats_of_each_column() -> None:
    assert formats_of_each((), 2) == (0, 0)
    assert formats_of_each((1,), 3) == (1, 1, 1)
    assert formats_of_each((0, 1), 2) == (0, 1)
    with pytest.raises(ProtocolError, match="2 result column formats but there are 3 result columns"):
        formats_of_each((0, 1), 3)


@pytest.mark.parametrize(
    ("message", "data"),
    [
        (backend.authentication_ok(), b"R\0\0\0\x08\0\0\0\0"),
        (backend.authentication_sasl(["A"]), b"R\0\0\0\x0b\0\0\0\x0aA\0\0"),
        (backend.authentication_sasl_continue(b"r"), b"R\0\0\0\x09\0\0\0\x0br"),
        (backend.authentication_sasl_final(b"v"), b"R\0\0\0\x09\0\0\0\x0cv"),
        (backend.parameter_status("a", "b"), b"S\0\0\0\x08a\0b\0"),
        (backend.backend_key_data(7, b"key!"), b"K\0\0\0\x0c\0\0\0\7key!"),
        (backend.negotiate_protocol_version(0, ["_pq_.x"]), b"v\0\0\0\x13\0\3\0\0\0\0\0\1_pq_.x\0"),
        (backend.ready_for_query(b"T"), b"Z\0\0\0\5T"),
        (backend.parameter_description([23, 4_294_967_295]), b"t\0\0\0\x0e\0\2\0\0\0\x17\xff\xff\xff\xff"),
        (backend.no_data(), b"n\0\0\0\4"),
        (backend.parse_complete(), b"1\0\0\0\4"),
        (backend.bind_complete(), b"2\0\0\0\4"),
        (backend.close_complete(), b"3\0\0\0\4"),
        (backend.portal_suspended(), b"s\0\0\0\4"),
        (backend.command_complete("SELECT 5"), b"C\0\0\0\rSELECT 5\0"),
        (backend.empty_query_response(), b"I\0\0\0\4"),
        (backend.copy_in_response([0, 0]), b"G\0\0\0\x0b\0\0\2\0\0\0\0"),
        (backend.copy_out_response([1]), b"H\0\0\0\x09\1\0\1\0\1"),
        (backend.copy_data(b"x"), b"d\0\0\0\5x"),
        (backend.copy_done(), b"c\0\0\0\4"),
    ],
)
def test_messages_of_the_server(message: bytes, data: bytes) -> None:
    assert message == data


def test_the_columns_of_a_result() -> None:
    columns = [
        ResultColumn("i", PgType(INT4), 16385, 1),
        ResultColumn("n", numeric(10, 2)),
        ResultColumn("l", PgType(1007, -1, INT4)),
    ]
    assert backend.row_description(columns, (1, 0, 0)) == b"T\0\0\0\x42\0\3" + b"".join((
        b"i\0" + struct.pack("!ihihih", 16385, 1, INT4, 4, -1, 1),
        b"n\0" + struct.pack("!ihihih", 0, 0, NUMERIC, -1, 655366, 0),
        b"l\0" + struct.pack("!ihihih", 0, 0, 1007, -1, -1, 0),
    ))  # fmt: skip


def test_errors_and_notices() -> None:
    fields = ErrorFields("ERROR", "42703", 'no column "é\0"', hint="Look.", position=8)
    body = b'SERROR\0VERROR\0C42703\0Mno column "\xc3\xa9\\0"\0HLook.\0P8\0\0'
    assert backend.error_response(fields) == b"E" + struct.pack("!i", len(body) + 4) + body
    assert backend.notice_response(fields)[:1] == b"N"
    assert b"Ddetail\0" in backend.error_response(fields._replace(detail="detail"))
    assert b"\\udcff" in backend.error_response(fields._replace(message="\udcff"))


@pytest.mark.parametrize("lacks", [0, 1, 3, 5])
def test_many_parameters_are_read_or_what_is_missing_is_told(lacks: int) -> None:
    sized = b"".join(struct.pack("!i", 1) + b"x" + struct.pack("!i", -1) for _ in range(500))
    body = b"\0\0" + struct.pack("!HH", 0, 1000) + sized
    if not lacks:
        assert read_message(b"B", body + b"\0\0").parameters == (b"x", None) * 500
        return
    with pytest.raises(ProtocolError, match="insufficient data left") as told:
        read_message(b"B", body[:-lacks])
    assert told.value.sqlstate == "08P01"
