"""GRANT, REVOKE and their like, as PostgreSQL reads them."""

from __future__ import annotations

import pytest

from relserve.errors import ProtocolError
from relserve.server.rights.grants import Grant, GrantRole, OwnerChange, Role, read_granting

SELECT = frozenset(["SELECT"])


def grant(kind, names, roles, privileges=SELECT, is_taken=False, all_in=False):
    return Grant(is_taken, kind, names, all_in, privileges, frozenset(roles))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("GRANT SELECT ON t TO ann", grant("table", [("t",)], ["ann"])),
        ("grant select on table s.t, \"T x\" to Ann, \"Bob\", PUBLIC;",
         grant("table", [("s", "t"), ("T x",)], ["ann", "Bob", "public"])),
        ("GRANT ALL PRIVILEGES ON t TO GROUP ann GRANTED BY root", grant("table", [("t",)], ["ann"], None)),
        ("GRANT SELECT ON ALL TABLES IN SCHEMA a, b TO ann",
         grant("table", [("a",), ("b",)], ["ann"], all_in=True)),
        ("GRANT USAGE ON SCHEMA s TO ann", grant("schema", [("s",)], ["ann"], frozenset(["USAGE"]))),
        ("REVOKE SELECT ON t FROM ann CASCADE", grant("table", [("t",)], ["ann"], is_taken=True)),
        ("GRANT a, b TO ann", GrantRole(False, frozenset("ab"), frozenset(["ann"]))),
        ("REVOKE a FROM ann RESTRICT", GrantRole(True, frozenset("a"), frozenset(["ann"]))),
        ("CREATE ROLE x WITH NOLOGIN IN ROLE a", Role(False, ["x"], frozenset("a"))),
        ("DROP ROLE IF EXISTS x, y", Role(True, ["x", "y"], may_lack=True)),
        ("ALTER TABLE s.t OWNER TO ann", OwnerChange("table", ("s", "t"), "ann", "ALTER TABLE")),
        ("ALTER SCHEMA s OWNER TO ann", OwnerChange("schema", ("s",), "ann", "ALTER SCHEMA")),
        ("ALTER TABLE t RENAME TO owner", None),
        ("CREATE TABLE role (a INT)", None),
    ],
)  # fmt: skip
def test_it_is_read(text, read):
    assert read_granting(text) == read


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("GRANT", "42601"), ("GRANT SELECT ON t", "42601"), ("GRANT SELECT ON t TO", "42601"),
        ("GRANT SELECT ON t TO ann bob", "42601"), ("GRANT SELECT ON 'x' TO ann", "42601"),
        ("GRANT 'x", "42601"), ("GRANT nonsense ON t TO ann", "42601"),
        ("REVOKE SELECT ON t TO ann", "42601"),
        ("GRANT USAGE ON t TO ann", "0LP01"), ("GRANT SELECT ON SCHEMA s TO ann", "0LP01"),
        ('GRANT SELECT ON t TO "public"', "42704"), ("GRANT SELECT (a) ON t TO ann", "0A000"),
        ("GRANT SELECT ON t TO ann WITH GRANT OPTION", "0A000"),
        ("GRANT USAGE ON SEQUENCE s TO ann", "0A000"),
        ("REVOKE GRANT OPTION FOR SELECT ON t FROM ann", "0A000"), ("CREATE ROLE x LOGIN", "0A000"),
        ("CREATE USER x PASSWORD 'y'", "0A000"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(text, sqlstate):
    with pytest.raises(ProtocolError) as error:
        read_granting(text)
    assert error.value.sqlstate == sqlstate
