"""A checkup from the name to the page: find the engine, start it, try what it can."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from relserve.api import Connection, connect, find_engine
from relserve.call.relquery import Reply, Sampling, Submission, new_rel_id
from relserve.checkup import probes, samples
from relserve.checkup.advice import advise
from relserve.checkup.local_model import check_folder, describe, start_hint
from relserve.checkup.page import LocalModel, Page, ServedModel
from relserve.engines.http.engine import HttpEngine
from relserve.engines.local.engine import LocalEngine
from relserve.engines.protocol import Engine
from relserve.errors import EngineError, EngineStartError
from relserve.machine import capacity

Tell = Callable[[str], None]


def check(name: str, tell: Tell) -> Page:
    """Find out all about a model; takes its start and a few seconds to minutes more.

    Args:
        name: as a call would name it.
        tell: given a line when the next part begins.

    Raises:
        ModelError: the name leads to no model, or to a folder that lacks something.
        EngineError: it does not come up, or dies.
    """
    engine, busy_cores = find_engine(name), capacity.num_cores() - capacity.num_idle_cores()
    if isinstance(engine, LocalEngine):
        check_folder(name, engine.path)
    with connect(model=name, cache=False, progress=False) as con:
        started = time.monotonic()
        first = _first_reply(con, engine)
        start_s = time.monotonic() - started
        local = _local(engine, start_s)
        tell("trying grammars and probabilities ...")
        grammars, logprobs = probes.try_grammars(con.session), probes.try_logprobs(con.session)
        tell("asking each function once ...")
        asked = list(samples.ask_all(con))
        tell("measuring its speed ...")
        speed = probes.measure_speed(con.session, local.context if local else None)
        speed = replace(speed, busy_cores=busy_cores if local else 0)
    served = _served(engine, start_s)  # the last, for it tells what was refused until now
    if first.failure is not None and all(sample.problem for sample in asked):
        raise EngineError(f"{name} answers nothing: {first.failure.message}")
    kind = "local" if local else "server" if served else "scripted"
    advice = advise(local, served, grammars, logprobs, speed, asked) if kind != "scripted" else []
    return Page(name, kind, local, served, grammars, logprobs, speed, samples.TEXT, asked, advice)


def _first_reply(con: Connection, engine: Engine) -> Reply:
    submission = Submission(new_rel_id(), [probes.PROMPT], Sampling(max_tokens=1))
    try:
        return con.session.submit(submission).result()[0]
    except EngineStartError as error:
        if not isinstance(engine, LocalEngine):
            raise
        raise EngineStartError(f"{error}\n{start_hint(engine.path)}") from error


def _local(engine: Engine, start_s: float) -> LocalModel | None:
    if not isinstance(engine, LocalEngine) or engine.running is None:
        return None
    return describe(engine, engine.running, start_s)


def _served(engine: Engine, answer_s: float) -> ServedModel | None:
    if not isinstance(engine, HttpEngine) or engine.server is None:
        return None
    server, dialect = engine.server, engine.server.dialect
    refused = [
        *sorted(dialect.omitted),
        *(f"a JSON schema for a {form}" for form in sorted(dialect.no_schema)),
    ]
    return ServedModel(server.model, dialect.is_vllm, dialect.path, refused, answer_s)
