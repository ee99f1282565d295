"""A view of one client names a server: other clients' rows are not sent there, admins' neither."""

from __future__ import annotations

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect

URL = "http://127.0.0.1:9/v1"


def test_a_view_of_another_client_sends_nobodys_rows_elsewhere(serve: Serve) -> None:
    """Both are admins, who may ask any model; only the one who wrote it meets the model itself."""
    server = serve()
    with connect(server, autocommit=True) as maker, connect(server, autocommit=True) as other:
        maker.execute(f"CREATE VIEW v AS SELECT llm('Of {{}}', 'secret', model := '{URL}') AS y")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="stands in no statement of yours"):
            other.execute("SELECT y FROM v")
        with pytest.raises(psycopg.Error, match=r"no LLM server answers at http://127\.0\.0\.1:9"):
            maker.execute("SELECT y FROM v")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="stands in no statement of yours"):
            other.execute("SELECT y FROM v WHERE y <> 'http://other.example'")
