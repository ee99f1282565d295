"""psql 15: its backslash commands, variables, formats, COPY, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.bi.programs.checks import SLOW, Checks

checks = Checks(connect=lambda: ["psql", "-X", "-A", "-v", "VERBOSITY=sqlstate"], close=lambda con: None)

# Name of the check, and what is typed.
SCRIPTS = {
    # what there is
    "d": r"\d",
    "d_customers": r"\d customers",
    "d_orders": r"\d orders",
    "d_order_lines": r"\d order_lines",
    "d_all_types": r"\d all_types",
    "d_view": r"\d big_orders",
    "d_plus_orders": r"\d+ orders",
    "d_plus_view": r"\d+ big_orders",
    "d_index": r"\d orders_ts",
    "d_sequence": r"\d ticket",
    "d_schema_pattern": r"\d main.order*",
    "d_nothing": r"\d no_such_table",
    "dt": r"\dt",
    "dt_pattern": r"\dt main.*s",
    "dt_aligned": "\\pset format aligned\n\\dt",
    "dv": r"\dv",
    "di": r"\di",
    "di_pattern": r"\di orders*",
    "ds": r"\ds",
    "dm": r"\dm",
    "dE": r"\dE",
    "dn": r"\dn",
    "dT": r"\dT",
    "dT_plus": r"\dT+ mood",
    "dD": r"\dD",
    "dd": r"\dd",
    "dd_pattern": r"\dd orders",
    "df": r"\df",
    "df_abs": r"\df pg_catalog.abs",
    "da": r"\da",
    "do": r"\do",
    "dC": r"\dC mood",
    "dc": r"\dc",
    "dO": r"\dO",
    "dp": r"\dp",
    "z": r"\z orders",
    "ddp": r"\ddp",
    "des": r"\des",
    "dew": r"\dew",
    "deu": r"\deu",
    "det": r"\det",
    "dF": r"\dF nothing",
    "dFd": r"\dFd nothing",
    "dFp": r"\dFp nothing",
    "dFt": r"\dFt nothing",
    "dL": r"\dL nothing",
    "dP": r"\dP",
    "dRp": r"\dRp",
    "dRs": r"\dRs",
    "dX": r"\dX",
    "dx": r"\dx nothing",
    "dy": r"\dy",
    "dl": r"\dl",
    "db": r"\db nothing",
    "du": r"\du bob",
    "drds": r"\drds bob",
    "dconfig": r"\dconfig search_path",
    "l": r"\l nothing",
    "sv": r"\sv big_orders",
    "sf_missing": r"\sf no_such_function",
    "encoding": r"\encoding",
    "conninfo": "\\conninfo\n\\echo :DBNAME :USER :SERVER_VERSION_NUM :ENCODING",
    # statements
    "select": "SELECT id, name, vip, since, score FROM customers WHERE id <= 3 ORDER BY id;",
    "all_types": "SELECT * FROM all_types ORDER BY id;",
    "expanded": "\\x\nSELECT * FROM all_types WHERE id = 1;",
    "null_display": "\\pset null ∅\nSELECT NULL AS nothing, '' AS empty;",
    "html": "\\pset format html\nSELECT id, name FROM customers WHERE id < 3 ORDER BY id;",
    "csv": "\\pset format csv\nSELECT id, a_text, some_texts FROM all_types ORDER BY id;",
    "tuples_only": "\\t\nSELECT id FROM orders WHERE id < 4 ORDER BY id;",
    "aligned": "\\pset format aligned\nSELECT id, amount, day, note FROM orders WHERE id < 12 ORDER BY id;",
    "gset": "SELECT count(*) AS many FROM orders \\gset\n\\echo there are :many\nSELECT :many + 1 AS more;",
    "variable": "\\set least 990\n\\set word note\nSELECT id FROM orders WHERE id > :least AND note LIKE :'word' || '%' ORDER BY 1;",
    "identifier_variable": '\\set table orders\nSELECT count(*) AS n FROM :"table";',
    "gdesc": "SELECT id, amount, ts, note, day FROM orders \\gdesc",
    "gdesc_expressions": "SELECT 1 AS a, 'x' AS b, 1.5 AS c, true AS d, DATE '2024-01-01' AS e \\gdesc",
    "gexec": "SELECT 'SELECT ' || i || ' AS x' AS made FROM generate_series(1, 3) AS t(i) \\gexec",
    "gx": "SELECT 1 AS one, 2 AS two \\gx",
    "g_file": "SELECT 1 AS one \\g /dev/stdout",
    "g_pipe": "SELECT 1 AS one \\g | tr 1 7",
    "crosstabview": "SELECT mood, id % 2 AS odd, count(*) AS n FROM orders GROUP BY 1, 2 ORDER BY 1, 2 \\crosstabview",
    "fetch_count": "\\set FETCH_COUNT 7\nSELECT id, note FROM orders ORDER BY id;",
    "fetch_count_error": "\\set FETCH_COUNT 7\nSELECT id FROM no_such_table;",
    "two_statements_a_line": "SELECT 1 AS a; SELECT 2 AS b;",
    "prepare": "PREPARE p AS SELECT id FROM orders WHERE id < $1 ORDER BY id;\nEXECUTE p(3);\nDEALLOCATE p;\nEXECUTE p(3);",
    "cursor": "BEGIN;\nDECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id;\nFETCH 2 FROM c;\nFETCH 3 FROM c;\nCLOSE c;\nCOMMIT;",
    "cursor_move": "BEGIN;\nDECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id;\nMOVE 5 FROM c;\nFETCH NEXT FROM c;\nROLLBACK;",
    "transaction": "BEGIN;\nCREATE TEMP TABLE t (a INTEGER);\nINSERT INTO t VALUES (1), (2);\nSELECT sum(a)::int AS s FROM t;\nROLLBACK;\nSELECT * FROM t;",
    "failed_transaction": "BEGIN;\nSELECT nope;\nSELECT 1 AS a;\nCOMMIT;\nSELECT 2 AS b;",
    "update_tags": "CREATE TEMP TABLE t (a INTEGER);\nINSERT INTO t SELECT * FROM generate_series(1, 9);\nUPDATE t SET a = a + 1 WHERE a > 5;\nDELETE FROM t WHERE a < 3;\nDROP TABLE t;",
    "autocommit_off": "\\set AUTOCOMMIT off\nCREATE TEMP TABLE t (a INTEGER);\nROLLBACK;\nSELECT * FROM t;",
    "on_error_stop": "\\set ON_ERROR_STOP on\nSELECT nope;\nSELECT 1 AS a;",
    "error_rollback": "\\set ON_ERROR_ROLLBACK on\nBEGIN;\nSELECT 1 AS a;\nSELECT nope;\nSELECT 2 AS b;\nCOMMIT;",
    "savepoint": "BEGIN;\nSAVEPOINT a;\nROLLBACK TO SAVEPOINT a;\nCOMMIT;",
    "show": "SHOW search_path;\nSHOW server_version_num;\nSHOW client_encoding;\nSHOW transaction_isolation;",
    "set": "SET application_name = 'me';\nSHOW application_name;\nSET TIME ZONE 'Europe/Berlin';\nSELECT TIMESTAMPTZ '2024-07-01 12:00:00+00' AS t;\nRESET TIME ZONE;",
    "datestyle": "SHOW DateStyle;\nSHOW IntervalStyle;\nSHOW standard_conforming_strings;",
    "set_unknown": "SET no_such_setting = 1;",
    "errors": "SELECT * FROM no_such_table;\nSELECT no_such_column FROM orders;\nSELEC 1;\nSELECT no_such_function(1);\nSELECT 'x'::integer;\nSELECT 1 / 0;",
    "constraint_errors": "BEGIN;\nINSERT INTO customers (id, name) VALUES (1, 'x');\nROLLBACK;\nINSERT INTO customers (id) VALUES (777);\nINSERT INTO orders (id, customer_id) VALUES (7777, 7777);\nINSERT INTO customers (id, name, score) VALUES (777, 'x', -1);",
    "exists_already": "CREATE TABLE orders (a INTEGER);\nCREATE SCHEMA main;\nCREATE VIEW big_orders AS SELECT 1 AS a;",
    "listen": "LISTEN a;\nUNLISTEN a;\nUNLISTEN *;",
    "explain": "EXPLAIN SELECT 1 \\g /dev/null",
    "echo_hidden": "\\set ECHO_HIDDEN noexec\n\\dn",
    "timing": "\\timing on\n\\timing off\nSELECT 1 AS a;",
    "if": "\\if :{?nothing}\nSELECT 1 AS a;\n\\else\nSELECT 2 AS b;\n\\endif",
    "errverbose": "SELECT nope;\n\\echo :LAST_ERROR_SQLSTATE :ERROR :ROW_COUNT",
    "quoted_names": 'CREATE TEMP TABLE "Odd Name" ("Üml" INTEGER, "a""b" TEXT);\nINSERT INTO "Odd Name" VALUES (1, \'ü€😀\');\nSELECT * FROM "Odd Name";',
    "dollar_quotes": "SELECT $$it's$$ AS a, $x$a $$ b$x$ AS b;",
    "comments": "/* one /* nested */ */ SELECT 1 AS a -- two\n;",
    "empty": ";\n;",
    "values": "VALUES (1, 'a'), (2, NULL);",
    "table": "TABLE big_orders ORDER BY id LIMIT 2;",
    "returning": "CREATE TEMP TABLE t (a INTEGER, b TEXT);\nINSERT INTO t VALUES (1, 'x') RETURNING a, b;\nDELETE FROM t RETURNING *;",
    "create_as": "CREATE TEMP TABLE t AS SELECT * FROM generate_series(1, 5) AS g(i);\nSELECT sum(i)::int AS s FROM t;",
    "version": "SELECT current_database(), current_schema(), current_user, session_user, pg_backend_pid() > 0 AS pid;",
    "settings": "SELECT current_setting('server_version_num'), current_setting('search_path'), current_setting('nothing.here', true);",
    "to_timestamp": "SELECT TO_TIMESTAMP('2024-01-02 03:04:05.678', 'YYYY-MM-DD HH24:MI:SS.US') AS t, TO_DATE('2024-02-03', 'YYYY-MM-DD') AS d, TO_CHAR(DATE '2024-02-03', 'YYYY/MM') AS c;",
    "date_functions": "SELECT DATE_TRUNC('month', ts) AS m, count(*) AS n, EXTRACT(YEAR FROM min(ts)) AS y FROM orders GROUP BY 1 ORDER BY 1;",
    "window": "SELECT id, sum(amount) OVER (ORDER BY id) AS s FROM orders WHERE id < 5 ORDER BY id;",
    "array": "SELECT array_append(ARRAY[1, 2], 3) AS a, (ARRAY['x', 'y'])[2] AS b, cardinality(ARRAY[1, 2, 3]) AS c, 2 = ANY(ARRAY[1, 2]) AS d;",
    "regclass": "SELECT 'orders'::regclass AS r, count(*) AS n FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attnum > 0;",
    "information_schema": "SELECT table_name, column_name, ordinal_position, is_nullable FROM information_schema.columns WHERE table_schema = 'main' AND table_name LIKE 'order%' ORDER BY 1, 3;",
    "pg_stat_activity": "SELECT count(*) > 0 AS there, bool_or(pid = pg_backend_pid()) AS me FROM pg_stat_activity;",
    # COPY
    "copy_to": "COPY (SELECT id, note FROM orders WHERE id < 13 ORDER BY id) TO STDOUT;",
    "copy_to_csv": "COPY (SELECT * FROM all_types ORDER BY id) TO STDOUT (FORMAT csv, HEADER);",
    "copy_to_old_syntax": "COPY (SELECT id, note FROM orders WHERE id < 13 ORDER BY id) TO STDOUT WITH CSV HEADER DELIMITER ';' NULL 'none' FORCE QUOTE note;",
    "copy_table_to": "COPY all_types (id, a_text, a_bytea, some_texts) TO STDOUT;",
    "copy_all_types": "COPY (SELECT * FROM all_types ORDER BY id) TO STDOUT;",
    "copy_from": "CREATE TEMP TABLE t (a INTEGER, b TEXT);\nCOPY t FROM STDIN;\n1\tx\\ty\n2\t\\N\n\\.\nSELECT * FROM t ORDER BY a;",
    "copy_from_csv": 'CREATE TEMP TABLE t (a INTEGER, b TEXT, c DATE);\nCOPY t (b, a) FROM STDIN (FORMAT csv, HEADER, NULL \'nil\');\nb,a\n"x, ""y""",1\nnil,2\n"nil",3\n\\.\nSELECT * FROM t ORDER BY a;',
    "copy_from_bad": "CREATE TEMP TABLE t (a INTEGER);\nCOPY t FROM STDIN;\n1\nx\n\\.\nSELECT count(*) AS n FROM t;",
    "copy_from_too_many": "CREATE TEMP TABLE t (a INTEGER);\nCOPY t FROM STDIN;\n1\t2\n\\.\nSELECT count(*) AS n FROM t;",
    "copy_unknown_table": "COPY no_such_table TO STDOUT;",
    "backslash_copy_to": "\\copy (SELECT id, note FROM orders WHERE id < 5 ORDER BY id) to stdout csv header",
}
for name, script in SCRIPTS.items():
    checks.add(name, lambda con, script=script: typed(con, script))


