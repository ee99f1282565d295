"""`relserve user`, run in this process."""

from __future__ import annotations

import stat

import pytest
from typer.testing import CliRunner

from relserve.cli.main import app
from relserve.errors import UsageError
from relserve.server.rights.policy import Created, Granted, Joined, RoleMade, Thing
from relserve.server.rights.store import RightsStore, rights_path
from relserve.server.users.users import Users
from relserve.server.wire.scram import is_password


@pytest.fixture
def path(tmp_path):
    return tmp_path / "users.json"


@pytest.fixture
def user(path):
    """user("add", "ann", ..): what the command prints."""

    def run(*words: str, stdin: str = "secret ü\n") -> str:
        done = CliRunner().invoke(
            app, ["user", *words, "--file", str(path)], input=stdin, catch_exceptions=True
        )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.output

    return run


def add(user, name, *words):
    return user("add", name, "--password-stdin", *words)


def test_a_user_is_added_shown_and_removed(user, path):
    assert "ann may log in" in add(user, "ann")
    add(user, "root", "--admin")
    add(user, "bob", "--models", "tiny, scripted", "--tokens-per-hour", "50000")
    lines = user("list").splitlines()[1:]
    cells = [
        [cell for cell in line.replace("│", "|").split("|") if cell.strip()]
        for line in lines
        if "|" in line or "│" in line
    ]
    shown = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in cells}
    assert shown["ann"] == ["the server's own", "no limit"]
    assert shown["root"] == ["yes", "any", "no limit"]
    assert shown["bob"] == ["scripted, tiny", "50,000 an hour"]
    assert "has 2 users" in user("remove", "ann")
    assert Users.load(path).find("ann") is None


def test_the_file_holds_no_password_and_is_private(user, path):
    add(user, "ann")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in path.read_text()
    verifier = Users.load(path).get("ann").verifier
    assert is_password("secret ü", verifier)
    assert not is_password("secret", verifier)


def test_a_password_is_changed(user, path):
    add(user, "ann", "--models", "tiny")
    user("passwd", "ann", "--password-stdin", stdin="other\r\n")
    ann = Users.load(path).get("ann")
    assert is_password("other", ann.verifier)
    assert ann.models == {"tiny"}


def test_what_a_user_may_do_is_changed(user, path):
    add(user, "ann")
    before = Users.load(path).get("ann")
    user("change", "ann", "--models", "tiny", "--tokens-per-hour", "7", "--admin")
    ann = Users.load(path).get("ann")
    assert (ann.models, ann.tokens_per_hour, ann.is_admin) == ({"tiny"}, 7, True)
    user("change", "ann", "--default-models", "--no-limit", "--no-admin")
    assert Users.load(path).get("ann") == before


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "ann", "--password-stdin"], "has a user 'ann': see `relserve user change`"),
        (["add", "a\nb", "--password-stdin"], "cannot be a user's name"),
        (["add", "bob"], "nobody can be asked for a password; add --password-stdin"),
        (["remove", "bob"], "no user 'bob'"),
        (["passwd", "bob", "--password-stdin"], "no user 'bob'"),
        (["change", "bob", "--admin"], "no user 'bob'"),
        (["change", "ann", "--models", "tiny", "--default-models"], "not both"),
        (["change", "ann", "--tokens-per-hour", "1", "--no-limit"], "not both"),
    ],
)
def test_what_cannot_be_is_said(user, path, words, said):
    add(user, "ann")
    before = path.read_bytes()
    with pytest.raises(UsageError) as error:
        user(*words)
    assert said in str(error.value)
    assert path.read_bytes() == before


def test_an_empty_password_is_none(user, path):
    with pytest.raises(UsageError, match="the password is empty"):
        user("add", "ann", "--password-stdin", stdin="\n")
    assert not path.exists()


def test_there_is_no_file(user):
    with pytest.raises(UsageError, match="`relserve user add NAME` makes one"):
        user("list")


def test_a_user_has_a_deadline_of_their_own(user, path):
    add(user, "ann", "--deadline", "2 minutes")
    assert Users.load(path).get("ann").deadline_s == 120
    assert "120 s" in user("list")
    user("change", "ann", "--deadline", "15")
    assert Users.load(path).get("ann").deadline_s == 15
    user("change", "ann", "--no-deadline")
    assert Users.load(path).get("ann").deadline_s is None


