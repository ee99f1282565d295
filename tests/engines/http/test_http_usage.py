"""Numbers of tokens that servers tell of, which may be anything: what is no count is unknown."""

from __future__ import annotations

import pytest
from http_fakes import said

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery, Usage
from relserve.call.template import Template
from relserve.call.token_counts import MOST_TOKENS
from relserve.engines.http.engine import HttpEngine
from relserve.session.session import Session

ODD = [float("inf"), float("nan"), 10**25, 2**62, MOST_TOKENS + 1, -3, 1.0, "12", True, [1], {"a": 1}]


def run(fake, cache, reply, rows=("a", "b", "c")):
    """A session that has asked rows of a server that says `reply` to each, and the server."""

    async def handler(body):
        return reply

    server = fake(handler)
    engine = HttpEngine(server.url)
    session = Session(lambda model: engine, cache=cache)
    binding = Template.parse("{}").bind(1)
    query = RelQuery("llm", binding, [(row,) for row in rows], parse_options("llm", {}))
    assert session.run(query).values == ["yes"] * len(rows)
    return session, query, server


@pytest.fixture
def cache(tmp_path):
    cache = AnswerCache(tmp_path / FILE_NAME, 2**22, pytest.fail)
    yield cache
    cache.close()


@pytest.mark.parametrize("told", ODD, ids=str)
def test_what_is_no_count_is_unknown_and_costs_no_answer(fake, cache, told):
    usage = {
        "prompt_tokens": told, "prompt_tokens_details": {"cached_tokens": told},
        "completion_tokens": told, "completion_tokens_details": {"reasoning_tokens": 7},
    }  # fmt: skip
    session, query, server = run(fake, cache, said("yes", usage=usage))
    (shown,) = session.history.queries_table().to_pylist()
    assert (shown["prompt_tokens"], shown["cached_tokens"], shown["output_tokens"]) == (0, 0, 0)
    assert shown["thought_tokens"] == 21
    assert cache.flush(60)
    session.run(query)
    assert len(server.requests) == 3, "kept answers were asked again"


@pytest.mark.parametrize("usage", [[], "none", 3, {"prompt_tokens_details": 1}])
def test_a_usage_that_is_none_costs_no_answer(fake, cache, usage):
    session, _, server = run(fake, cache, said("yes", usage=usage))
    assert session.history.queries()[0].usage == Usage()
    assert len(server.requests) == 3


def test_the_most_that_is_believed_fits_the_columns_of_many_rows(fake, cache):
    usage = {"prompt_tokens": MOST_TOKENS, "completion_tokens": 0}
    session, _, _ = run(fake, cache, said("yes", usage=usage), [str(i) for i in range(100)])
    assert session.history.queries_table().to_pylist()[0]["prompt_tokens"] == 100 * MOST_TOKENS
