"""llm_prob, llm_probs and llm_tags in SQL: types, values, what is asked, what failed rows and calls say."""

from __future__ import annotations

import pytest
from sql_fixtures import Made, make

from relserve.call.place_bias import EMPTY, averaged, divided
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine, mass_by_hash, weights_by_hash
from relserve.errors import Failure, FailureKind, OptionError, RowError

YES_NO = "Answer with exactly one of: yes, no.\n"
TEAMS = "Answer with exactly one of: sales, it's else.\n"
TEXTS = "(VALUES ('a'), (NULL), ('b'), ('a')) t(x)"


@pytest.fixture
def made() -> Made:
    return make()


def test_a_probability_is_a_double_that_is_asked_once_a_distinct_prompt(made: Made) -> None:
    a, b = (weights_by_hash(f"{YES_NO}Complaint? {x}", 2)[0] for x in "ab")
    assert made.rows(f"SELECT llm_prob('Complaint? {{}}', x) FROM {TEXTS}") == [(a,), (None,), (b,), (a,)]
    assert made.asked == (2, 1)
    assert made.rows("SELECT count(*) FROM llm_errors()") == [(0,)]


def test_a_distribution_is_a_map_in_the_order_of_the_choices(made: Made) -> None:
    call = "llm_probs('Team? {}', x, choices := ['sales', 'it''s else'])"
    rows = made.rows(f"SELECT {call}, {call}['it''s else'], typeof({call}) FROM {TEXTS} WHERE x = 'b'")
    sales, other = weights_by_hash(f"{TEAMS}Team? b", 2)
    assert rows == [({"sales": sales, "it's else": other}, other, "MAP(VARCHAR, DOUBLE)")]
    assert list(rows[0][0]) == ["sales", "it's else"]
    assert made.asked == (1, 1)
    assert made.rows("SELECT llm_probs('Team? {}', NULL, choices := ['a', 'b'])") == [(None,)]


def test_label_mass_is_one_more_entry_and_null_where_nobody_tells_it(made: Made) -> None:
    call = "llm_probs('Team? {}', x, choices := ['sales', 'it''s else'], label_mass := true)"
    (row,) = made.rows(f"SELECT p, p['label_mass'], typeof(p) FROM (SELECT {call} AS p FROM {TEXTS} LIMIT 1)")
    sales, other = weights_by_hash(f"{TEAMS}Team? a", 2)
    mass = mass_by_hash(f"{TEAMS}Team? a")
    assert row == ({"sales": sales, "it's else": other, "label_mass": mass}, mass, "MAP(VARCHAR, DOUBLE)")
    both = [mass_by_hash(f"Answer with exactly one of: {each}.\nTeam? a") for each in ("u, v", "v, u")]
    sql = "SELECT llm_probs('Team? {}', 'a', choices := ['u', 'v'], label_mass := true, debias := 2)"
    assert made.rows(f"{sql}['label_mass']") == [(pytest.approx(sum(both) / 2),)]
    made.engine.tells_mass = False
    assert made.rows(f"{sql.replace('Team', 'team')}['label_mass'] IS NULL") == [(True,)]


