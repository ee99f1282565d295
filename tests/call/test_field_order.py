"""The order of a row's fields: what repeats comes first, and nothing but the order changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relserve.call.field_order import best_field_order, free_rows
from relserve.call.options import Options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.session.session import Session

FILM = "a long description of a film, which is the same for many reviews and fills some blocks, "
ROWS = [[{"id": i, "review": f"text {i % 5}", "film": FILM + "AB"[i % 2]}] for i in range(20)]


def test_long_values_that_repeat_come_first() -> None:
    columns = [[str(row[0][name]) for row in ROWS] for name in ("id", "review", "film")]
    assert best_field_order(columns) == [2, 1, 0]


def test_columns_that_save_nothing_stay_in_order() -> None:
    assert best_field_order([["a", "b"], ["c", "d"], ["e", "f"]]) == [0, 1, 2]
    assert best_field_order([]) == []


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 2), st.none()), max_size=8))
def test_only_the_order_changes(values: list[tuple[str, int, None]]) -> None:
    rows = [[dict(zip("abc", value, strict=True))] for value in values]
    free = free_rows(rows, [0])
    assert free == rows
    assert len({tuple(row[0]) for row in free}) <= 1


def test_null_rows_and_plain_values_stay() -> None:
    rows = [[None, "x"], [{"a": 1, "b": FILM * 5}, "y"], [{"a": 2, "b": FILM * 5}, None]]
    free = free_rows(rows, [0, 1])
    assert [list(row[0]) for row in free[1:]] == [["b", "a"]] * 2
    assert free == rows


def test_fields_stay_where_another_order_shares_no_more() -> None:
    rows = [[{"a": 1, "b": "same"}], [{"a": 2, "b": "same"}]]
    assert [list(row[0]) for row in free_rows(rows, [0])] == [["a", "b"]] * 2


def asked(options: Options, sorts: bool = True) -> list[str]:
    engine = ScriptedEngine(echo)
    relquery = RelQuery("llm", Template.parse("about {}").bind(1), ROWS, options)
    answers = Session(lambda _: engine, sorts=sorts).run(relquery).values
    sent = list(engine.submissions[0].prompts)
    assert answers == relquery.prompts()  # in the order of the rows, whatever was sent first
    return sent


def test_prompts_are_sent_sorted_and_free_fields_share_their_beginnings() -> None:
    given_order = asked(Options(), sorts=False)
    assert [p[:12] for p in given_order[:3]] == ['about {"id":'] * 3
    assert asked(Options()) == sorted(given_order)
    free = asked(Options(field_order="free"))
    assert all(p.startswith('about {"film": "a long') for p in free)
    assert free == sorted(free)
