"""Who may do what, decided on made-up rights."""

from __future__ import annotations

from functools import reduce

import pytest

from relserve.server.rights.policy import (
    ON_TABLES,
    PUBLIC,
    READS,
    Created,
    Dropped,
    Granted,
    Joined,
    Owned,
    Renamed,
    Rights,
    RoleMade,
    Thing,
    Who,
    changed,
)
from relserve.text2sql.guard.names import folded

T, S = Thing("table", "main", "t"), Thing("schema", "hr")
IN_S = Thing("table", "hr", "pay")
ANN, BOB, ROOT = Who("ann"), Who("bob"), Who("root", is_admin=True)
READER = Who("eve", is_read_only=True)


def after(*changes, **rights):
    return reduce(changed, changes, Rights(**rights))


def test_what_nobody_granted_is_everybodys_or_nobodys():
    assert Rights().may(ANN, "DELETE", T)
    assert Rights().owns(ANN, T)
    strict = Rights(is_strict=True)
    assert not strict.may(ANN, "SELECT", T)
    assert not strict.owns(ANN, T)
    assert strict.may(ANN, "USAGE", Thing("schema", "main"))
    assert not strict.may(ANN, "CREATE", Thing("schema", "main"))
    assert strict.may(ROOT, "DELETE", T)


def test_a_grant_is_to_one_and_what_it_says():
    rights = after(Granted(T, {"ann"}, {"SELECT", "INSERT"}), Granted(T, {"ann"}, {"INSERT"}, is_taken=True))
    assert rights.may(ANN, "SELECT", T)
    assert not rights.may(ANN, "INSERT", T)
    assert not rights.may(BOB, "SELECT", T)
    assert after(Granted(T, {PUBLIC}, ON_TABLES)).may(BOB, "TRUNCATE", T)
    assert not after(Granted(T, {"bob"}, {"SELECT"}, is_taken=True)).may(ANN, "SELECT", T)


def test_a_schema_that_is_granted_stays_open_to_look_into_only_where_it_is_the_first():
    main = Thing("schema", "main")
    rights = after(Granted(main, {"ann"}, {"CREATE"}), Granted(S, {"ann"}, {"CREATE"}))
    assert rights.may(BOB, "USAGE", main)
    assert not rights.may(BOB, "CREATE", main)
    assert not rights.may(BOB, "USAGE", S)


def test_roles_of_roles():
    rights = after(
        RoleMade("a"), RoleMade("b"), Joined({"a"}, {"b"}), Joined({"b"}, {"ann"}), Joined({"ann"}, {"a"}),
        Granted(T, {"a"}, {"SELECT"}),
    )  # fmt: skip
    assert rights.roles_of("ann") == {"ann", "a", "b", PUBLIC}
    assert rights.may(ANN, "SELECT", T)
    assert not changed(rights, Joined({"b"}, {"ann"}, is_taken=True)).may(ANN, "SELECT", T)


def test_who_reads_only_reads():
    rights = after(Created(T, "eve"), Granted(T, {PUBLIC}, ON_TABLES))
    assert rights.may(READER, "SELECT", T)
    assert not rights.may(READER, "INSERT", T)
    assert not rights.owns(READER, T)
    assert not rights.may_grant(READER, T)


def test_a_user_called_like_a_role_for_all_tables_has_it_not():
    strict = Rights(is_strict=True)
    assert not strict.may(Who(READS), "SELECT", T)
    assert changed(strict, Joined({READS}, {"ann"})).may(ANN, "SELECT", T)


@pytest.mark.parametrize("end", [Dropped(T), Created(T, "bob")])
def test_rights_end_with_the_table(end):
    assert after(Granted(T, {"ann"}, {"SELECT"}), end, is_strict=True).may(ANN, "SELECT", T) is False


def test_names_change_and_schemas_take_all_in_them_along():
    hr = Thing("schema", "people")
    rights = after(Granted(IN_S, {"ann"}, {"SELECT"}), Granted(S, {"ann"}, {"USAGE"}), Renamed(S, hr))
    assert set(rights.entries) == {hr, Thing("table", "people", "pay")}
    assert changed(rights, Dropped(hr)).entries == {}


def test_what_was_somebodys_who_is_gone_is_nobodys():
    rights = after(Created(T, "ann"), Granted(T, {"bob"}, {"SELECT"}), RoleMade("ann", is_gone=True))
    assert not rights.owns(ANN, T)
    assert rights.runs_as(T, "bob") == ""
    assert rights.roles_of("") == {PUBLIC}


def test_a_view_runs_as_its_owner_once_it_is_granted():
    made = after(Created(T, "ann"))
    assert made.runs_as(T, "bob") == "bob"
    assert changed(made, Granted(T, {"bob"}, {"SELECT"})).runs_as(T, "bob") == "ann"
    assert after(Created(T, "ann"), is_strict=True).runs_as(T, "bob") == "ann"
    assert after(Granted(T, {"bob"}, {"SELECT"}), Owned(T, None)).runs_as(T, "bob") is None


def test_only_asciis_letters_have_two_cases():
    assert folded("Key") == "key"
    assert folded("\u212aey") == "\u212aey"
