"""Values of every SQL type in a prompt, one call each: as DuckDB prints them, nested ones as JSON."""

from __future__ import annotations

from sql_cases.case import Case, one

READS_AS = {
    "true": "true",
    "127::TINYINT": "127",
    "255::UTINYINT": "255",
    "-32767::SMALLINT": "-32767",
    "18446744073709551615::UBIGINT": "18446744073709551615",
    "-170141183460469231731687303715884105727::HUGEINT": "-170141183460469231731687303715884105727",
    "170141183460469231731687303715884105727::UHUGEINT": "170141183460469231731687303715884105727",
    "123456789012345678901234567890123456789012::BIGNUM": "123456789012345678901234567890123456789012",
    "1.50::DECIMAL(4, 2)": "1.50",
    "0.000000000000000001::DECIMAL(38, 18)": "0.000000000000000001",
    "0.1::FLOAT": "0.1",
    "1e300::DOUBLE": "1e+300",
    "DATE '2024-02-29'": "2024-02-29",
    "DATE '0044-03-15 (BC)'": "0044-03-15 (BC)",
    "TIME '12:30:01.5'": "12:30:01.5",
    "TIMESTAMP '2024-02-29 12:30:00'": "2024-02-29 12:30:00",
    "TIMESTAMP_S '2024-02-29 12:30:00'": "2024-02-29 12:30:00",
    "TIMESTAMP_MS '2024-02-29 12:30:00.123'": "2024-02-29 12:30:00.123",
    "TIMESTAMP_NS '2024-02-29 12:30:00.123456789'": "2024-02-29 12:30:00.123456789",
    "TIMESTAMPTZ '2024-02-29 12:30:00+02'": "2024-02-29 10:30:00+00",
    "INTERVAL '1 year 2 days'": "1 year 2 days",
    "INTERVAL 90 MINUTE": "01:30:00",
    "'10110'::BIT::VARCHAR": "10110",
    "UUID '6ba7b810-9dad-11d1-80b4-00c04fd430c8'": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "'b'::ENUM('a', 'b')": "b",
    "'abc'::BLOB": "abc",
    "'{\"k\": [1, null]}'::JSON": '{"k": [1, null]}',
    "union_value(n := 7)": "7",
    "[1, NULL, 3]": "[1, null, 3]",
    "[1, 2]::INT[2]": "[1, 2]",
    "[[1], [], NULL]": "[[1], [], null]",
    "{'a': 'é', 'b': [true]}": '{"a": "é", "b": [true]}',
    "MAP {'k': 1, 'l': NULL}": '{"k":1,"l":null}',
    "[{'d': DATE '2024-02-29'}]": '[{"d": "2024-02-29"}]',
    "''": "",
    "'it''s \"quoted\"'": 'it\'s "quoted"',
    "'{x} {} }}'": "{x} {} }}",
    "'日本語 🦆 é'": "日本語 🦆 é",
    "'a' || chr(0) || 'b'": "a\0b",
    "'100 %s %d \\n'": "100 %s %d \\n",
}

CASES = [
    *[Case(f"SELECT llm('<{{}}>', {value})", 1, rows=one(f"<{text}>")) for value, text in READS_AS.items()],
    # types from a table's column, whole chunks of them with NULLs between
    Case("SELECT llm('{}', v) FROM (SELECT CASE WHEN id % 2 = 0 THEN x / 4 END AS v FROM t)", 2,
         rows=one(None, None, None, "5.0", "10.0")),
    Case("SELECT llm('{}', CASE WHEN id > 1 THEN DATE '2024-01-01' + id::INT END) FROM t WHERE id < 4", 2,
         rows=one(None, "2024-01-03", "2024-01-04")),
    Case("SELECT llm('{}', v) FROM (VALUES (1::UNION(b BOOL, i INT)), (true)) u(v)",
         2, rows=one("1", "true")),
    Case("SELECT llm('{}', v) FROM (VALUES (1), (NULL), (1)) u(v)", 1, rows=one("1", None, "1")),
]  # fmt: skip