def typed(command: list[str], script: str, **options: Any) -> dict[str, Any]:
    """What psql shows of what is typed."""
    done = subprocess.run(
        command, input=script + "\n", capture_output=True, text=True, check=False, **options
    )
    return shown(done.returncode, done.stdout, done.stderr)


def shown(status: int, out: str, err: str) -> dict[str, Any]:
    """The three things that a shell would see, without the port."""
    out = out.replace(os.environ["PGPORT"], "PORT")
    return {"status": status, "out": out.splitlines(), "err": err.splitlines()}


@checks
def command_line(command: list[str]) -> Any:
    """Several -c, one of several statements."""
    return typed([*command, "-c", "SELECT 1 AS a; SELECT 2 AS b", "-c", r"\dn", "-c", "SELECT 3 AS c"], "")


@checks
def command_line_is_one_transaction(command: list[str]) -> Any:
    return typed([*command, "-c", "CREATE TABLE rolled_back (a INTEGER); SELECT nope"], r"") | typed(
        command, r"\dt rolled_back"
    )


@checks
def single_transaction(command: list[str]) -> Any:
    return typed([*command, "-1", "-c", "CREATE TABLE gone (a INTEGER)", "-c", "SELECT nope"], "") | typed(
        command, r"\dt gone"
    )


