"""A plug-in of dbt-duckdb, for models whose SQL calls llm functions: `module: relserve.dbt` in profiles.yml.

`project/` is a dbt package with macros for them; `python -m relserve.dbt` prints where it is.
"""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

import duckdb
from dbt.adapters.duckdb.environments import Environment
from dbt.adapters.duckdb.plugins import BasePlugin

from relserve.api import Connection, attach
from relserve.errors import UsageError

PROJECT = Path(__file__).parent / "project"
OPTIONS = tuple(signature(attach).parameters.keys() - {"con", "engine"})


class Plugin(BasePlugin):  # type: ignore[misc]
    """Runs the statements of dbt's models on connections that know the llm functions.

    Its `config` in profiles.yml takes the options of `relserve.attach`: model, max_cost, deadline and so on.

    Raises:
        UsageError: it has another one.
    """

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        """Read the config, with which dbt-duckdb mixes the target's `settings`."""
        settings = (self.creds.settings if self.creds else None) or {}
        if unknown := sorted(plugin_config.keys() - set(OPTIONS) - settings.keys()):
            raise UsageError(
                f"profiles.yml: the plug-in relserve.dbt has no config {unknown[0]}; it takes: "
                f"{', '.join(sorted(OPTIONS))}"
            )
        self._options = {"progress": False} | {n: plugin_config[n] for n in OPTIONS if n in plugin_config}
        self._attached: Connection | None = None
        _replace_cursors()

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        self._attached = attach(conn, **self._options)

    def cursor_for(self, raw: duckdb.DuckDBPyConnection) -> Any:
        """A cursor of ours in the place of one of DuckDB's, which is closed."""
        if self._attached is None:
            return raw
        raw.close()
        return self._attached.cursor()


def _replace_cursors() -> None:
    """Have dbt-duckdb run its statements on our cursors, which ask all rows of a statement at once.

    By itself it lets a plug-in configure a cursor, not replace it.
    """
    made = Environment.initialize_cursor.__func__
    if made.__module__ == __name__:
        return

    def initialize_cursor(cls: Any, creds: Any, cursor: Any, plugins: Any = None, *others: Any) -> Any:
        for plugin in (plugins or {}).values():
            if isinstance(plugin, Plugin):
                cursor = plugin.cursor_for(cursor)
        return made(cls, creds, cursor, plugins, *others)

    Environment.initialize_cursor = classmethod(initialize_cursor)
