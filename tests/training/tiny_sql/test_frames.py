"""The language that frames are written in, and every frame as a text of it."""

import importlib
import pkgutil
import random

import pytest

from training.tiny_sql.corpus import conditions, frames, phrases
from training.tiny_sql.corpus.conditions.forms import Forms
from training.tiny_sql.corpus.rewording import reworded, tidy

PHRASE_LISTS = [
    (f"{module.name}.{name}", found)
    for package in (frames, conditions)
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    for name, found in vars(importlib.import_module(module.name)).items()
    if name.isupper() and not name.startswith("_")
]


def _texts(found):
    if isinstance(found, str):
        return [found]
    if isinstance(found, dict):
        return [text for each in found.values() for text in _texts(each)]
    return [text for each in found for text in _texts(each)] if isinstance(found, tuple) else []


@pytest.mark.cells(40)
@pytest.mark.parametrize(("name", "found"), PHRASE_LISTS, ids=[name for name, _ in PHRASE_LISTS])
def test_every_frame_is_said_with_all_its_slots_filled(name, found):
    texts = _texts(found)
    assert texts
    for text in texts:
        slots = {slot: lambda: "x" for slot in phrases.slot_names(text)}
        for seed in range(3):
            said = phrases.said(text, random.Random(seed), slots)
            assert said.strip()
            assert not set("{}|") & set(said), (name, text, said)


def test_alternatives_options_and_slots():
    said = {phrases.said("(a|b) [c] {d}", random.Random(seed), {"d": lambda: "d"}) for seed in range(60)}
    assert {tidy(text) for text in said} == {"a d", "b d", "a c d", "b c d"}


@pytest.mark.parametrize("text", ["(a", "a)", "[a", "(a|b"])
def test_a_bracket_that_is_not_closed_is_named(text):
    with pytest.raises(ValueError, match="frame"):
        phrases.parsed(text)


@pytest.mark.parametrize(
    ("text", "one", "several"),
    [
        ("*have a price", "has a price", "have a price"),
        ("*be red", "is red", "are red"),
        ("*cost and *carry and *pass", "costs and carries and passes", "cost and carry and pass"),
    ],
)
def test_starred_verbs_agree(text, one, several):
    assert phrases.agreeing(text, one=True) == one
    assert phrases.agreeing(text, one=False) == several


def test_forms_add_up():
    assert Forms(("a",), ("b",)) + Forms(("c",), ()) == Forms(("a", "c"), ("b",))


def test_rewording_keeps_every_marker():
    text = "show me the \ue000 of all \ue001 with a \ue002 above \ue003"
    for seed in range(200):
        said = reworded(random.Random(seed), text)
        assert [letter for letter in said if letter >= "\ue000"] == ["\ue000", "\ue001", "\ue002", "\ue003"]
