"""A kept calibration in calls: it applies by its name only, to the call to which it was fitted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import relserve
from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.options import parse_options
from relserve.call.relquery import CallSite, RelQuery
from relserve.call.template import Template
from relserve.errors import OptionError
from relserve.session.session import Session
from tests.too_sure import TooSureEngine, labelled_rows
from tests.waiting import PATIENCE_S

ROWS = labelled_rows()
TEAMS = ["sales", "support", "nobody"]


@pytest.fixture
def engine() -> TooSureEngine:
    return TooSureEngine(identity="f00d")


@pytest.fixture(autouse=True)
def _kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: TooSureEngine) -> None:
    """Calibrations `praise` of llm_prob and `team` of llm_probs."""
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    given: dict[str, Any] = {"truth": "label", "engine": engine, "progress": False}
    relserve.calibrate_decisions(pa.Table.from_pylist(ROWS), "Praise? {text}", name="praise", **given)
    teams = labelled_rows("sales", ["support", "nobody"])
    given |= {"name": "team", "choices": TEAMS}
    relserve.calibrate_decisions(pa.Table.from_pylist(teams), "Team? {text}", **given)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[AnswerCache]:
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    yield cache
    cache.close()


def ask(
    engine: TooSureEngine, template: str = "Praise? {}", cache: AnswerCache | None = None,
    function: str = "llm_prob", **options: Any,
) -> list[Any]:  # fmt: skip
    """The values of two rows, of which the model says 0.9 and 0.1."""
    relquery = RelQuery(
        function, Template.parse(template).bind(1), [("a 0.9",), ("b 0.1",)], parse_options(function, options)
    )
    return Session(lambda model: engine, cache=cache).run(relquery).values


def test_it_applies_by_its_name_only(engine: TooSureEngine) -> None:
    assert ask(engine) == [0.9, 0.1]
    assert ask(engine, calibration="praise") == pytest.approx([0.7, 0.3], abs=0.06)


def test_choices_add_up_to_one(engine: TooSureEngine) -> None:
    given = {"template": "Team? {}", "function": "llm_probs", "choices": TEAMS}
    (first, _) = map(json.loads, ask(engine, **given, calibration="team"))
    assert list(first) == TEAMS
    assert sum(first.values()) == pytest.approx(1)
    assert first["sales"] == pytest.approx(0.7, abs=0.08)
    assert json.loads(ask(engine, **given)[0])["sales"] == 0.9


def test_kept_answers_are_the_models_own(engine: TooSureEngine, cache: AnswerCache) -> None:
    corrected = ask(engine, cache=cache, calibration="praise")
    assert cache.flush(PATIENCE_S)
    num = engine.num_prompts
    assert ask(engine, cache=cache) == [0.9, 0.1]
    assert ask(engine, cache=cache, calibration="praise") == corrected
    assert engine.num_prompts == num


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"calibration": "prase"}, r"there is no calibration 'prase' \(there are: praise, team\)"),
        ({"calibration": "../x"}, "calibration must be a name of letters, digits"),
        ({"calibration": "team"}, r"fitted to the choices \['sales', 'support', 'nobody'\], not \['yes', "),
        ({"calibration": "praise", "template": "Joy? {}"}, r"the question 'Praise\? \{\}', not 'Joy\? \{\}'"),
        ({"calibration": "praise", "system": "Be strict."}, r"the options \{\}, not \{'system': "),
        ({"calibration": "team", "function": "llm_probs", "template": "Team? {}",
          "choices": {**dict.fromkeys(TEAMS), "sales": "before a purchase"}}, r"not \{'descriptions': "),
        ({"calibration": "team", "function": "llm_probs", "template": "Team? {}", "choices": TEAMS[::-1]},
         "leave calibration := 'team' out, name another, or fit one"),
    ],
)  # fmt: skip
def test_another_call_is_an_error(engine: TooSureEngine, given: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        ask(engine, **given)


def price(template: str, engine: TooSureEngine) -> None:
    """Calibrate what llm_tags asks about the label `price`, as a question of llm_prob."""
    rows = pa.table({"text": [row["text"] for row in ROWS], "label": [row["label"] for row in ROWS]})
    asked = template.replace("{}", "{text}") + '\nDoes "price" apply?'
    relserve.calibrate_decisions(rows, asked, truth="label", name="price", engine=engine, progress=False)


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("lead", "choices"),
    [("", ["price", "joy"]), ("price: about money\n", {"price": "about money", "joy": None})],
)
def test_a_label_of_llm_tags_is_corrected_by_its_own(engine: TooSureEngine, lead: str, choices: Any) -> None:
    price(f"{lead}About? {{}}", engine)
    engine.submissions.clear()
    given: dict[str, Any] = {"template": "About? {}", "function": "llm_tags", "choices": choices}
    assert ask(engine, **given, threshold=0.8) == ['["price", "joy"]', "[]"]
    assert ask(engine, **given, threshold=0.8, calibration={"price": "price"}) == ['["joy"]', "[]"]
    assert ask(engine, **given, threshold=0.8, calibration='{"price": "price"}') == ['["joy"]', "[]"]
    assert ask(engine, **given, threshold=0.2, calibration={"price": "price"}) == [
        '["price", "joy"]',
        '["price"]',
    ]
    asked = {prompt for submission in engine.submissions for prompt in submission.prompts}
    ask(engine, f'{lead}About? {{}}\nDoes "price" apply?')
    assert asked.issuperset(engine.submissions[-1].prompts), "llm_prob asks something else"


@pytest.mark.parametrize(
    ("calibration", "said"),
    [
        ("price", r"calibration maps labels to names: calibration := \{'price': 'price'\}"),
        ({"fun": "price"}, r"names the label 'fun', which is none of the choices \['price', 'joy'\]"),
        ({"price": "no/name"}, "calibration of 'price' must be a name of letters"),
        ('{"price": ', 'calibration is no JSON .*; write it like {"label": "name"}'),
        ({"price": "nowhere"}, "there is no calibration 'nowhere'"),
        ({"joy": "price"}, r"""question 'About\? \{\}\\nDoes "price" apply\?', not 'About.*"joy" apply"""),
        ({"price": "team"}, r"fitted to the choices \['sales', .*\], not \['yes', 'no'\]"),
    ],
)
def test_what_no_label_can_take_is_an_error(engine: TooSureEngine, calibration: Any, said: str) -> None:
    price("About? {}", engine)
    given: dict[str, Any] = {"function": "llm_tags", "choices": ["price", "joy"]}
    with pytest.raises(OptionError, match=said):
        ask(engine, "About? {}", **given, calibration=calibration)
    with pytest.raises(
        OptionError, match=r"calibration of llm_prob\(\) must be one name, not \{'yes': 'praise'"
    ):
        ask(engine, calibration={"yes": "praise"})


