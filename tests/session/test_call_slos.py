"""The limits of a call's tokens: its own, its connection's, or none; and what the engine is told of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import relserve
from relserve.call.options import Options
from relserve.call.rel_tag import read_tag
from relserve.call.relquery import CallSite, RelQuery, Sampling, Submission
from relserve.call.slo import Slo
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import OptionError, UsageError
from relserve.session.session import Session

BINDING = Template.parse("{}").bind(1)
OWN, DEFAULT = Slo(0.5, 0.02), Slo(None, 0.1, "standard")


@pytest.mark.parametrize(
    ("own", "default", "expected"),
    [(None, None, None), (OWN, None, OWN), (None, DEFAULT, DEFAULT), (OWN, DEFAULT, OWN)],
)
def test_the_engine_is_told_the_limits_that_hold(
    own: Slo | None, default: Slo | None, expected: Slo | None
) -> None:
    engine = ScriptedEngine(echo)
    Session(lambda model: engine, slo=default).run(RelQuery("llm", BINDING, [("a",)], Options(slo=own)))
    args: dict[str, Any] = engine.submissions[0].tag().args()
    told = {name: value for name, value in args.items() if "slo" in name}
    limits = {} if expected is None else {
        "rel_ttft_slo_s": expected.ttft_s, "rel_tpot_slo_s": expected.tpot_s
    }  # fmt: skip
    assert told == {name: value for name, value in limits.items() if value is not None}
    assert read_tag(args, 5) is not None


def test_prompts_that_are_given_have_the_connections_limits() -> None:
    engine = ScriptedEngine(echo)
    session = Session(lambda model: engine, slo=DEFAULT)
    for own in (None, OWN):
        pending = session.submit(Submission("rel-1", ["a"], Sampling(5), slo=own))
        while pending.next_batch(None) is not None:
            pass
    assert [each.slo for each in engine.submissions] == [DEFAULT, OWN]


def test_limits_change_neither_the_kind_nor_the_answer_cache() -> None:
    site = CallSite("llm", BINDING, Options())
    limited = replace(site, options=Options(slo=OWN))
    assert (limited.kind, limited.sampling) == (site.kind, site.sampling)


def test_a_class_by_name_from_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", '{"interactive": {"ttft": "1 s"}, "batch": {"tpot": 2}}')
    engine = ScriptedEngine(echo)
    con = relserve.connect(engine=engine, progress=False, slo="batch")
    con.execute("SELECT llm('Say {}', 'a', slo := 'interactive')").fetchall()
    con.execute("SELECT llm('Say {}', 'b')").fetchall()
    con.execute("SELECT llm('Say {}', 'c', slo := {'ttft': INTERVAL 2 SECOND, 'tpot': '20 ms'})").fetchall()
    assert [each.slo for each in engine.submissions] == [
        Slo(1.0, None, "interactive"), Slo(None, 2.0, "batch"), Slo(2.0, 0.02)
    ]  # fmt: skip
    with pytest.raises(OptionError, match="no class 'fast'; there are: batch, interactive"):
        con.execute("SELECT llm('Say {}', 'a', slo := 'fast')").fetchall()
    with pytest.raises(OptionError, match=r"tpot must be from 0.001 seconds"):
        con.execute("SELECT llm('Say {}', 'a', slo := {'tpot': 0})").fetchall()
    with pytest.raises(OptionError, match="no class 'fast'"):
        relserve.connect(engine=engine, slo="fast")


@pytest.mark.parametrize("classes", ['{"a": 5}', '{"a": {}}', '{"a": {"tpto": "1 s"}}', '{"a": {"ttft": 0}}'])
def test_a_class_that_cannot_be_read_is_an_error_before_anybody_names_it(
    monkeypatch: pytest.MonkeyPatch, classes: str
) -> None:
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", classes)
    with pytest.raises(UsageError, match=r"RELSERVE_SLO_CLASSES.*'a'"):
        relserve.connect(engine=ScriptedEngine(echo))


def test_the_settings_class_is_that_of_calls_that_give_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_SLO_CLASSES", '{"interactive": {"ttft": "1 s"}}')
    monkeypatch.setenv("RELSERVE_SLO", "interactive")
    engine = ScriptedEngine(echo)
    relserve.connect(engine=engine, progress=False).execute("SELECT llm('Say {}', 'a')").fetchall()
    assert engine.submissions[0].slo == Slo(1.0, None, "interactive")