@checks
def list_databases(command: list[str]) -> Any:
    """Only our own, for PostgreSQL has templates too."""
    told = typed([*command, "-l"], "")["out"]
    return [line.split("|")[:2] for line in told if line.startswith("bi|")]


@checks
def backslash_copy_both_ways(command: list[str]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        script = f"""\\copy (SELECT id, amount, note, ts FROM orders ORDER BY id) to '{file}' csv header
CREATE TEMP TABLE t AS SELECT id, amount, note, ts FROM orders LIMIT 0;
\\copy t from '{file}' csv header
SELECT count(*) AS n, sum(amount) AS s, count(note) AS c, max(ts) AS m FROM t;
\\copy t to '{file}' (format binary)
CREATE TEMP TABLE u AS SELECT * FROM t LIMIT 0;
\\copy u from '{file}' (format binary)
SELECT count(*) AS n, sum(amount) AS s, count(note) AS c, max(ts) AS m FROM u;"""
        return typed(command, script)


@checks
def copy_program(command: list[str]) -> Any:
    """The program runs beside psql, not in the server."""
    return typed(command, "\\copy (SELECT id FROM orders WHERE id < 4 ORDER BY id) to program 'tac'")


@checks
def watch(command: list[str]) -> Any:
    """Two rounds, then Ctrl-C; each has the time in its title."""
    told = interrupted(command, "SELECT 41 + 1 AS answer \\watch 0.3", after_s=0.8)
    return {"status": told["status"], "answers": told["out"].count("42") >= 2}


@checks
def timing_shows_a_time(command: list[str]) -> Any:
    return typed(command, "\\timing on\nSELECT 1;")["out"][-1].startswith("Time: ")


@checks
def ctrl_c(command: list[str]) -> Any:
    """The statement ends with 57014 and the connection goes on."""
    return interrupted(command, f"{SLOW};\nSELECT 'alive' AS state;", after_s=1.0)


@checks
def ctrl_c_in_a_transaction(command: list[str]) -> Any:
    return interrupted(command, f"BEGIN;\n{SLOW};\nSELECT 1 AS a;\nROLLBACK;\nSELECT 2;", after_s=1.0)


def interrupted(command: list[str], script: str, after_s: float) -> dict[str, Any]:
    """What psql shows when Ctrl-C is typed after so many seconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script + "\n")
        file.flush()
        program = subprocess.Popen(
            [*command, "-f", file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(after_s)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate()
    return shown(program.returncode, out, err.replace(file.name, "FILE"))


@checks
def statement_timeout(command: list[str]) -> Any:
    return typed(command, f"SET statement_timeout = 500;\n{SLOW};\nSELECT 1 AS a;")


@checks
def service_options(command: list[str]) -> Any:
    """PGOPTIONS and PGAPPNAME reach the session."""
    environment = {**os.environ, "PGOPTIONS": "-c statement_timeout=7s", "PGAPPNAME": "tool"}
    return typed(command, "SHOW statement_timeout;\nSHOW application_name;", env=environment)


@checks
def wrong_password(command: list[str]) -> Any:
    done = typed(command, "SELECT 1 AS a;", env={**os.environ, "PGPASSWORD": "wrong"})
    return done["status"], "password authentication failed" in " ".join(done["err"])


@checks
def unknown_user(command: list[str]) -> Any:
    done = typed(command, "SELECT 1 AS a;", env={**os.environ, "PGUSER": "nobody_here"})
    return done["status"], "password authentication failed" in " ".join(done["err"])


@checks
def unknown_database(command: list[str]) -> Any:
    done = typed(command, "SELECT 1 AS a;", env={**os.environ, "PGDATABASE": "no_such_database"})
    return done["status"], "does not exist" in " ".join(done["err"])


@checks
def terminated_by_another(command: list[str]) -> Any:
    """pg_terminate_backend ends a session of the same user."""
    slow = subprocess.Popen([*command, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    ask = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND pid <> pg_backend_pid();"
    ended = typed(command, ask)["out"]
    _, err = slow.communicate()
    return ended, slow.returncode, "57P01" in err


@checks
def cancelled_by_another(command: list[str]) -> Any:
    slow = subprocess.Popen([*command, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    ask = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%generate_series%' AND pid <> pg_backend_pid();"
    ended = typed(command, ask)["out"]
    _, err = slow.communicate()
    return ended, slow.returncode, "57014" in err


if __name__ == "__main__":
    checks.run()
