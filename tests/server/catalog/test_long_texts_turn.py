"""Long texts take turns where sqlglot and DuckDB's parser read them; short ones do not wait for them."""

from __future__ import annotations

import threading

import duckdb

from relserve.server.activity import activity_table
from relserve.server.catalog import Catalog, attach_catalog
from relserve.server.catalog.catalog import SHORT
from tests.waiting import PATIENCE_S


def test_one_long_text_is_read_at_a_time() -> None:
    with duckdb.connect() as con:
        attach_catalog(con)
        catalog = Catalog(con, lambda: activity_table([]), lambda caller, pid, kind: False)
        long = "SELECT 1 ~~~~ 2 /* " + "x" * SHORT + " */"
        reading = threading.Thread(target=catalog.in_duckdbs_words, args=(long,), daemon=True)
        with catalog._long:
            reading.start()
            assert catalog.in_duckdbs_words("SELECT to_char(now(), 'YYYY')") is not None
            assert reading.is_alive()
        reading.join(PATIENCE_S)
        assert not reading.is_alive()
