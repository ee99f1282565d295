// node-postgres: parameters, types as JavaScript sees them, cursors, streams, pools, cancel by time-out.
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(process.env.BI_NODE, "package.json"));
const pg = require("pg");
const Cursor = require("pg-cursor");
const QueryStream = require("pg-query-stream");

const SLOW =
  "SELECT count(*) FROM generate_series(1, 1000000) AS a(x), generate_series(1, 1000000) AS b(y) WHERE (x + y) % 7 = 3";
const checks = {};

// The values in JSON, in which those of different types differ.
function plain(value) {
  if (value === null || value === undefined || typeof value === "boolean" || typeof value === "string") return value ?? null;
  if (typeof value === "number") return Number.isInteger(value) ? value : `number ${value}`;
  if (value instanceof Date) return `Date ${value.toISOString()}`;
  if (Buffer.isBuffer(value)) return `Buffer ${value.toString("hex")}`;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
}

async function outcome(check) {
  const client = new pg.Client();
  try {
    await client.connect();
    return { value: plain(await check(client)) };
  } catch (error) {
    return { error: `${error.constructor.name}: ${error.message}`, sqlstate: error.code ?? null };
  } finally {
    await client.end().catch(() => null);
  }
}

async function rows(client, text, values) {
  return (await client.query({ text, values, rowMode: "array" })).rows;
}

checks.by_key = (client) => rows(client, "SELECT * FROM orders WHERE id = $1", [3]);
checks.all_types = (client) => rows(client, "SELECT * FROM all_types ORDER BY id");
checks.all_types_binary = async (client) =>
  (await client.query({ text: "SELECT id, a_smallint, a_boolean, a_text, a_double, a_real FROM all_types ORDER BY id", binary: true, rowMode: "array" })).rows;
checks.fields = async (client) =>
  (await client.query("SELECT * FROM all_types LIMIT 1")).fields.slice(0, -1).map((f) => [f.name, f.dataTypeID, f.dataTypeSize, f.dataTypeModifier]);
checks.objects = async (client) => (await client.query("SELECT id, name, vip FROM customers WHERE id < 3 ORDER BY id")).rows;

const GIVEN = {
  int: [1, "int"], large: ["1099511627776", "bigint"], float: [1.5, "float8"], numeric: ["12.340", "numeric"],
  bool: [true, "bool"], null: [null, "int"], text: ["it's \\ ü", "text"], buffer: [Buffer.from([0, 255]), "bytea"],
  date: [new Date("2024-02-29T01:02:03Z"), "timestamptz"], list: [[1, 2], "int[]"], texts: [["a", null, "c,d"], "text[]"],
  json: [{ a: [1] }, "json"], uuid: ["00000000-0000-0000-0000-000000000005", "uuid"],
};
for (const [name, [value, type]] of Object.entries(GIVEN)) {
  checks[`parameter_${name}`] = (client) => rows(client, `SELECT $1::${type} AS v`, [value]);
}
checks.parameter_without_a_type = (client) => rows(client, "SELECT $1 AS v", ["x"]);
checks.comparisons = (client) =>
  rows(client, "SELECT count(*) FROM orders WHERE ts > $1 AND amount < $2 AND note LIKE $3 AND day <> $4", ["2024-01-02", "50.5", "note%", "2024-01-05"]);
