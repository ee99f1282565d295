"""What a user may ask on a day: shared by their connections, over restarts, and in the users file."""

from pathlib import Path

import pytest

from relserve.cache.kept_usage import UsageBook, UsageCounts, UsageKey, today
from relserve.errors import UsageError
from relserve.server.users.daily import DailyCaps
from relserve.server.users.users import User, Users
from tests.command_line import relserve

ANN = User("ann", rows_per_day=10, cost_per_day=0.5)


def test_what_was_asked_before_a_restart_counts(tmp_path: Path) -> None:
    book = UsageBook(tmp_path)
    book.add(UsageKey(today(), "ann", "m", "llm", "k"), UsageCounts(7, 0, 70, 0, 7, 0.2, 0))
    book.add(UsageKey("2001-01-01", "ann", "m", "llm", "k"), UsageCounts(99, 0, 0, 0, 0, 9.0, 0))
    book.add(UsageKey(today(), "bob", "m", "llm", "k"), UsageCounts(99, 0, 0, 0, 0, 9.0, 0))
    book.flush()
    cap = DailyCaps().find(ANN, UsageBook(tmp_path))
    assert cap is not None
    assert cap.spent == (7, 77, 0.2)
    assert cap.left_rows() == 3


def test_all_connections_of_a_user_have_one_cap() -> None:
    caps, book = DailyCaps(), UsageBook()
    assert caps.find(ANN, book) is caps.find(ANN, book)
    assert caps.find(ANN, book) is not caps.find(User("bob", rows_per_day=10, cost_per_day=0.5), book)
    assert caps.find(User("eve"), book) is None


def test_the_command_writes_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "users.json"
    given = ("--no-password", "--rows-per-day", "50", "--cost-per-day", "0.25")
    assert relserve("user", "add", "ann", "--file", str(path), *given).returncode == 0
    user = Users.load(path).get("ann")
    assert (user.rows_per_day, user.cost_per_day) == (50, 0.25)
    listed = relserve("user", "list", "--file", str(path)).stdout.decode()
    assert "50 rows" in listed
    assert "0.25 USD" in listed
    assert relserve("user", "change", "ann", "--file", str(path), "--no-limit").returncode == 0
    assert Users.load(path).get("ann").cost_per_day is None


@pytest.mark.parametrize("wrong", ["-1", "NaN", "\"1\"", "true"])
def test_a_wrong_cost_in_the_file_is_told(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "users.json"
    path.write_text(f'{{"users": [{{"name": "ann", "cost_per_day": {wrong}}}]}}')
    path.chmod(0o600)
    with pytest.raises(UsageError, match="cost_per_day of 'ann'"):
        Users.load(path)
