"""Values of every type of DuckDB's from a table through COPY's data into another table."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import duckdb
import pyarrow as pa
import pytest

from relserve.errors import ProtocolError
from relserve.server.wire.copy_batches import copied_batch
from relserve.server.wire.copy_options import CopyOptions, copy_options
from relserve.server.wire.copy_reader import CopyReader, Row
from relserve.server.wire.copy_writer import CopyWriter
from relserve.server.wire.types import ResultColumn, pg_type

TYPES = (
    "b BOOLEAN, i INTEGER, h HUGEINT, u UBIGINT, f DOUBLE, n DECIMAL(10, 2), s VARCHAR, x BLOB, d DATE, "
    "ts TIMESTAMP, tz TIMESTAMPTZ, tm TIME, tt TIMETZ, iv INTERVAL, id UUID, j JSON, l INTEGER[], "
    "ls VARCHAR[], xs BLOB[], ds DATE[], nl INTEGER[][], e ENUM('a', 'b'), bt BIT, st STRUCT(a INTEGER)"
)
VALUES = (
    "true, -1, 170141183460469231731687303715884105727, 18446744073709551615, 'nan', 1.50, "
    "E'a\\tb\\\\c\\n', '\\xDE'::BLOB, '0044-03-15 (BC)', 'infinity', '2020-01-01 12:00:00.5+01', '24:00:00', "
    "'12:00:00+02', "
    "INTERVAL '1 month -3 days 04:05:06', 'fc0e9bd4-2c76-4e21-b685-e17aa2a233c3', '{\"a\": 1}', [1, NULL], "
    "['a b', 'q\"', NULL], ['\\xDE'::BLOB], ['infinity'::DATE], [[1], [2, 3]], 'b', '10101', {'a': 1}"
)


def sent_back(batch: pa.RecordBatch, columns: Sequence[ResultColumn], options: CopyOptions) -> list[Row]:
    """What a client reads that gets its own COPY back, a message at a time."""
    writer = CopyWriter(columns, options)
    reader = CopyReader([column.name for column in columns], options)
    messages = writer.start() + writer.rows(batch) + writer.end()
    rows: list[Row] = []
    while messages:
        (size,) = struct.unpack_from("!i", messages, 1)
        rows += reader.feed(messages[5 : 1 + size])
        messages = messages[1 + size :]
    return rows + reader.finish()


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_values_of_every_type_come_back_into_a_table(form: str) -> None:
    con = duckdb.connect()
    con.execute("SET arrow_lossless_conversion = true")
    con.execute(f"CREATE TABLE t({TYPES})")
    con.execute(f"INSERT INTO t VALUES ({VALUES})")
    con.execute(
        "INSERT INTO t SELECT * FROM (SELECT NULL) RIGHT JOIN (SELECT 1) ON false"
        if False
        else "INSERT INTO t DEFAULT VALUES"
    )
    columns = [ResultColumn(name, pg_type(kind)) for name, kind, *_ in con.execute("DESCRIBE t").fetchall()]
    (batch,) = con.sql("FROM t").to_arrow_reader()
    options = copy_options({"format": form})
    rows = sent_back(batch, columns, options)
    back = copied_batch(rows, columns, is_binary=options.format == "binary")
    con.execute("CREATE TABLE t2 AS FROM t LIMIT 0")
    con.register("back", back)
    con.execute("INSERT INTO t2 FROM back")
    assert con.execute("SELECT count(*) FROM t2").fetchone() == (2,)
    assert con.execute("(FROM t EXCEPT FROM t2) UNION ALL (FROM t2 EXCEPT FROM t)").fetchall() == []


def test_a_value_that_is_not_of_its_columns_type() -> None:
    columns = [ResultColumn("l", pg_type("INTEGER[]"))]
    with pytest.raises(ProtocolError, match="malformed array literal"):
        copied_batch([["1,2"]], columns, is_binary=False)
    with pytest.raises(ProtocolError, match="array parameter"):
        copied_batch([[b"\0"]], columns, is_binary=True)


def test_doubles_for_a_column_of_4_bytes_are_refused() -> None:
    with pytest.raises(ProtocolError, match="4 bytes") as told:
        copied_batch([[bytes(8)]], [ResultColumn("f", pg_type("FLOAT"))], is_binary=True)
    assert "with DOUBLE" in str(told.value.hint)