def test_a_threshold_and_a_limit_ask_for_no_more_than_they_need(made: Made) -> None:
    sql = "SELECT i FROM range(400) t(i) WHERE llm_prob('Odd? {}', i) > 0.4 ORDER BY i"
    weights = [weights_by_hash(f"{YES_NO}Odd? {i}", 2)[0] for i in range(400)]
    passing = [(i,) for i, weight in enumerate(weights) if weight > 0.4]
    assert made.rows(sql) == passing
    assert made.rows(sql.replace(" ORDER BY i", " LIMIT 3").replace("Odd", "odd"))
    assert len(made.engine.submissions[-1].prompts) < 400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", r"llm_probs\(\) needs choices := "),
        (", choices := []", "choices must be a list of texts that is not empty"),
        (", choices := ['a']", r"needs two choices or more, not \['a'\].*ask llm_prob"),
        (", choices := ['a', 'b', 'a']", "choices holds 'a' more than once"),
        (f", choices := {[f'c{i}' for i in range(300)]}", "takes at most 255 choices, not 300; ask twice"),
        (", choices := ['a', 'b'], temperature := 1", "llm_probs.. has no option 'temperature'"),
        (", choices := ['a', 'b'], read := 'fast'", "read must be 'label' .one token a row. or 'exact'"),
    ],
)
def test_bad_choices_are_told_before_anything_is_asked(refusing: Made, options: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        refusing.rows(f"SELECT llm_probs('Team? {{}}', x{options}) FROM {TEXTS}")
    assert refusing.asked[0] == 0


def test_what_does_not_fit_and_what_nobody_tells_is_null_on_record() -> None:
    long = make(max_prompt_chars=100)
    sql = "SELECT llm_prob('Long? {}', repeat('x', 200))"
    assert long.rows(sql) == [(None,)]
    assert long.rows("SELECT kind FROM llm_errors()") == [(FailureKind.OVER_CONTEXT,)]
    silent = make(sure=lambda prompt: None)
    assert silent.rows("SELECT llm_probs('Team? {}', 'x', choices := ['a', 'b'])") == [(None,)]
    (error,) = silent.rows("SELECT kind, message FROM llm_errors()")
    told = "scripted tells no probabilities of the choices; name another model"
    assert error == (FailureKind.REFUSED, told)
    with pytest.raises(RowError, match="tells no probabilities"):
        make(sure=lambda prompt: None).rows("SELECT llm_prob('Good?', on_error := 'raise')")


def test_dataframes_give_the_same() -> None:
    import pyarrow as pa

    import relserve

    table = pa.table({"x": ["a", None, "b"]})
    found = relserve.llm_probs(table, "Team? {x}", choices=["sales", "it's else"], engine=ScriptedEngine())
    assert found.type == pa.map_(pa.string(), pa.float64())
    wanted = [weights_by_hash(f"{TEAMS}Team? {x}", 2) for x in "ab"]
    assert [each and tuple(p for _, p in each) for each in found.to_pylist()] == [wanted[0], None, wanted[1]]
    with pytest.raises(relserve.OptionError, match="needs two choices or more"):
        relserve.llm_probs(table, "Team? {x}", choices=["sales"], engine=ScriptedEngine())


def test_examples_are_told_with_their_choice(made: Made) -> None:
    made.rows("SELECT llm_prob('Good? {}', 'x', examples := [{'text': 'fine', 'answer': true}])")
    (turn,) = made.engine.submissions[-1].turns
    assert turn == (f"{YES_NO}Good? fine", "yes")


def of_tag(text: str, tag: str) -> float:
    """The probability that the scripted engine makes up for a label of a text."""
    return weights_by_hash(f'{YES_NO}About? {text}\nDoes "{tag}" apply?', 2)[0]


def test_tags_are_those_that_apply_each_by_itself(made: Made) -> None:
    tags = ["price", "it's else", "damage"]
    call = "llm_tags('About? {}', x, choices := ['price', 'it''s else', 'damage'], threshold := %s)"
    wanted = [(x and [tag for tag in tags if of_tag(x, tag) >= 0.4],) for x in ("a", None, "b", "a")]
    assert made.rows(f"SELECT {call % 0.4} FROM {TEXTS}") == wanted
    assert made.asked == (6, 1)  # of two distinct texts
    assert made.rows(f"SELECT typeof({call % 1}), {call % 1} FROM {TEXTS} LIMIT 1") == [("VARCHAR[]", [])]
    assert made.rows("SELECT distinct_prompts FROM llm_queries() ORDER BY ALL DESC LIMIT 1") == [(2,)]


def test_explain_counts_the_tokens_of_every_question(made: Made) -> None:
    for tags, most in ((["a"], 2), (["a", "b", "c", "d", "e"], 10)):
        shown = made.rows(f"EXPLAIN SELECT llm_tags('Is {{}}?', x, choices := {tags}) FROM {TEXTS}")
        assert "2 distinct prompts, " in str(shown)
        assert f"at most {most} output tokens" in str(shown)
    assert made.asked[0] == 0


def odd(text: str) -> tuple[float, ...]:
    """What the scripted engine makes up for a text in both orders of yes and no, averaged."""
    asks = "Answer with exactly one of: {}.\nOdd? {}"
    yes_first, no_first = (weights_by_hash(asks.format(each, text), 2) for each in ("yes, no", "no, yes"))
    return averaged([yes_first, no_first[::-1]])


def test_rows_and_empty_inputs_are_read_in_both_orders(made: Made) -> None:
    call = "llm_prob('Odd? {}', x, debias := 2, prior := 'empty')"
    prior = [sum(column) / len(EMPTY) for column in zip(*map(odd, EMPTY), strict=True)]
    wanted = divided(odd("a"), prior)[0]
    assert made.rows(f"SELECT {call} FROM {TEXTS} LIMIT 1") == [(pytest.approx(wanted),)]
    assert len({each.rel_id for each in made.engine.submissions}) == 1


def test_explain_counts_every_order_and_the_empty_inputs(made: Made) -> None:
    for options, most in (("", 2), (", debias := 2", 4), (", debias := 2, prior := 'empty'", 10)):
        shown = str(made.rows(f"EXPLAIN SELECT llm_prob('Odd? {{}}', x{options}) FROM {TEXTS}"))
        assert "2 distinct prompts, " in shown
        assert f"at most {most} output tokens" in shown
    assert made.asked[0] == 0


def test_a_row_of_which_one_question_fails_is_null_on_record() -> None:
    def script(prompt: str, submission: Submission) -> str | Failure:
        return Failure(FailureKind.REFUSED, "too rude") if 'b\nDoes "damage"' in prompt else "yes"

    made = make(script=script)
    call = "llm_tags('About? {}', x, choices := ['price', 'damage'])"
    rows = made.rows(f"SELECT {call} IS NULL FROM {TEXTS}")
    assert rows == [(False,), (True,), (True,), (False,)]
    assert made.rows("SELECT kind, message, rows FROM llm_errors()") == [("refused", "too rude", 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", r"llm_tags\(\) needs choices := "),
        (", choices := ['a'], threshold := 2", "threshold must be from 0 to 1, not 2"),
        (f", choices := {[f'c{i}' for i in range(300)]}", "takes at most 255 choices, not 300"),
    ],
)
def test_bad_tags_are_told_before_anything_is_asked(refusing: Made, options: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        refusing.rows(f"SELECT llm_tags('About? {{}}', 'x'{options})")
    assert refusing.asked[0] == 0
