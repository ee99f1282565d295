"""The front door: a DuckDB connection with the llm functions on it."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

import duckdb
import relserve_duckdb

from relserve.cache.cache import AnswerCache, shared_cache
from relserve.cache.kept_batches import BatchBook
from relserve.cache.kept_pace import PaceFile
from relserve.cache.kept_usage import UsageBook
from relserve.cache.store import FILE_NAME
from relserve.call.durations import seconds_of
from relserve.call.option_specs import OPTIONS
from relserve.call.options import CAPS
from relserve.call.slo import classes, slo_of
from relserve.engines.protocol import Engine
from relserve.engines.registry import Engines, announce, is_local
from relserve.errors import UsageError
from relserve.prices.prices import Prices
from relserve.session.batches import SentBatches
from relserve.session.caps import Limits, SpendingCap
from relserve.session.foreign_tables import ForeignTables
from relserve.session.history import History
from relserve.session.model_hosts import ModelHosts
from relserve.session.session import Session
from relserve.session.spending import Spending
from relserve.settings import KV_CACHES, Settings, kv_cache_of, load, names_a_model, step_budget_of

Connection = relserve_duckdb.Connection
_WAYS = {
    "kv_cache": (kv_cache_of, ", ".join(KV_CACHES)),
    "step_budget": (step_budget_of, "slack, lens, static-N, slack-in-order, off"),
}
ENGINES = Engines()  # shared by all connections and dataframe calls of this process


def connect(
    database: str | Path = ":memory:",
    *,
    model: str | None = None,
    engine: Engine | None = None,
    progress: bool | None = None,
    prefetch: bool = True,
    memo: bool = True,
    cache: bool = True,
    kv_cache: str | None = None,
    deadline: Any = None,
    slo: Any = None,
    step_budget: str | None = None,
    max_rows: int | None = None,
    max_tokens_total: int | None = None,
    max_cost: float | None = None,
    **duckdb_options: Any,
) -> Connection:
    """Open a DuckDB database whose SQL knows llm() and its siblings.

    Args:
        database: file or ":memory:", as for duckdb.connect.
        model: the model of calls that name none (default: the setting, else 'tiny').
        engine: an engine object to use instead of looking a model up.
        progress: show progress bars; None shows them on terminals and in notebooks.
        prefetch: collect a call's inputs over the whole query first, so that they become one relQuery.
        memo: keep the answers of a statement; off, each chunk of rows asks its own again, without prefetch.
        cache: keep answers on disk and look there first, unless the settings switch that off.
        kv_cache: what a local model's rows keep of the tokens that they have computed: 'kv', keys and values;
            'hidden', the layers' inputs, half as large; 'hybrid', what is better for each row (default: the
            setting, else 'kv'). An engine that already runs is shared as it is.
        deadline: of calls and questions that give none: seconds, a timedelta or a text such as '30 s'; rows
            without an answer by then are NULL (default: the setting, else any time).
        slo: limits on the time of each row's tokens, of calls that give none: the name of a class of the
            settings, or limits such as {'ttft': '1 s', 'tpot': '50 ms'} (default: the setting, else none).
        step_budget: who decides before each step of a local model how many tokens it computes, so that such
            limits are kept: 'slack', 'lens', 'static-N' or 'off' (default: the setting, else
            'slack', which changes nothing while no row has a limit).
        max_rows, max_tokens_total, max_cost: caps on all that the connection and its cursors ask: rows,
            tokens and US dollars (default: none). RELSERVE_MAX_ROWS and its like are caps of each statement.
        duckdb_options: passed to duckdb.connect (read_only, config).

    Raises:
        UsageError: an engine and a model, or a kv_cache or step_budget that there is not or that the model
            cannot have.
        OptionError: the deadline or the slo is none.
        ModelError: `model` leads to no model.
    """
    ways = _checked(model, engine, kv_cache=kv_cache, step_budget=step_budget)
    settings = load()
    if model is not None:
        find_engine(model, **ways)  # a wrong name fails here, not in the first query
    session = new_session(
        settings, model=model, engine=engine, cache=cache, deadline=deadline, slo=slo,
        caps=_caps(max_rows, max_tokens_total, max_cost), **ways,
    )  # fmt: skip
    shown = settings.progress if progress is None else progress
    con = duckdb.connect(database, **duckdb_options)
    is_new = database == ":memory:"  # each time another one
    return relserve_duckdb.attach(con, session, progress=shown, prefetch=prefetch, memo=memo, is_new=is_new)


def attach(
    con: duckdb.DuckDBPyConnection,
    *,
    model: str | None = None,
    engine: Engine | None = None,
    progress: bool | None = None,
    prefetch: bool = True,
    memo: bool = True,
    cache: bool = True,
    kv_cache: str | None = None,
    deadline: Any = None,
    slo: Any = None,
    step_budget: str | None = None,
    max_rows: int | None = None,
    max_tokens_total: int | None = None,
    max_cost: float | None = None,
) -> Connection:
    """Put the llm functions on an open DuckDB connection; use the returned connection from then on.

    Arguments as for `connect`.

    Raises:
        UsageError: an engine and a model, or a kv_cache or step_budget that there is not.
        OptionError: the deadline or the slo is none.
    """
    ways = _checked(model, engine, kv_cache=kv_cache, step_budget=step_budget)
    settings = load()
    shown = settings.progress if progress is None else progress
    session = new_session(
        settings, model=model, engine=engine, cache=cache, deadline=deadline, slo=slo,
        caps=_caps(max_rows, max_tokens_total, max_cost), **ways,
    )  # fmt: skip
    return relserve_duckdb.attach(con, session, progress=shown, prefetch=prefetch, memo=memo)


def close_engines(model: str | None = None) -> list[str]:
    """End engines of this process and free what they hold: a local model's memory, a server's connections.

    Calls that run on them end with EngineDeadError. A model that is named again later gets a new engine,
    under the settings of then.

    Args:
        model: the name under which it was asked for; None: all.

    Returns:
        The names of the engines that were ended; none where the model had no engine.

    Raises:
        EngineError: the process was forked, and the engines are those of its parent.
    """
    return ENGINES.close(model)


def find_engine(
    model: str | None = None, kv_cache: str | None = None, step_budget: str | None = None,
    is_named: bool = True,
) -> Engine:  # fmt: skip
    """The engine of a model that this process shares, made under the settings of now if there is none.

    Args:
        model: its name; None: the model of the settings.
        kv_cache, step_budget: as for `connect`.
        is_named: whether the caller names it, and not SQL, which may be somebody else's; see `server_key`.

    Raises:
        ModelError: the name leads to no model.
        UsageError: its engine runs with another kv_cache or step_budget, or the model is not run here.
    """
    settings = load()
    return ENGINES.find(model or settings.model, settings, kv_cache, step_budget, is_named)


def new_session(
    settings: Settings,
    *,
    model: str | None = None,
    engine: Engine | None = None,
    history: History | None = None,
    cache: bool = True,
    kv_cache: str | None = None,
    deadline: Any = None,
    slo: Any = None,
    step_budget: str | None = None,
    caps: Limits = Limits(),  # noqa: B008
) -> Session:
    """A session on the shared engines.

    Args:
        settings: of the connection or call that it serves.
        model: the model of calls that name none (default: the setting, else 'tiny').
        engine: an engine object for those calls instead.
        history: where to record; a new one if None.
        cache, kv_cache, deadline, slo, step_budget: as for `connect`.
        caps: on all that the session asks.
    """

    def find(name: str | None) -> Engine:
        if engine is not None and name is None:
            return engine
        asked = name or model
        is_here = asked is None or is_local(asked)  # a call may name a server, whose cache is its own
        ways = (kv_cache, step_budget) if is_here else (None, None)
        return find_engine(asked, *ways, name in (None, model))

    kept = _cache(settings) if cache else None
    history = History(new_book(settings), login_name()) if history is None else history
    is_default = model is None and engine is None and not names_a_model()
    foreign = ForeignTables(announce, history) if is_default else None
    ends = settings.deadline_s if deadline is None else seconds_of("deadline", deadline)
    classes()  # one that cannot be read is an error now, whoever names it
    asked = slo if slo is not None else settings.slo or None
    limits = None if asked is None else slo_of("slo", asked)
    hosts = ModelHosts([model, settings.model], settings.model_hosts)
    paces = PaceFile.of(settings.cache_dir) if settings.keep_learnt else None
    return Session(
        find, history, kept, foreign, deadline_s=ends, slo=limits, model_hosts=hosts, paces=paces,
        spending=_spending(settings, caps), batches=SentBatches(BatchBook(settings.cache_dir)),
    )  # fmt: skip


def _checked(model: str | None, engine: Engine | None, **ways: Any) -> dict[str, Any]:
    """The `kv_cache` and `step_budget` as they are spelt.

    Raises:
        UsageError: there is none such, or two arguments are given that do not go together.
    """
    if model is not None and engine is not None:
        raise UsageError("give engine= or model=, not both: an engine answers with its own model")
    for name, given in ways.items():
        spelt, there = _WAYS[name]
        try:
            ways[name] = None if given is None else spelt(given)
        except (ValueError, AttributeError):
            raise UsageError(f"no {name} {given!r}; there are: {there}") from None
        if given is not None and engine is not None:
            raise UsageError(f"give engine= or {name}=, not both: an engine object has been set up already")
    return ways


def _spending(settings: Settings, caps: Limits) -> Spending:
    prices = Prices.of(settings.prices, settings.hour_price)
    statement = Limits(settings.max_rows, settings.max_tokens_total, settings.max_cost)
    connection = None if caps.is_open else SpendingCap(caps, "the connection")
    return Spending(prices, statement, connection)


def _caps(rows: Any, tokens: Any, cost: Any) -> Limits:
    """The caps of a connection; raises OptionError."""
    given = zip(CAPS, (rows, tokens, cost), strict=True)
    return Limits(*(None if each is None else OPTIONS[name].check(name, each) for name, each in given))


def login_name() -> str:
    """Who runs this process; "" where the system does not say."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def new_book(settings: Settings) -> UsageBook | None:
    """Where tokens and money are added up for later processes; None where nothing learnt is kept."""
    return UsageBook.of(settings.cache_dir) if settings.keep_learnt else None


def _cache(settings: Settings) -> AnswerCache | None:
    if settings.answer_cache_mb == 0:
        return None
    path = settings.cache_dir / FILE_NAME
    return shared_cache(path, settings.answer_cache_mb * 2**20, announce)
