"""harlequin's adapter for PostgreSQL on `relserve serve`; the argument is its port."""

import sys

from harlequin_postgres import HarlequinPostgresAdapter

adapter = HarlequinPostgresAdapter(conn_str=(f"postgresql://ann@127.0.0.1:{sys.argv[1]}/memory",))
connection = adapter.connect()
cursor = connection.execute("SELECT id, llm_filter('Is {name} good?', name) AS good FROM beers ORDER BY id")
assert [name for name, _ in cursor.columns()] == ["id", "good"]
assert [row[0] for row in cursor.fetchall()] == list(range(9))
(database,) = connection.get_catalog().items
(schema,) = database.fetch_children()
(table,) = schema.fetch_children()
assert (database.label, schema.label, table.label) == ("memory", "main", "beers")
assert [column.label for column in table.fetch_children()] == ["id", "name"]
connection.close()
print("ok")