def test_another_model_is_an_error_and_one_that_moved_is_none(engine: TooSureEngine) -> None:
    with pytest.raises(OptionError, match="fitted to the model 'scripted', not 'other'"):
        ask(TooSureEngine(identity="beef", model="other"), calibration="praise")
    with pytest.raises(OptionError, match="fitted to scripted before its files, its engine arguments or"):
        ask(TooSureEngine(identity="beef"), calibration="praise")
    ask(TooSureEngine(identity="f00d", model="/elsewhere/scripted"), calibration="praise")
    ask(TooSureEngine(), calibration="praise")  # tells no fingerprint, but has the name


def test_one_fitted_meanwhile_changes_no_row_of_a_call_that_began(engine: TooSureEngine) -> None:
    options = parse_options("llm_prob", {"calibration": "praise"})
    binding = Template.parse("Praise? {}").bind(1)
    session = Session(lambda model: engine)
    begun = session.open(CallSite("llm_prob", binding, options))
    (before,) = begun.ask([("a 0.9",)])
    (path,) = Path(os.environ["RELSERVE_CACHE_DIR"]).rglob("praise.json")
    path.write_text(path.read_text("utf-8") + "damaged", "utf-8")
    (after,) = begun.ask([("b 0.9",)])
    assert after == before
    with pytest.raises(OptionError, match="'praise' cannot be used") as raised:
        ask(engine, calibration="praise")
    assert str(path.parent) not in str(raised.value)  # which on a server is of no use to a client


def test_a_client_of_a_server_is_not_told_to_what_it_was_fitted(engine: TooSureEngine) -> None:
    options = parse_options("llm_prob", {"calibration": "praise"})
    relquery = RelQuery("llm_prob", Template.parse("Rude? {}").bind(1), [("a 0.9",)], options)
    with pytest.raises(OptionError, match="fitted to the question of another call, not 'Rude") as raised:
        Session(lambda model: engine, keeps_calibrations=False).run(relquery)
    assert "Praise?" not in str(raised.value)


def test_a_client_of_a_server_is_not_told_which_others_there_are(engine: TooSureEngine) -> None:
    options = parse_options("llm_prob", {"calibration": "prase"})
    relquery = RelQuery("llm_prob", Template.parse("Praise? {}").bind(1), [("a 0.9",)], options)
    with pytest.raises(OptionError, match="there is no calibration 'prase'; relserve") as raised:
        Session(lambda model: engine, keeps_calibrations=False).run(relquery)
    assert "praise" not in str(raised.value)
