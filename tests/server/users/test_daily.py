"""What a user may ask on a day: shared by their connections, over restarts, and in the users file."""

from pathlib import Path

import pytest

from relserve.cache.kept_usage import UsageBook, UsageCounts, UsageKey, today
from relserve.errors import UsageError
from relserve.server.users.daily import DailyCaps
from relserve.server.users.users import User, Users
from relserve.session.caps import Amounts, SpendingCap
from tests.command_line import relserve

ANN = User("ann", rows_per_day=10, cost_per_day=0.5)


def find(caps: DailyCaps, user: User, book: UsageBook) -> SpendingCap:
    """The cap of a user who connects now."""
    caps.limit(user)
    return caps.find(user.name, book)


def test_what_was_asked_before_a_restart_counts(tmp_path: Path) -> None:
    book = UsageBook(tmp_path)
    book.add(UsageKey(today(), "ann", "m", "llm", "k"), UsageCounts(7, 0, 70, 0, 7, 0.2, 0))
    book.add(UsageKey("2001-01-01", "ann", "m", "llm", "k"), UsageCounts(99, 0, 0, 0, 0, 9.0, 0))
    book.add(UsageKey(today(), "bob", "m", "llm", "k"), UsageCounts(99, 0, 0, 0, 0, 9.0, 0))
    book.flush()
    cap = find(DailyCaps(), ANN, UsageBook(tmp_path))
    assert cap.spent == (7, 77, 0.2)
    assert cap.exceeded_with(Amounts(4))
    assert not cap.exceeded_with(Amounts(3))


def test_all_connections_of_a_user_have_one_cap() -> None:
    caps, book = DailyCaps(), UsageBook()
    assert find(caps, ANN, book) is find(caps, ANN, book)
    assert find(caps, ANN, book) is not find(caps, User("bob", rows_per_day=10, cost_per_day=0.5), book)
    assert find(caps, User("eve"), book).limits.is_open


def asked(book: UsageBook, rows: int) -> None:
    book.add(UsageKey(today(), "ann", "m", "llm", "k"), UsageCounts(rows, 0, 10 * rows, 0, 0, 0.01 * rows, 0))


def test_a_cap_that_is_set_again_has_counted_all_limits() -> None:
    caps, book = DailyCaps(), UsageBook()
    first = find(caps, ANN, book)
    first.spend(Amounts(4, 40, 0.04))
    raised = find(caps, User("ann", rows_per_day=100), book)
    raised.spend(Amounts(5, 50, 0.05))
    assert find(caps, ANN, book).spent == (9, 90, pytest.approx(0.09))
    assert first.exceeded_with(Amounts(2))  # connections from before have the same
    assert not first.exceeded_with(Amounts(1))


def test_rows_of_a_day_count_with_and_without_a_limit(tmp_path: Path) -> None:
    caps, book = DailyCaps(), UsageBook(tmp_path)
    find(caps, ANN, book).spend(Amounts(2, 20, 0.02))
    under_way = find(caps, User("ann"), book)
    under_way.spend(Amounts(5, 50, 0.05))
    limited = find(caps, ANN, book)
    under_way.spend(Amounts(1, 10, 0.01))
    assert limited.spent == (8, 80, pytest.approx(0.08))
    book.flush()
    again = DailyCaps()
    find(again, User("ann"), UsageBook(tmp_path))
    assert find(again, ANN, UsageBook(tmp_path)).spent == (8, 80, pytest.approx(0.08))


def test_batches_that_were_counted_when_sent_are_not_counted_again(tmp_path: Path) -> None:
    book = UsageBook(tmp_path)
    find(DailyCaps(), ANN, book).spend(Amounts(0, 0, 0))
    asked(book, 7)  # of a batch of the day before
    assert find(DailyCaps(), ANN, book).spent == (0, 0, 0)


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


@pytest.mark.parametrize("wrong", ["-1", "NaN", '"1"', "true"])
def test_a_wrong_cost_in_the_file_is_told(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "users.json"
    path.write_text(f'{{"users": [{{"name": "ann", "cost_per_day": {wrong}}}]}}')
    path.chmod(0o600)
    with pytest.raises(UsageError, match="cost_per_day of 'ann'"):
        Users.load(path)
