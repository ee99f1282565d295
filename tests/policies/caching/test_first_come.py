"""First come, first served."""

from relserve.policies.caching.variants import make
from tests.policies.caching.views import decoding, view, waiting

FCFS = make("fcfs")


def test_waiting_requests_come_in_by_arrival_until_one_does_not_fit():
    """A later, smaller one does not overtake."""
    requests = [waiting("late", 16, 2.0), waiting("first", 32, 0.0), waiting("large", 64, 1.0)]
    assert FCFS.plan(view(requests, 4)).run == (("first", "kv"),)
    assert [name for name, _ in FCFS.plan(view(requests, 7)).run] == ["first", "large", "late"]


def test_hidden_takes_half_the_memory():
    """The same pool takes twice the requests."""
    requests = [waiting(f"r{i}", 64, float(i)) for i in range(4)]
    assert len(FCFS.plan(view(requests, 8)).run) == 2
    assert make("fcfs-hidden").plan(view(requests, 8)).run == tuple((f"r{i}", "hidden") for i in range(4))


def test_the_latest_goes_where_the_next_tokens_have_no_memory():
    """And nothing comes in at such a step."""
    requests = [decoding("a", 17, last_s=0.0), decoding("b", 17, last_s=1.0), waiting("c", 1, 2.0)]
    plan = FCFS.plan(view(requests, 3))
    assert (plan.run, plan.drop) == ((("a", "kv"),), ("b",))


def test_seats_and_tokens_of_a_step_are_kept():
    """The last prompt of a step may be cut, and none behind it runs."""
    requests = [decoding("d", 17), waiting("a", 64, 1.0), waiting("b", 64, 2.0)]
    assert len(FCFS.plan(view(requests, 100, max_num_seqs=2)).run) == 2
    assert [name for name, _ in FCFS.plan(view(requests, 100, budget=65)).run] == ["d", "a"]
    assert len(FCFS.plan(view(requests, 100, budget=66)).run) == 3