def test_a_user_has_a_class_of_limits(user, path):
    add(user, "ann", "--slo", "interactive")
    assert Users.load(path).get("ann").slo == "interactive"
    assert "interactive" in user("list")
    user("change", "ann", "--no-slo")
    assert Users.load(path).get("ann").slo is None
    with pytest.raises(UsageError, match="--slo or --no-slo"):
        user("change", "ann", "--slo", "batch", "--no-slo")


@pytest.mark.parametrize("deadline", ["0", "soon", "-3 s", "1 year"])
def test_a_deadline_that_is_none_is_refused(user, path, deadline):
    with pytest.raises(UsageError, match="--deadline must be"):
        add(user, "ann", "--deadline", deadline)
    assert not path.exists()


def test_a_key_is_shown_once_and_kept_as_a_hash(user, path):
    user("add", "bot", "--no-password", "--requests-at-once", "3", "--tokens-per-minute", "900")
    first, second = user("key", "bot").strip(), user("key", "bot").strip()
    text = path.read_text()
    assert first.startswith("sk-relserve-")
    assert len({first, second}) == 2
    assert first not in text
    bot = Users.load(path).find_by_key(first)
    assert bot is not None
    assert (bot.name, bot.verifier, bot.requests_at_once, bot.tokens_per_minute) == ("bot", None, 3, 900)
    shown = user("list")
    assert f"..{first[-4:]}" in shown
    assert first not in shown


def test_a_key_is_taken_back(user, path):
    user("add", "bot", "--no-password")
    first, second = user("key", "bot").strip(), user("key", "bot").strip()
    assert "1 key" in user("key", "bot", "--revoke", first[-4:])
    users = Users.load(path)
    assert users.find_by_key(first) is None
    assert users.find_by_key(second) is not None
    with pytest.raises(UsageError, match="no key that ends with 'xxxx'"):
        user("key", "bot", "--revoke", "xxxx")
    user("key", "bot", "--revoke", "all")
    assert Users.load(path).get("bot").keys == ()


@pytest.mark.long
def test_limits_are_changed_and_lifted(user, path):
    user("add", "bot", "--no-password", "--tokens-per-day", "5")
    user("change", "bot", "--tokens-per-minute", "7", "--requests-at-once", "1")
    bot = Users.load(path).get("bot")
    assert (bot.token_limits, bot.requests_at_once) == ((7, None, 5), 1)
    user("change", "bot", "--no-limit")
    bot = Users.load(path).get("bot")
    assert (bot.token_limits, bot.requests_at_once) == ((None, None, None), None)
    with pytest.raises(UsageError, match="not both"):
        user("change", "bot", "--no-limit", "--tokens-per-day", "3")


def test_limits_and_a_user_who_only_reads(user, path):
    add(user, "ann", "--read-only", "--connections-at-once", "2", "--longest-statement", "30")
    ann = Users.load(path).get("ann")
    assert (ann.is_read_only, ann.connections_at_once, ann.longest_statement_s) == (True, 2, 30)
    user("change", "ann", "--no-read-only", "--no-limit")
    ann = Users.load(path).get("ann")
    assert (ann.is_read_only, ann.connections_at_once, ann.longest_statement_s) == (False, None, None)


@pytest.mark.long
def test_another_user_of_a_name_gets_no_rights_of_who_is_gone(user, path):
    store = RightsStore(rights_path(path))
    add(user, "ann")
    orders = Thing("table", "main", "orders")
    grant = Granted(orders, {"ann"}, {"SELECT"})
    store.change("shop", [Created(orders, "ann"), grant, RoleMade("team"), Joined({"team"}, {"ann"})])
    user("remove", "ann")
    rights = store.rights("shop")
    assert (rights.entries[orders].owner, rights.entries[orders].grants, rights.members) == ("", {}, {})
    for name in ("team", "public", "pg_read_all_data"):
        with pytest.raises(UsageError, match="name of a role"):
            add(user, name)
