"""The users file."""

from __future__ import annotations

import json
import os
import stat

import pytest

from relserve.errors import UsageError
from relserve.server.users.users import User, Users

VERIFIER = "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy"
ANN = User("ann", VERIFIER, True, frozenset(["tiny", "http://127.0.0.1:8000/v1"]), 1000)
BOB = User("bob ü", VERIFIER)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config" / "users.json"


def written(path, text, mode=0o600):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_what_is_saved_is_found_again(path):
    users = Users(path)
    users.put(BOB)
    users.put(ANN)
    users.save()
    again = Users.load(path)
    assert again.all() == [ANN, BOB]
    assert (again.find("ann"), again.find("nobody"), again.find("ANN")) == (ANN, None, None)


def test_only_its_owner_may_read_it(path):
    users = Users(path)
    users.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    with pytest.raises(UsageError, match=r"open to others \(mode 0640\): chmod 600"):
        Users.load(path)


def test_a_changed_file_is_read_anew(path):
    users = Users(path)
    users.put(ANN)
    users.save()
    running = Users.load(path)
    users.put(BOB)
    users.remove("ann")
    users.save()
    assert (running.find("ann"), running.find("bob ü")) == (None, BOB)


def test_a_file_that_was_spoilt_or_removed_lets_nobody_in(path):
    users = Users(path)
    users.put(ANN)
    users.save()
    running = Users.load(path)
    written(path, "{")
    for _ in range(2):
        with pytest.raises(UsageError):
            running.find("ann")
    path.unlink()
    with pytest.raises(UsageError):
        running.find("ann")


def test_nothing_is_left_behind_when_saving_fails(path, monkeypatch):
    users = Users(path)
    users.save()
    users.put(ANN)
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        users.save()
    assert [each.name for each in path.parent.iterdir()] == ["users.json"]
    assert Users.load(path).all() == []


def test_removing_who_is_not_there_says_who_is(path):
    users = Users(path)
    users.put(ANN)
    with pytest.raises(UsageError, match=r"no user 'bob'.*there is: ann"):
        users.remove("bob")


def test_a_name_is_given_once(path):
    users = Users(path)
    users.add(ANN)
    with pytest.raises(UsageError, match="has a user 'ann': see `relserve user change`"):
        users.add(User("ann"))


@pytest.mark.parametrize("name", ["", "a\nb", "a\0", " a", "ü" * 32, "\u202ea"])
def test_names_that_cannot_be(path, name):
    with pytest.raises(UsageError, match="cannot be a user's name"):
        Users(path).add(User(name))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "'name'"),
        ({"name": "a\nb"}, "cannot be a user's name"),
        ({"name": "ann", "password": "x"}, "unknown key 'password'; a user has name, verifier"),
        ({"name": "ann", "verifier": "md5abc"}, "verifier of 'ann'"),
        ({"name": "ann", "models": "tiny"}, "models of 'ann' is 'tiny'"),
        ({"name": "ann", "models": [1]}, "models of 'ann'"),
        ({"name": "ann", "tokens_per_hour": -1}, "tokens_per_hour of 'ann' is -1"),
        ({"name": "ann", "tokens_per_hour": True}, "tokens_per_hour of 'ann' is True"),
        ({"name": "ann", "requests_at_once": -2}, "requests_at_once of 'ann' is -2"),
        ({"name": "ann", "keys": ["sk-relserve-abc"]}, "is no key as `relserve user key` keeps it"),
        ({"name": "ann", "is_admin": "no"}, "is_admin of 'ann' is 'no'"),
        ("ann", "is not as"),
    ],
)
def test_a_wrong_entry_is_named(path, entry, said):
    written(path, json.dumps({"users": [entry]}))
    with pytest.raises(UsageError) as error:
        Users.load(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"users": 3}', '{"users": {"ann": 1}}'])
def test_what_is_no_users_file(path, text):
    with pytest.raises(UsageError, match="is not as `relserve user` writes it"):
        Users.load(written(path, text))


def test_a_name_twice(path):
    with pytest.raises(UsageError, match="names 'ann' twice"):
        Users.load(written(path, json.dumps({"users": [{"name": "ann"}, {"name": "ann"}]})))


def test_a_file_that_is_not_there(path):
    with pytest.raises(UsageError, match="relserve user add NAME"):
        Users.load(path)


@pytest.mark.parametrize("deadline", [0, "soon", True, 1e300, [1]])
def test_a_deadline_in_the_file_that_is_none_is_refused(tmp_path, deadline):
    path = tmp_path / "users.json"
    path.write_text(json.dumps({"users": [{"name": "ann", "deadline_s": deadline}]}))
    path.chmod(0o600)
    with pytest.raises(UsageError, match="deadline_s of 'ann' must be"):
        Users.load(path)


def test_a_class_of_limits_in_the_file(tmp_path):
    path = tmp_path / "users.json"
    for slo, said in (("interactive", None), (5, "slo of 'ann' is 5, not the name of a class")):
        path.write_text(json.dumps({"users": [{"name": "ann", "slo": slo}]}))
        path.chmod(0o600)
        if said is None:
            assert Users.load(path).get("ann").slo == slo
        else:
            with pytest.raises(UsageError, match=said):
                Users.load(path)


def test_a_file_keeps_its_secret(path):
    users = Users(path)
    users.put(ANN)
    users.save()
    running = Users.load(path)
    users.put(BOB)
    users.save()
    assert running.find("bob ü") == BOB
    assert running.secret == users.secret == Users.load(path).secret != Users(path).secret


def test_a_file_without_a_secret_gets_one(path):
    written(path, json.dumps({"users": [{"name": "ann", "verifier": VERIFIER}]}))
    running = Users.load(path)
    running.keep_secret()
    assert Users.load(path).secret == running.secret
    assert Users.load(path).find("ann").verifier == VERIFIER


def test_a_file_that_cannot_be_written_has_a_secret_while_it_is_open(path, monkeypatch, caplog):
    written(path, json.dumps({"users": []}))
    running = Users.load(path)
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("read-only")))
    running.keep_secret()
    assert "read-only" in caplog.text
    secret = running.secret
    written(path, json.dumps({"users": [{"name": "ann"}]}))
    assert running.find("ann") == User("ann")
    assert running.secret == secret


@pytest.mark.parametrize("secret", [5, "", "?", "c2hvcnQ="])
def test_a_secret_that_is_none_is_told(path, secret):
    with pytest.raises(UsageError, match="not as `relserve user` writes it"):
        Users.load(written(path, json.dumps({"nonce": secret, "users": []})))
