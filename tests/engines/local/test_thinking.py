"""Thoughts before answers on a real engine: of a model that ends them itself, and at their budget."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from asking import TIMEOUT_S, ask, texts
from thinking_model import ALWAYS, GPT_OSS, encoder_of, make

from relserve.api import connect
from relserve.call.answer_types import Grammar
from relserve.call.rel_tag import RelTag
from relserve.call.relquery import RowTimes, Sampling, Usage
from relserve.engines.local.dialogue import decode
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.prompts import PromptEncoder
from relserve.engines.local.thinking import Thinking, ids_of
from relserve.engines.loop import spawn
from relserve.errors import FailureKind

pytestmark = pytest.mark.vllm

PROMPTS = [f"Was guest {i} happy with the {dish}?" for i in range(15) for dish in ("soup", "steak", "pie")]
BUDGET = 60  # more than the model uses
YES_NO = Grammar(choices=("yes", "no"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("vllm", reason="vLLM is not installed")
    return make(tmp_path_factory.mktemp("models") / "thinker")


@pytest.fixture(scope="module")
def engine(folder):
    engine = LocalEngine("thinker", str(folder))
    yield engine
    spawn(engine.close()).result(timeout=TIMEOUT_S)


def thinking_of(encoder, **sampling):
    return Thinking(encoder, Sampling(8, **sampling), 8, 100, RelTag("r", 2, 8))


def ended(ids, text="", reason="length", prompt=(1, 2, 3), metrics=None):
    completion = SimpleNamespace(token_ids=ids, text=text, finish_reason=reason)
    return SimpleNamespace(
        prompt_token_ids=prompt, num_cached_tokens=1, outputs=[completion], metrics=metrics
    )


def answer_after(thinking, output, prompt=(1, 2, 3)):
    """What is asked once a row's thoughts have ended, and the dialogue that goes on."""
    params = object()
    dialogue = thinking.before(0, list(prompt), lambda index, ids: decode(index, ids, params, None))
    next(dialogue)
    ((ids, given),) = dialogue.send([output])
    assert given is params
    return ids, dialogue


def end_of(dialogue, *outputs):
    with pytest.raises(StopIteration) as caught:
        dialogue.send(list(outputs)) if outputs else next(dialogue)
    return caught.value.value


@pytest.mark.parametrize("template", [ALWAYS, GPT_OSS])
@pytest.mark.parametrize("reason", ["length", "stop"])
def test_the_answer_follows_the_thoughts_and_their_end(template, reason):
    encoder = encoder_of(template)
    hm = encoder.ids_of("Hm")
    prompt, _ = answer_after(thinking_of(encoder, thinking=20), ended(hm, "Hm", reason))
    assert prompt == [1, 2, 3, *hm, *ids_of(encoder).closing]
    assert encoder._tokenizer.decode(prompt).endswith("Hm" + encoder.marks.closing)


def test_an_end_mark_that_is_a_token_is_written_once(folder):
    from transformers import PreTrainedTokenizerFast

    encoder = PromptEncoder(PreTrainedTokenizerFast.from_pretrained(folder))
    thinking = thinking_of(encoder, thinking=20)
    ((_, params),) = next(thinking.before(0, [1, 2, 3], None))
    assert (params.stop_token_ids, params.max_tokens) == ([2], 20)
    by_model, cut, gave_up = (([9, 2], "stop"), ([9], "length"), ([9, 3], "stop"))  # 3 ends its turn
    prompts = [answer_after(thinking, ended(ids, "", reason))[0] for ids, reason in (by_model, cut, gave_up)]
    said = [encoder._tokenizer.decode(prompt[4:]) for prompt in prompts]
    assert said == ["</think>\n\n", "\n</think>\n\n", "\n</think>\n\n"]
    assert set(thinking.banned) == {0, 2}


def test_what_thoughts_took_is_counted():
    def metrics(*times):
        names = ("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts", "num_preemptions")
        return SimpleNamespace(**dict(zip(names, times, strict=True)))

    thoughts = ended([7] * 5, "Hm", metrics=metrics(1.0, 2.0, 3.0, 4.0, 1))
    _, dialogue = answer_after(thinking_of(encoder_of(ALWAYS), thinking=20), thoughts)
    answer = ended([8, 9], "yes", "stop", range(12), metrics(4.5, 5.0, 6.0, 7.0, 2))
    reply = end_of(dialogue, answer)
    assert (reply.text, reply.usage) == ("yes", Usage(15, 2, 7, 5))
    assert reply.times == RowTimes(1.0, 2.0, 3.0, 7.0, 3)


