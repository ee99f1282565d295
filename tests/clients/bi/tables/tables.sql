-- The tables that both servers hold; every statement means the same to PostgreSQL and to DuckDB.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE SEQUENCE ticket START 10;
CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT UNIQUE,
    vip BOOLEAN DEFAULT false,
    since TIMESTAMP,
    score DOUBLE PRECISION CHECK (score >= 0)
);
CREATE TABLE orders (
    id BIGINT PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    amount DECIMAL(10, 2),
    ts TIMESTAMP,
    day DATE,
    note TEXT,
    mood mood
);
CREATE TABLE order_lines (
    order_id BIGINT REFERENCES orders (id),
    line INTEGER,
    product TEXT,
    quantity SMALLINT DEFAULT 1,
    PRIMARY KEY (order_id, line)
);
CREATE TABLE all_types (
    id INTEGER PRIMARY KEY,
    a_smallint SMALLINT,
    a_bigint BIGINT,
    a_real REAL,
    a_double DOUBLE PRECISION,
    a_numeric NUMERIC(18, 4),
    a_boolean BOOLEAN,
    a_text TEXT,
    a_date DATE,
    a_time TIME,
    a_timestamp TIMESTAMP,
    a_timestamptz TIMESTAMPTZ,
    an_interval INTERVAL,
    a_uuid UUID,
    a_bytea BYTEA,
    a_json JSON,
    some_integers INTEGER[],
    some_texts TEXT[],
    a_mood mood
);
CREATE INDEX orders_ts ON orders (ts);
CREATE UNIQUE INDEX order_lines_product ON order_lines (product, order_id);
CREATE VIEW big_orders AS SELECT id, amount FROM orders WHERE amount > 90;
COMMENT ON TABLE orders IS 'what was bought';
COMMENT ON COLUMN orders.note IS 'the customer''s own words';
COMMENT ON VIEW big_orders IS 'orders over 90';
INSERT INTO customers
    SELECT i, 'customer ' || i, 'c' || i || '@example.org', i % 7 = 0, TIMESTAMP '2020-01-01' + i * INTERVAL '1 day',
        i / 4.0
    FROM generate_series(1, 100) AS t(i);
INSERT INTO orders
    SELECT i, i % 100 + 1, (i * 37 % 10000) / 100.0, TIMESTAMP '2024-01-01' + i * INTERVAL '1 hour',
        DATE '2024-01-01' + CAST(i % 60 AS INTEGER), CASE WHEN i % 10 = 0 THEN NULL ELSE 'note ' || i END,
        CAST(CASE i % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'ok' ELSE 'happy' END AS mood)
    FROM generate_series(1, 1000) AS t(i);
INSERT INTO order_lines
    SELECT i, j, 'product ' || (i * 3 + j), CAST(i % 5 + 1 AS SMALLINT)
    FROM generate_series(1, 300) AS t(i), generate_series(1, 2) AS u(j);
INSERT INTO all_types VALUES
    (1, 1, 1, 1.5, 2.25, 3.1415, true, 'grün, "quoted" and ''more''', DATE '2024-02-29', TIME '12:34:56.789',
        TIMESTAMP '2024-02-29 12:34:56.789012', TIMESTAMPTZ '2024-02-29 12:34:56+00', INTERVAL '1 day 02:03:04',
        '0f0e0d0c-0b0a-0908-0706-050403020100', CAST('abc' AS BYTEA), '{"a": [1, null, "x"]}',
        ARRAY[1, NULL, 3], ARRAY['a', NULL, 'c,d'], 'happy'),
    (2, -32768, -9223372036854775808, -1.0e-30, -1.7976931348623157e308, -99999999999999.9999, false, '',
        DATE '0001-01-01', TIME '00:00:00', TIMESTAMP '1900-01-01 00:00:00', TIMESTAMPTZ '1970-01-01 00:00:00+00',
        INTERVAL '-1 day', '00000000-0000-0000-0000-000000000000', CAST('' AS BYTEA), '[]', ARRAY[-2147483648],
        ARRAY['', ' '], 'sad'),
    (3, 32767, 9223372036854775807, 3.0e38, 5e-324, 0, NULL, E'two\nlines\tand a tab \\', DATE '9999-12-31',
        TIME '23:59:59.999999', TIMESTAMP '9999-12-31 23:59:59.999999', TIMESTAMPTZ '2038-01-19 03:14:08+00',
        INTERVAL '14 months 3 days', 'ffffffff-ffff-ffff-ffff-ffffffffffff', CAST('a''b' AS BYTEA), 'null',
        ARRAY[0, 2147483647], ARRAY['NULL', '{}', '"'], 'ok'),
    (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
