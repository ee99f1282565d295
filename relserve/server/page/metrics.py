"""What Prometheus is told."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from relserve.machine.embedded import called
from relserve.machine.engine_status import EngineStatus
from relserve.machine.fleet_status import FleetStatus
from relserve.machine.gate_status import GateStatus
from relserve.server.page.counters import BOUNDS_S, CounterValues, OpenAICounts
from relserve.server.page.watch import ServerWatch
from relserve.version import VERSION

Engine = TypeVar("Engine", EngineStatus, FleetStatus)


def registry(watch: ServerWatch) -> CollectorRegistry:
    """A registry of its own, with the server's numbers and its process's."""
    made = CollectorRegistry()
    made.register(_ServerCollector(watch))
    ProcessCollector(registry=made)
    return made


class _ServerCollector(Collector):
    """Looks at the server each time that it is asked."""

    def __init__(self, watch: ServerWatch) -> None:
        self._watch = watch

    def describe(self) -> list[Metric]:
        """Nothing in advance, so that nothing is asked at registration."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Every metric, by its subject."""
        with self._watch.lock:
            yield from self._metrics(self._watch.look().counted)

    def _metrics(self, counted: CounterValues) -> Iterator[Metric]:
        yield _gauge("relserve_info", "The release that serves", ["version"], [((VERSION,), 1)])
        yield from _statements(counted)
        yield from self._clients()
        yield from self._llm()
        yield from _openai(self._watch.facts.counters.requests.read())
        yield from self._engines()
        yield from _fleets(self._watch.facts.fleets())
        yield from _gates(self._watch.facts.gates())

    def _clients(self) -> Iterator[Metric]:
        states = Tally(client.state for client in self._watch.facts.clients())
        values = [((state,), number) for state, number in states.items()]
        yield _gauge("relserve_clients", "Connected clients", ["state"], values)

    def _llm(self) -> Iterator[Metric]:
        queries = self._watch.queries
        running = Tally((user, called(each.model)) for user, each in queries if each.state == "running")
        by_model = ["user", "model"]
        yield _gauge("relserve_relqueries_running", "relQueries under way", by_model, running.items())
        totals = list(self._watch.totals.items())
        for name, help, values in (
            ("relqueries", "relQueries begun", [(by, each.relqueries) for by, each in totals]),
            ("llm_rows", "Table rows whose prompt has its reply", [(by, each.rows) for by, each in totals]),
            ("llm_failed_rows", "Table rows left NULL", [(by, each.failed) for by, each in totals]),
        ):
            yield _counter(f"relserve_{name}", help, by_model, values)
        tokens = [
            ((*by, kind), getattr(each.usage, f"{kind}_tokens"))
            for by, each in totals
            for kind in ("prompt", "cached", "output", "thought")
        ]
        help = "Tokens of prompts, of those found in the prefix cache, of replies, of their thoughts"
        yield _counter("relserve_tokens", help, [*by_model, "kind"], tokens)
        help = "US dollars, of models whose price is known"
        yield _counter("relserve_cost_usd", help, by_model, [(by, each.cost) for by, each in totals])

    def _engines(self) -> Iterator[Metric]:
        engines = list(_named(self._watch.facts.engines()))
        requests = [
            ((*by, state), number)
            for by, each in engines
            for state, number in (("running", each.running), ("waiting", each.waiting))
        ]
        labels = ["engine", "model"]
        yield _gauge("relserve_engine_requests", "Requests in an engine", [*labels, "state"], requests)
        for name, help, values in (
            ("relqueries", "relQueries in an engine", [(by, each.num_rels) for by, each in engines]),
            ("kv_used_ratio", "Share of the KV cache in use", [(by, each.kv_used) for by, each in engines]),
            (
                "hidden_requests",
                "Running requests that keep hidden states",
                [(by, each.hidden) for by, each in engines],
            ),
            ("told_timestamp_seconds", "When it told this", [(by, each.written_s) for by, each in engines]),
        ):
            yield _gauge(f"relserve_engine_{name}", help, labels, values)
        yield from _steps(engines)
        help = "Requests that were dropped and came back with another type of cache"
        switched = [(by, each.switched) for by, each in engines]
        yield _counter("relserve_engine_cache_switches", help, labels, switched)


def _fleets(fleets: Sequence[FleetStatus]) -> Iterator[Metric]:
    named = list(_named(fleets))
    for name, help, of_fleet in (
        ("relqueries", "relQueries and requests under way", [(by, each.queries) for by, each in named]),
        ("waiting_rows", "Rows that no member has yet", [(by, each.waiting) for by, each in named]),
        ("told_timestamp_seconds", "When it told this", [(by, each.written_s) for by, each in named]),
    ):
        yield _gauge(f"relserve_fleet_{name}", help, ["fleet", "model"], of_fleet)
    members = [((*by, each.name), each) for by, fleet in named for each in fleet.members]
    labels = ["fleet", "model", "member"]
    up = [((*by, each.shown), float(each.shown == "up")) for by, each in members]
    yield _gauge("relserve_fleet_member_up", "Whether it gets rows", [*labels, "state"], up)
    for name, help, known in (
        ("rows", "Rows and requests that it has", [(by, each.rows) for by, each in members]),
        ("queued", "Requests that wait in it, by its report", [(by, each.queued) for by, each in members]),
        ("state_age_seconds", "How old its report was", [(by, each.age_s) for by, each in members]),
    ):
        values = [(by, value) for by, value in known if value is not None]
        yield _gauge(f"relserve_fleet_member_{name}", help, labels, values)
    answered = [(by, each.answered) for by, each in members]
    yield _counter("relserve_fleet_member_answered", "Rows and requests answered", labels, answered)
    deaths = [(by, each.deaths) for by, each in members]
    yield _counter("relserve_fleet_member_deaths", "How often it died", labels, deaths)
    sent = [((*by, reason), number) for by, each in members for reason, number in each.sent.items()]
    yield _counter("relserve_fleet_member_sent", "Rows and requests sent to it", [*labels, "reason"], sent)