def test_the_context_keeps_room_for_the_answer():
    encoder = encoder_of(ALWAYS)
    thinking = thinking_of(encoder, thinking=1000)
    room = 100 - 8 - len(ids_of(encoder).closing)
    for num_tokens, budget in ((30, room - 30), (room - 1, 1)):
        ((_, params),) = next(thinking.before(0, [1] * num_tokens, None))
        assert params.max_tokens == budget
    assert end_of(thinking.before(0, [1] * room, None)).failure.kind is FailureKind.OVER_CONTEXT


@pytest.mark.engine_of_its_own
def test_the_model_ends_its_thoughts(engine):
    replies = ask(engine, PROMPTS, grammar=YES_NO, max_tokens=4, thinking=BUDGET)
    assert {reply.text for reply in replies} <= set(YES_NO.choices)
    assert all(reply.failure is None for reply in replies)
    ended_early = [reply for reply in replies if reply.usage.thought_tokens < BUDGET]
    assert len(ended_early) > len(PROMPTS) / 2
    for reply in replies:
        used = reply.usage
        assert 0 < used.thought_tokens < used.output_tokens <= used.thought_tokens + 4
        assert used.cached_tokens < used.prompt_tokens
        t = reply.times
        assert 0 < t.queued_s <= t.scheduled_s < t.first_token_s < t.last_token_s
    assert engine.num_unfinished == 0


@pytest.mark.engine_of_its_own
@pytest.mark.parametrize("budget", [1, 2])
def test_thoughts_end_at_their_budget_and_the_answer_follows(engine, budget):
    replies = ask(engine, PROMPTS, grammar=YES_NO, max_tokens=4, thinking=budget, with_confidence=True)
    assert {reply.text for reply in replies} <= set(YES_NO.choices)
    assert {reply.usage.thought_tokens for reply in replies} == {budget}
    assert all(0.49 <= reply.confidence <= 1 for reply in replies)  # of the likelier of two


@pytest.mark.engine_of_its_own
def test_a_free_text_holds_no_thoughts(engine):
    for sampling in (dict(thinking=3), dict(thinking=BUDGET), dict(thinking=20, temperature=1.0, seed=3)):
        replies = ask(engine, PROMPTS, max_tokens=40, **sampling)
        assert all(reply.failure is None and "think>" not in reply.text for reply in replies)
        assert all(reply.usage.output_tokens - reply.usage.thought_tokens <= 40 for reply in replies)


@pytest.mark.engine_of_its_own
def test_a_prompt_that_leaves_no_room_to_think_fails_alone(engine):
    long, short = ask(engine, ["soup " * 4090, "soup"], grammar=YES_NO, max_tokens=4, thinking=9)
    assert long.failure.kind is FailureKind.OVER_CONTEXT
    assert "leaves no room to think" in long.failure.message
    assert short.text in YES_NO.choices
    assert ask(engine, [""], thinking=9, grammar=YES_NO)[0].failure is None


@pytest.mark.engine_of_its_own
def test_equal_thoughts_give_equal_answers_in_any_company(engine):
    together = texts(ask(engine, PROMPTS, thinking=7))
    assert [texts(ask(engine, [prompt], thinking=7))[0] for prompt in PROMPTS[:4]] == together[:4]


@pytest.mark.engine_of_its_own
def test_typed_answers_in_sql_come_after_thoughts_and_none_is_lost(engine):
    con = connect(engine=engine, progress=False)
    con.execute("CREATE TABLE t AS SELECT 'Guest ' || i || ' had soup.' AS x FROM range(40) r(i)")
    rows = con.execute(
        """SELECT llm_filter('Good? {}', x, thinking := 'low'), llm_score('{}', x, thinking := 5),
           llm_classify('{}', x, choices := ['a', 'b'], thinking := 5), llm_int('{}', x, thinking := 5),
           llm_double('{}', x, thinking := 5), llm_bool('{}', x, thinking := 5),
           llm_date('{}', x, thinking := 5), llm_extract('{}', x, thinking := 5,
               schema := '{"n": "TINYINT", "kind": "ENUM(''a'', ''b'')"}') FROM t"""
    ).fetchall()
    told = con.execute(
        "SELECT function, thought_tokens, output_tokens, failed_rows FROM llm_queries()"
    ).fetchall()
    assert len(rows) == 40
    assert len(told) == 8
    for function, thoughts, output, failed in told:
        assert 0 < thoughts < output, function
        assert failed == 0 or function == "llm_date", function  # a grammar knows no leap years
    con.close()
