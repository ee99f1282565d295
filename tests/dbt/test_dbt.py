"""The plug-in under the real dbt-duckdb, which `make dbt` installs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import relserve
from relserve.cache.kept_usage import UsageBook

ROOT = Path(__file__).parents[2]
DBT = ROOT / "build" / "dbt"

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),  # four processes of dbt
    pytest.mark.skipif(not (DBT / "dbt").is_dir(), reason="dbt-duckdb is not installed: make dbt"),
]

PROJECT = {
    "dbt_project.yml": """
name: shop
version: "1.0"
profile: shop
""",
    "packages.yml": """
packages:
  - local: "{{ env_var('MACROS_OF_RELSERVE') }}"
""",
    "profiles.yml": """
shop:
  target: dev
  outputs:
    dev:
      type: duckdb
      path: shop.duckdb
      threads: 2
      plugins:
        - module: relserve.dbt
          config: {model: scripted, max_rows: 50000}
""",
    "models/kinds.sql": """
{{ config(materialized='incremental', unique_key='id') }}
select id, message, llm('Kind of {message}', message) as kind
from main.tickets
where {{ relserve.new_or_changed(['id', 'message'], answer='kind') }}
""",
    "models/moods.sql": """
{{ config(
    materialized='table',
    meta={'llm_columns': {'mood': "llm('Mood of {message}', message)"}},
    post_hook="{{ relserve.llm_columns() }}",
) }}
select id, message from main.tickets
""",
}


class Shop:
    """A dbt project in a folder, and what its runs have asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in PROJECT.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        with duckdb.connect(self.folder / "shop.duckdb") as con:
            return con.execute(text).fetchall()

    def dbt(self, *words: str) -> str:
        """Run dbt; gives what it prints, and "failed" before it where it fails."""
        env = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (DBT, ROOT, ROOT / "duckdb_ext", ROOT / "kernels"))),
            "MACROS_OF_RELSERVE": str(ROOT / "relserve" / "dbt" / "project"),
            "RELSERVE_CACHE_DIR": str(self.folder / "cache"),
            "RELSERVE_KEEP_LEARNT": "1",  # what is asked is counted there
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        }
        command = [sys.executable, "-m", "dbt.cli.main", *words, "--profiles-dir", "."]
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True)
        return ("failed\n" if done.returncode else "") + done.stdout + done.stderr

    def run(self, *words: str) -> int:
        """The prompts that `dbt run` asked."""
        before = self.num_asked
        told = self.dbt("run", *words)
        assert "PASS=2" in told, told
        return self.num_asked - before

    @property
    def num_asked(self) -> int:
        return sum(counts.requests for _, counts in UsageBook.of(self.folder / "cache").by_day())


def test_runs_ask_new_and_changed_rows_alone(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.sql("CREATE TABLE tickets AS SELECT i AS id, 'message ' || i AS message FROM range(1000) r(i)")
    told = shop.dbt("deps")
    assert not told.startswith("failed"), told
    assert shop.run() == 2000
    shop.sql("UPDATE tickets SET message = 'changed ' || id WHERE id % 100 = 0")
    shop.sql("DELETE FROM tickets WHERE id % 100 = 1")
    shop.sql("INSERT INTO tickets SELECT i, 'new ' || i FROM range(2000, 2010) r(i)")
    assert shop.run() == 2 * (10 + 10)
    with relserve.connect(tmp_path / "shop.duckdb", model="scripted", progress=False) as con:
        for table, column, template in (("kinds", "kind", "Kind"), ("moods", "mood", "Mood")):
            wrong = f"{column} IS DISTINCT FROM llm('{template} of {{message}}', message)"
            assert con.execute(f"SELECT count(*) FROM {table} WHERE {wrong}").fetchall() == [(0,)]
            missing = f"SELECT count(*) FROM tickets ANTI JOIN {table} USING (id, message)"
            assert con.execute(missing).fetchall() == [(0,)]
    changed = PROJECT["models/moods.sql"].replace("Mood", "Temper")
    shop.write("models/moods.sql", changed)
    told = shop.dbt("run", "--select", "moods")
    assert "moods.mood has changed: the expression was llm('Mood of {message}', message)" in " ".join(
        told.split()
    )
    assert "1,000 rows" in told
    assert shop.sql("SELECT count(mood) FROM moods") == [(1000,)]


def test_a_wrong_config_names_what_there_is(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.write("profiles.yml", PROJECT["profiles.yml"].replace("max_rows", "most_rows"))
    told = shop.dbt("debug")
    assert "the plug-in relserve.dbt has no config most_rows; it takes: cache, deadline," in " ".join(
        told.split()
    )
