"""Arrangement: the paper's three cases by hand, its errata, and the marginal rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.arrange import (
    Exclusive,
    Marginal,
    Mixed,
    PrefillCandidate,
    StepChoices,
    always_decode,
    always_prefill,
    by_total_latency,
    latency_change,
)
from relserve.policies.scheduling.order import RelQueryOrder
from relserve.policies.scheduling.state import NOBODY, RelState

COST = CostModel(1e-3, 0.01, 1e-3, 0.05)
PRIORITIES: dict[str, float] = {}  # of the relQueries of a test, by name


def rel(
    name: str, priority: float, decoding: int = 0, left: int = 0, waiting: int = 0, cap: int = 20
) -> RelState:
    PRIORITIES[name] = priority
    return RelState(
        name, 0.0, decoding + waiting, cap, num_arrived=decoding + waiting, num_waiting=waiting,
        waiting_tokens=100 * waiting, num_running=decoding,
        num_decoding=decoding, max_decode_left=left, sum_decode_left=left * decoding,
    )  # fmt: skip


def choices(rels: list[RelState], candidates: list[PrefillCandidate], cost: CostModel) -> StepChoices:
    order = RelQueryOrder.of(rels, [PRIORITIES[rel.rel_id] for rel in rels])
    at_work = sum(bool(r.num_waiting or r.num_running) for r in rels)
    with_waiting = sum(bool(r.num_waiting) for r in rels)
    decoding = order.sort(r for r in rels if r.num_decoding)
    return StepChoices(order, decoding, candidates, with_waiting, at_work, cost)


def view(decoding: list[RelState], head: RelState | None, rows: int = 4, num_waiting: int = 1) -> StepChoices:
    candidates = [] if head is None else [PrefillCandidate(head, 100.0 * rows, rows)]
    others = [rel(f"other {i}", 1e6, waiting=1) for i in range(num_waiting - (head is not None))]
    heads = [] if head is None or head in decoding else [head]
    return choices([*decoding, *heads, *others], candidates, COST)


ABA = Exclusive(by_total_latency)


def test_a_more_urgent_waiting_relquery_preempts() -> None:
    plan = ABA.decide(view([rel("run", 9.0, 3, 5)], rel("wait", 1.0, waiting=4)))
    assert (plan.reason, plan.decode, plan.prefill) == ("preemption", NOBODY, frozenset({"wait"}))


def test_inside_one_relquery_prefill_goes_first() -> None:
    both = rel("r", 4.0, 3, 5, waiting=4)
    plan = ABA.decide(view([both], both))
    assert (plan.reason, plan.prefill) == ("internal", frozenset({"r"}))


def test_at_the_transition_the_total_latency_decides() -> None:
    running, waiting = [rel("run", 1.0, 3, 2)], rel("wait", 9.0, waiting=4)
    few, many = view(running, waiting, num_waiting=1), view(running, waiting, num_waiting=50)
    assert latency_change(few) > 0
    assert ABA.decide(few).reason == "transition: decode"
    assert latency_change(many) < 0
    assert ABA.decide(many).reason == "transition: prefill"
    assert ABA.decide(many).prefill == frozenset({"wait"})
    assert Exclusive(always_decode).decide(many).prefill == NOBODY
    assert Exclusive(always_prefill).decide(few).prefill == frozenset({"wait"})


def test_a_relquery_that_decodes_and_waits_counts_on_both_sides() -> None:
    both = rel("both", 2.0, decoding=1, left=4, waiting=9)
    running, cap = [rel("run", 1.0, 3, 2), both], 20
    found = latency_change(view(running, both, rows=4, num_waiting=1))
    plus = (1e-3 * 400 + 0.01) * 2 + 1e-3 * 4 * (2 + 4)
    assert found == pytest.approx(plus - 1 * 0.05 * min(cap, 4))


def test_prefill_first_of_all_takes_whatever_fits_as_vllm_does() -> None:
    plan = Exclusive(always_prefill, one_relquery=False).decide(
        view([rel("run", 9.0, 3, 5)], rel("wait", 1.0, waiting=4))
    )
    assert (plan.decode, plan.prefill) == (NOBODY, None)


def test_equations_15_to_17_by_hand_with_the_sign_corrected() -> None:
    running = [rel("a", 1.0, 3, 15), rel("b", 2.0, 2, 8)]
    head = rel("wait", 9.0, waiting=4, cap=10)
    plus = (1e-3 * 400 + 0.01) * 2 + 1e-3 * 4 * (10 + 8)
    minus = 7 * 0.05 * 10
    assert latency_change(view(running, head, num_waiting=7)) == pytest.approx(plus - minus)


def test_an_empty_side_leaves_the_other() -> None:
    assert ABA.decide(view([], rel("w", 1.0, waiting=4))).prefill == frozenset({"w"})
    nothing_fits = ABA.decide(view([rel("run", 1.0, 3, 5)], None))
    assert (nothing_fits.decode, nothing_fits.prefill) == (None, NOBODY)


def test_mixed_holds_nothing_back() -> None:
    plan = Mixed().decide(view([rel("run", 1.0, 3, 5)], rel("w", 2.0, waiting=4)))
    assert plan.decodes("run")
    assert plan.prefills("w")


def test_marginal_mixes_in_a_prefill_that_many_wait_for_and_not_one_that_only_delays() -> None:
    running, head = rel("a", 1.0, 10, 10), rel("w", 5.0, waiting=4, cap=10)
    gpu = CostModel(1e-3, 5e-3, 1e-5, 2e-2)
    long = [PrefillCandidate(head, 2000.0, 4)]
    behind = [rel(f"b{i}", 9.0, waiting=1) for i in range(40)]
    assert Marginal().decide(choices([running, head, *behind], long, gpu)).prefill == frozenset({"w"})
    assert Marginal().decide(choices([running, head], long, gpu)).prefill == NOBODY


def test_marginal_counts_shared_steps_as_saved_only_as_far_as_all_rows_come_along() -> None:
    running, gpu = rel("a", 1.0, 10, 10), CostModel(1e-5, 1e-4, 1e-5, 2e-3)
    whole, part = rel("w", 5.0, waiting=4, cap=10), rel("w", 5.0, waiting=100, cap=10)
    assert Marginal().decide(choices([running, whole], [PrefillCandidate(whole, 2e3, 4)], gpu)).prefill == {
        "w"
    }
    assert (
        Marginal().decide(choices([running, part], [PrefillCandidate(part, 2e3, 4)], gpu)).prefill == NOBODY
    )
    half_done = rel("w", 5.0, cap=10)
    half_done.num_running, half_done.prefill_left = 4, 4000
    rest = [PrefillCandidate(half_done, 2e3, 0)]
    assert Marginal().decide(choices([running, half_done], rest, gpu)).prefill == {"w"}


def test_marginal_pauses_decodes_for_the_more_urgent_unless_many_would_pay_for_it() -> None:
    head, running = rel("w", 1.0, waiting=4, cap=10), rel("a", 5.0, 50, 10)
    cost, short = CostModel(1e-5, 5e-3, 1e-4, 2e-2), [PrefillCandidate(head, 100.0, 4)]
    plan = Marginal().decide(choices([head, running], short, cost))
    assert (plan.decode, plan.prefill, plan.reason) == (NOBODY, {"w"}, "prefill first")
    behind = [rel(f"b{i}", 9.0, waiting=1) for i in range(40)]
    assert Marginal().decide(choices([head, running, *behind], short, cost)).decode is None
    urgent = rel("u", 0.5, 1, 10)
    mixed = Marginal().decide(choices([urgent, head, running], short, cost))
    assert (mixed.decode, mixed.prefill) == (None, {"w"})


def test_marginal_pauses_only_for_the_more_urgent_of_those_that_join() -> None:
    head, running, tail = rel("w", 1.0, waiting=4, cap=10), rel("a", 5.0, 50, 10), rel("z", 9.0, waiting=1)
    cost = CostModel(1e-5, 5e-3, 1e-4, 2e-2)
    joining = [PrefillCandidate(head, 100.0, 4), PrefillCandidate(tail, 1.0, 1)]
    plan = Marginal().decide(choices([head, running, tail], joining, cost))
    assert (plan.decode, plan.prefill, plan.max_admit) == (NOBODY, {"w"}, 4)


def test_marginal_pauses_a_relquerys_own_decodes_only_if_the_rest_can_get_in() -> None:
    own, cost = rel("w", 1.0, 50, 10, waiting=40, cap=10), CostModel(1e-5, 5e-3, 1e-4, 2e-2)
    assert Marginal().decide(choices([own], [PrefillCandidate(own, 4e3, 20)], cost)).decode == NOBODY
    held_up = [PrefillCandidate(own, 100.0, 1, held_up=True)]
    mixed = Marginal().decide(choices([own], held_up, cost))
    assert (mixed.decode, mixed.prefill) == (None, {"w"})


def test_marginal_mixes_in_short_outputs_that_would_wait_for_long_ones() -> None:
    cost, short = CostModel(1e-3, 5e-3, 1e-4, 2e-2), rel("w", 5.0, waiting=4, cap=2)
    candidates = [PrefillCandidate(short, 200.0, 4)]
    first, second = rel("a", 1.0, 10, 3), rel("b", 2.0, 10, 30)
    assert Marginal().decide(choices([second, short], candidates, cost)).prefill == {"w"}
    a_ends_soon = choices([first, second, short], candidates, cost)
    assert Marginal().decide(a_ends_soon).prefill == NOBODY
    large = rel("w", 5.0, waiting=40, cap=2)
    others_come_later = choices([second, large], [PrefillCandidate(large, 200.0, 4)], cost)
    assert Marginal().decide(others_come_later).prefill == NOBODY


def test_marginal_never_lets_the_less_urgent_overtake() -> None:
    running = rel("a", 1.0, 10, 10)
    big, small = rel("big", 5.0, waiting=40, cap=10), rel("small", 6.0, waiting=1, cap=10)
    candidates = [PrefillCandidate(big, 2000.0, 40), PrefillCandidate(small, 1.0, 1)]
    plan = Marginal().decide(choices([running, big, small], candidates, CostModel(1e-3, 5e-3, 1e-5, 2e-3)))
    assert plan.prefill == NOBODY
    assert plan.reason == "decode first"


plans = st.tuples(st.floats(0, 100), st.integers(1, 50), st.integers(1, 20))


@given(st.lists(plans, max_size=8), st.one_of(st.none(), plans), st.integers(0, 50))
def test_every_arrangement_always_lets_something_run(
    running: list[tuple[float, int, int]], head: tuple[float, int, int] | None, num_waiting: int
) -> None:
    decoding = [rel(f"d{i}", p, n, k) for i, (p, n, k) in enumerate(running)]
    waiting = None if head is None else rel("w", head[0], waiting=head[1])
    if not decoding and waiting is None:
        return
    for arrangement in (Mixed(), Marginal(), ABA, Exclusive(always_prefill), Exclusive(always_decode)):
        plan = arrangement.decide(view(decoding, waiting, num_waiting=num_waiting + 1))
        runs = any(plan.decodes(r.rel_id) for r in decoding) or (waiting is not None and plan.prefills("w"))
        assert runs, arrangement
        if isinstance(arrangement, Marginal) and plan.decode is not None:
            assert waiting is not None
            assert plan.prefills("w")
            assert all(PRIORITIES["w"] <= PRIORITIES[r.rel_id] for r in decoding)
        assert isinstance(arrangement, Exclusive | Marginal) or plan.decode is None