def _gates(gates: Iterable[GateStatus]) -> Iterator[Metric]:
    users = [((str(gate.pid), called(gate.model), each.user), each) for gate in gates for each in gate.users]
    labels = ["engine", "model", "user"]
    states = [
        ((*by, state), number)
        for by, each in users
        for state, number in (("running", each.running), ("waiting", each.waiting))
    ]
    yield _gauge("relserve_gate_requests", "Requests at an engine's gate", [*labels, "state"], states)
    estimates = [(by, each.estimate_s) for by, each in users if each.estimate_s is not None]
    help = "Seconds until the last of a user's that wait has probably ended"
    yield _gauge("relserve_gate_estimate_seconds", help, labels, estimates)
    admitted = [(by, each.admitted) for by, each in users]
    yield _counter("relserve_gate_admitted", "Requests admitted", labels, admitted)
    refused = [(by, each.refused) for by, each in users]
    yield _counter("relserve_gate_refused", "Requests refused, their limits being over", labels, refused)


def _named(engines: Iterable[Engine]) -> Iterator[tuple[tuple[str, str], Engine]]:
    """Each engine or fleet with its labels: its pid, numbered where it holds several, and its model."""
    of_pid: Tally[int] = Tally()
    for engine in engines:
        of_pid[engine.pid] += 1
        number = of_pid[engine.pid]
        name = str(engine.pid) if number == 1 else f"{engine.pid}-{number}"
        yield (name, called(engine.model)), engine


def _steps(engines: Sequence[tuple[tuple[str, str], EngineStatus]]) -> Iterator[Metric]:
    """What bounds the engines' steps; nothing of what is not known."""
    bounded = [((*by, each.budget.policy), each.budget) for by, each in engines if each.budget is not None]
    labels = ["engine", "model", "policy"]
    latest = [((*by, each.reason or ""), each) for by, each in bounded]
    for name, help, more, values in (
        ("limited_requests", "Requests with limits", [], [(by, each.limited) for by, each in bounded]),
        ("step_budget_tokens", "Most tokens of the latest step that was bounded", ["reason"],
         [(by, each.tokens) for by, each in latest]),
        ("step_target_seconds", "What it should take", [], [(by, each.target_s) for by, each in bounded]),
        ("step_model_r2", "How well steps are foretold", [], [(by, each.r2) for by, each in bounded]),
        ("step_least_seconds", "The shortest step", [], [(by, each.least_step_s) for by, each in bounded]),
    ):  # fmt: skip
        known = [(by, value) for by, value in values if value is not None]
        yield _gauge(f"relserve_engine_{name}", help, [*labels, *more], known)


def _statements(counted: CounterValues) -> Iterator[Metric]:
    yield _counter("relserve_connections", "Clients that became ready", [], [((), counted.connections)])
    yield _counter("relserve_connections_refused", "Clients turned away", [], [((), counted.refused)])
    yield _counter("relserve_rows_sent", "Rows sent to clients", [], [((), counted.rows)])
    errors = [((state,), number) for state, number in counted.errors.items()]
    yield _counter("relserve_statement_errors", "Statements that ended with an error", ["sqlstate"], errors)
    bounds = [*(str(bound) for bound in BOUNDS_S), "+Inf"]
    seconds = HistogramMetricFamily("relserve_statement_seconds", "Seconds that statements took")
    buckets = list(zip(bounds, map(float, accumulate(counted.buckets)), strict=True))
    seconds.add_metric([], buckets, counted.seconds)
    yield seconds


def _openai(requests: OpenAICounts) -> Iterator[Metric]:
    running = [((user,), number) for user, number in requests.running.items()]
    help = "Requests of OpenAI clients under way"
    yield _gauge("relserve_openai_requests_running", help, ["user"], running)
    ended = [((user, str(code)), number) for (user, code), number in requests.ended.items()]
    help = "Requests of OpenAI clients that ended, by HTTP status; 499: the client left"
    yield _counter("relserve_openai_requests", help, ["user", "code"], ended)
    help = "Tokens of their prompts and answers"
    yield _counter("relserve_openai_tokens", help, ["user", "kind"], requests.tokens.items())
    seconds = [((user,), value) for user, value in requests.seconds.items()]
    yield _counter("relserve_openai_seconds", "Seconds that they took, all together", ["user"], seconds)


def _metric(
    of: type[GaugeMetricFamily | CounterMetricFamily], name: str, help: str, labels: list[str],
    values: Iterable[tuple[Sequence[str], float]],
) -> Metric:  # fmt: skip
    metric = of(name, help, labels=labels)
    for by, value in values:
        metric.add_metric(by, value)
    return metric


_gauge, _counter = partial(_metric, GaugeMetricFamily), partial(_metric, CounterMetricFamily)
