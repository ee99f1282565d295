"""The file of rights that a server reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from relserve.errors import UsageError
from relserve.server.rights.store import check_free, rights_path


def test_a_file_that_grant_did_not_write_is_an_error_with_its_place(tmp_path: Path) -> None:
    users = tmp_path / "users.json"
    check_free(users, "ann")  # there is none yet
    path = rights_path(users)
    whole = '{"databases": {}, "members": {}, "roles": ["team"]}'
    for text in ("", "[]", "{}", whole.replace("{}", "[]"), whole.replace('["team"]', "1"), "\udcff"):
        path.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(UsageError, match=r"users\.rights\.json is not as GRANT writes it"):
            check_free(users, "ann")
    path.write_text(whole)
    with pytest.raises(UsageError, match="'team' is the name of a role"):
        check_free(users, "team")
