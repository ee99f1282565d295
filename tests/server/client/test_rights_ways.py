"""Every way in which a statement may read, change or alter a table, each refused to who has no right."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.server.client.rights_scene import Client, client, said, serving

# the server's own setting, which pytest takes back after the module's first test
pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
SETUP = """
CREATE TABLE secret AS SELECT 1 AS a
CREATE INDEX si ON secret (a)
CREATE SCHEMA hid
CREATE TABLE hid.h AS SELECT 1 AS a
CREATE VIEW oldview AS FROM secret
CREATE VIEW oldview2 AS FROM secret
CREATE VIEW likeown AS FROM secret
CREATE VIEW openview AS SELECT max(a) FROM secret
CREATE VIEW chained AS FROM oldview
CREATE VIEW goodview AS FROM secret
CREATE MACRO tm() AS TABLE FROM secret
CREATE MACRO sm() AS (SELECT max(a) FROM secret)
CREATE MACRO nested() AS sm() + 1
CREATE MACRO q(n) AS TABLE FROM query_table(n)
GRANT CREATE ON SCHEMA main TO ann
CREATE TABLE shown AS SELECT 1 AS a
REVOKE ALL ON secret, oldview2 FROM PUBLIC
GRANT SELECT ON shown TO ann
REVOKE ALL ON SCHEMA hid FROM PUBLIC
GRANT SELECT ON goodview TO ann
""".strip().splitlines()
READ = r"""
FROM secret
TABLE secret
FROM secret TABLESAMPLE 100%
SELECT a FROM secret USING SAMPLE reservoir(1 ROWS)
SELECT * FROM main.secret
SELECT * FROM shop.secret
SELECT * FROM shop.main.secret
SELECT * FROM "SECRET"
SELECT * FROM `secret`
SELECT * FROM 'secret'
DESCRIBE secret
SUMMARIZE secret
SUMMARIZE SELECT a FROM secret
FROM query_table('secret')
FROM query_table(['mine','secret'])
FROM query_table('sec' || 'ret')
FROM query_table($$secret$$)
FROM query_table(e'secr\x65t')
FROM duckdb_table_sample('secret')
FROM pragma_storage_info('secret')
PRAGMA storage_info('secret')
PRAGMA storage_info(secret)
PRAGMA storage_info('sec' || 'ret')
PRAGMA "storage_info"(e'secr\x65t')
MERGE INTO mine USING histogram(e'secr\x65t', a) h ON false WHEN NOT MATCHED THEN INSERT VALUES (h.count::INT)
SET VARIABLE x = (SELECT max(bin) FROM histogram('sec' || 'ret', a))
PIVOT (FROM histogram(reverse('terces'), a)) ON bin USING sum(count)
CALL pragma_storage_info('secret')
FROM histogram_values(secret, a)
FROM histogram('secret', a)
FROM histogram(secret, a)
FROM summary((FROM secret))
FROM tm()
CALL tm()
/*  mine --*/ CALL tm()
SELECT sm()
SELECT main.sm()
SELECT nested()
FROM q('secret')
FROM q('sec'||'ret')
FROM llm_evaluate('secret', a, 1)
FROM oldview
FROM openview
FROM chained
SELECT * FROM temp.main.likeown, shop.main.likeown
PIVOT secret ON a USING count(*)
PIVOT secret ON a IN (1) USING count(*)
FROM (PIVOT secret ON a IN (1) USING count(*))
UNPIVOT secret ON a
WITH secret AS (FROM secret) FROM secret
WITH x AS (FROM secret) FROM x
WITH RECURSIVE r AS (SELECT a FROM secret UNION ALL SELECT a+1 FROM r WHERE a<3) FROM r
SELECT (WITH secret AS (SELECT 1 AS a) SELECT a FROM secret), (SELECT max(a) FROM secret)
SELECT * FROM mine WHERE x IN (SELECT a FROM secret)
SELECT * FROM mine SEMI JOIN secret ON x = a
SELECT * FROM mine POSITIONAL JOIN secret
SELECT * FROM mine, LATERAL (SELECT a FROM secret)
FROM mine UNION ALL BY NAME FROM secret
EXPLAIN FROM secret
EXPLAIN ANALYZE FROM secret
EXPLAIN ANALYZE SELECT sm()
SET VARIABLE x = (SELECT max(a) FROM secret)
CREATE TABLE c1 AS FROM secret
CREATE TEMP TABLE c2 AS FROM secret
CREATE OR REPLACE TABLE mine AS FROM secret
CREATE VIEW c3 AS FROM secret
CREATE TABLE c4 AS (FROM secret)
CREATE TABLE c5 AS SELECT sm() AS z
CREATE TYPE e1 AS ENUM (SELECT a::VARCHAR FROM secret)
CREATE TABLE c6 (x INT REFERENCES secret(a))
INSERT INTO mine SELECT a FROM secret
INSERT INTO mine VALUES ((SELECT max(a) FROM secret))
INSERT INTO mine FROM secret RETURNING x
UPDATE mine SET x = (SELECT max(a) FROM secret)
UPDATE mine SET x = secret.a FROM secret
DELETE FROM mine USING secret WHERE x = a
DELETE FROM mine WHERE x IN (SELECT a FROM secret)
MERGE INTO mine USING secret ON x = a WHEN NOT MATCHED THEN INSERT VALUES (a)
MERGE INTO mine USING (FROM mine) s ON mine.x = s.x AND EXISTS (FROM secret) WHEN MATCHED THEN DELETE
COPY secret TO STDOUT
COPY (FROM secret) TO STDOUT
COPY (SELECT sm()) TO STDOUT
EXECUTE pp
EXECUTE 'pp'
EXECUTE $$pp$$
EXPLAIN ANALYZE EXECUTE 'pp'
PREPARE p2 AS FROM secret
DECLARE c CURSOR WITH HOLD FOR SELECT * FROM secret
SELECT * FROM text2sql('how many secrets?')
SELECT text2sql_query('how many secrets?')
SELECT/**/*/**/FROM/**/secret
SELECT * FROM secret -- mine
SELECT max(a) FILTER (a > 0) OVER () FROM secret
VALUES ((SELECT max(a) FROM secret))
SELECT list_transform([1], x -> (SELECT max(a) FROM secret))
SELECT CASE WHEN true THEN (SELECT max(a) FROM secret) END
SELECT COLUMNS(*) FROM secret
SELECT secret FROM secret
SELECT * FROM hid.h
FROM query_table('hid.h')
""".strip().splitlines()
WRITE = """
INSERT INTO secret VALUES (9)
INSERT INTO main.secret DEFAULT VALUES
INSERT OR REPLACE INTO secret VALUES (9)
INSERT INTO secret BY NAME SELECT 9 AS a
WITH x AS (SELECT 9) INSERT INTO secret FROM x
WITH x AS (INSERT INTO secret VALUES (9) RETURNING a) FROM x
WITH x AS (DELETE FROM secret RETURNING a) FROM x
WITH x AS (UPDATE secret SET a = 9) SELECT 1
UPDATE secret SET a = 9
UPDATE secret AS mine SET a = 9
DELETE FROM secret
DELETE FROM secret AS mine
TRUNCATE secret
TRUNCATE TABLE secret
MERGE INTO secret USING mine ON false WHEN NOT MATCHED THEN INSERT VALUES (9)
MERGE INTO secret AS mine USING (SELECT 1 AS x) s ON false WHEN NOT MATCHED THEN INSERT VALUES (9)
EXPLAIN ANALYZE DELETE FROM secret
EXPLAIN ANALYZE INSERT INTO secret VALUES (9)
COPY secret FROM STDIN
PREPARE w1 AS DELETE FROM secret
DROP TABLE secret
DROP TABLE IF EXISTS main.secret CASCADE
DROP SCHEMA hid CASCADE
DROP VIEW oldview2
ALTER TABLE secret RENAME TO s2
ALTER TABLE secret ADD COLUMN z INT
ALTER TABLE secret RENAME COLUMN a TO b
ALTER TABLE IF EXISTS secret DROP COLUMN a
CREATE INDEX i ON secret (a)
CREATE UNIQUE INDEX IF NOT EXISTS i ON main.secret (a)
DROP INDEX si
CREATE OR REPLACE TABLE secret AS SELECT 9 AS a
CREATE OR REPLACE VIEW oldview2 AS SELECT 9 AS a
CREATE OR REPLACE TABLE shop.main.secret (a INT)
COMMENT ON COLUMN secret.a IS 'x'
ALTER TABLE secret OWNER TO ann
GRANT ALL ON secret TO ann
GRANT ann TO bob
CREATE ROLE x
GRANT pg_read_all_data TO ann
COMMENT ON TABLE secret IS 'x'
COMMENT ON TABLE $$secret$$ IS 'x'
DROP TABLE 'secret'
DROP SCHEMA 'hid' CASCADE
DROP VIEW 'oldview2'
ALTER TABLE 'secret' ADD COLUMN z INT
CREATE INDEX i ON 'secret' (a)
CREATE OR REPLACE TABLE $$secret$$ AS SELECT 9 AS a
MERGE INTO 'secret' USING mine ON false WHEN NOT MATCHED THEN INSERT VALUES (9)
TRUNCATE 'secret'
INSERT INTO shown SELECT 9 FROM (PIVOT mine ON x USING count(*))
INSERT INTO "shown" SELECT 9 FROM (PIVOT mine ON x USING count(*))
DELETE FROM shown USING (PIVOT mine ON x USING count(*))
UPDATE shown SET a = 9 WHERE EXISTS (PIVOT mine ON x USING count(*))
WITH x AS (SELECT 9 AS a) MERGE INTO shown USING x ON false WHEN NOT MATCHED THEN INSERT VALUES (x.a)
WITH x AS (DELETE FROM shown RETURNING a) MERGE INTO mine USING x ON false WHEN MATCHED THEN DELETE
WITH x AS (DELETE FROM shown RETURNING a) SELECT * FROM x, (PIVOT mine ON x USING count(*))
WITH x AS (SELECT 9 AS a) INSERT INTO shown SELECT a FROM x, (PIVOT mine ON x USING count(*))
CREATE TABLE c8 AS WITH x AS (DELETE FROM shown RETURNING a) SELECT * FROM x, (PIVOT mine ON x USING count(*))
EXPLAIN ANALYZE WITH x AS (SELECT 9 AS a) MERGE INTO shown USING x ON false WHEN MATCHED THEN DELETE
""".strip().splitlines()
MAY = """
SELECT secret FROM (SELECT 1 AS secret)
SELECT 'secret'
SELECT * FROM mine AS secret
WITH secret AS (SELECT 1 AS a) FROM secret
CREATE TEMP TABLE secret AS SELECT 1 AS a
FROM secret
DROP TABLE secret
FROM goodview
FROM query_table('mine')
PIVOT mine ON x USING count(*)
DESCRIBE mine
SELECT column_name FROM information_schema.columns WHERE table_name = 'secret'
PRAGMA table_info('secret')
PRAGMA storage_info('mine')
PRAGMA storage_info(mine)
CREATE TABLE c9 (secret INT)
INSERT INTO mine VALUES (1)
MERGE INTO mine USING shown ON x = a WHEN NOT MATCHED THEN INSERT VALUES (a)
WITH s AS (SELECT 7 AS v) MERGE INTO mine USING s ON x = v WHEN NOT MATCHED THEN INSERT VALUES (v)
INSERT INTO mine SELECT 9 FROM (PIVOT shown ON a USING count(*))
DELETE FROM mine USING (PIVOT shown ON a USING count(*)) WHERE x = 9
FROM shown
PIVOT shown ON a USING count(*)
MERGE INTO mine USING (SELECT 7 AS v) s ON x = v WHEN NOT MATCHED THEN INSERT VALUES (v)
SHOW TABLES
SELECT histogram(x + 1) FROM mine
SELECT x FROM mine USING SAMPLE 1 ROWS
FROM shown TABLESAMPLE 100%
""".strip().splitlines()


@pytest.fixture(scope="module", params=[False, True], ids=["open", "only granted"])
def ann(request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A plain user who has prepared a statement over the table while they might read it."""
    with serving(tmp_path_factory.mktemp("ways"), only_granted=request.param) as server:
        with client(server, "root") as root, client(server, "ann") as ann:
            root.execute("CREATE TABLE secret AS SELECT 1 AS a")
            root.execute("GRANT SELECT ON secret TO ann")
            ann.execute("PREPARE pp AS FROM secret")
            root.execute("DROP TABLE secret")
            for text in SETUP:
                root.execute(text)
            ann.execute("CREATE TABLE mine AS SELECT 1 AS x")
            ann.execute("CREATE TEMP VIEW likeown AS FROM mine")
            yield ann
            assert said(root, "FROM secret") == "[(1,)]"
            assert said(root, "SELECT sm()") == "[(1,)]"
            assert said(root, "FROM shown") == "[(1,)]"


def ran(con: Client, text: str) -> str:
    if not text.startswith("COPY"):
        return said(con, text)
    try:
        with con.cursor().copy(text) as copy:
            if "STDIN" in text:
                copy.write("9\n")
                return "COPY"
            return str(list(copy))
    except psycopg.Error as error:
        return f"{error.sqlstate} {error.diag.message_primary}"


@pytest.mark.cells(60)
@pytest.mark.parametrize("text", READ + WRITE)
def test_no_way_leads_to_a_table_without_a_right(ann, text):
    assert ran(ann, text).startswith("42501 ")


@pytest.mark.cells(1)
def test_what_only_looks_like_the_table_is_free(ann):
    told = {text: ran(ann, text) for text in MAY}
    assert [text for text, each in told.items() if each[:1].isdigit()] == []