checks.any_of_a_list = (client) => rows(client, "SELECT id FROM orders WHERE id = ANY($1) ORDER BY id", [[1, 2, 3]]);
checks.jsonb = (client) => rows(client, "SELECT '{\"a\": 1}'::jsonb AS j");
checks.prepared = async (client) => {
  const found = [];
  for (const id of [1, 2, 10]) {
    found.push((await client.query({ name: "note-of", text: "SELECT note FROM orders WHERE id = $1", values: [id] })).rows);
  }
  return found;
};
checks.several_statements = async (client) => (await client.query("SELECT 1 AS a; SELECT 2 AS b")).map((result) => result.rows);
checks.row_counts = async (client) => {
  const said = [];
  for (const text of ["CREATE TEMP TABLE t (a INTEGER)", "INSERT INTO t VALUES (1), (2)", "UPDATE t SET a = a + 1", "DELETE FROM t WHERE a = 2", "SELECT * FROM t"]) {
    const { command, rowCount } = await client.query(text);
    said.push([command, rowCount]);
  }
  return said;
};
checks.cursor = async (client) => {
  const cursor = client.query(new Cursor("SELECT id FROM orders WHERE id > $1 ORDER BY id", [10], { rowMode: "array" }));
  const found = [await cursor.read(2), await cursor.read(3)];
  await cursor.close();
  return [found, await rows(client, "SELECT 1")];
};
checks.cursor_to_the_end = async (client) => {
  const cursor = client.query(new Cursor("SELECT id FROM orders"));
  let many = 0;
  for (let read = await cursor.read(300); read.length; read = await cursor.read(300)) many += read.length;
  return many;
};
checks.stream = async (client) => {
  let sum = 0;
  for await (const row of client.query(new QueryStream("SELECT id FROM orders", [], { batchSize: 64 }))) sum += Number(row.id);
  return sum;
};
checks.stream_given_up = async (client) => {
  for await (const row of client.query(new QueryStream("SELECT id FROM orders ORDER BY id", [], { batchSize: 10 }))) {
    if (Number(row.id) === 15) break;
  }
  return rows(client, "SELECT 1");
};
checks.transaction = async (client) => {
  await client.query("BEGIN");
  await client.query("INSERT INTO customers (id, name) VALUES ($1, $2)", [5008, "nobody"]);
  await client.query("ROLLBACK");
  return rows(client, "SELECT count(*) FROM customers WHERE id = 5008");
};
checks.failed_transaction = async (client) => {
  await client.query("BEGIN");
  const codes = [];
  for (const text of ["SELECT nope", "SELECT 1"]) await client.query(text).catch((error) => codes.push(error.code));
  await client.query("ROLLBACK");
  return [codes, await rows(client, "SELECT 1")];
};
checks.error = (client) => rows(client, "SELECT * FROM no_such_table");
checks.error_fields = (client) =>
  client.query("SELECT id, nope FROM orders").catch(({ severity, code, position }) => [severity, code, position]);
checks.unique_violation = (client) => rows(client, "INSERT INTO customers (id, name) VALUES ($1, $2)", [1, "x"]);
checks.wrong_number_of_values = (client) => rows(client, "SELECT $1::int, $2::int", [1]);
checks.notice = async (client) => {
  const said = [];
  client.on("notice", (notice) => said.push([notice.severity, notice.code]));
  await client.query("DROP TABLE IF EXISTS no_such_table");
  return said;
};
checks.statement_timeout = async () => {
  const client = new pg.Client({ statement_timeout: 400 });
  await client.connect();
  try {
    await client.query(SLOW);
  } catch (error) {
    return [error.code, await rows(client, "SELECT 1")];
  } finally {
    await client.end();
  }
};
checks.settings_at_start = async () => {
  const client = new pg.Client({ application_name: "tool", options: "-c search_path=main" });
  await client.connect();
  try {
    return [await rows(client, "SHOW application_name"), await rows(client, "SHOW search_path")];
  } finally {
    await client.end();
  }
};
checks.pool = async () => {
  const pool = new pg.Pool({ max: 4 });
  const found = await Promise.all([...Array(12).keys()].map((i) => pool.query("SELECT $1::int * 2 AS v", [i])));
  await pool.end();
  return found.map((result) => result.rows[0].v);
};
checks.queued = async (client) =>
  (await Promise.all([1, 2, 3].map((i) => client.query("SELECT $1::int AS v", [i])))).map((result) => result.rows[0].v);
checks.many_rows = async (client) => (await rows(client, "SELECT i, 'row ' || i FROM generate_series(1, 100000) AS t(i)")).length;
checks.listen = async (client) => (await client.query("LISTEN channel")).command;
checks.wrong_password = async () => {
  const client = new pg.Client({ password: "wrong" });
  return client.connect().then(() => "connected", (error) => error.code);
};

const names = Object.keys(checks);
const after = process.env.BI_AFTER;
for (const name of after ? names.slice(names.indexOf(after) + 1) : names) {
  console.log(JSON.stringify({ start: name }));
  console.log(JSON.stringify({ check: name, ...(await outcome(checks[name])) }));
}
