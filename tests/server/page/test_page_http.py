"""The page over HTTP: what it serves, to whom, and Prometheus's numbers."""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import socket
import time
from datetime import datetime, timezone

import pytest
from msgspec.structs import asdict, replace
from prometheus_client.parser import text_string_to_metric_families

from relserve.call.relquery import Usage
from relserve.errors import UsageError
from relserve.machine.gate_status import GateStatus, UserStatus
from relserve.server.page.app import app
from relserve.server.page.facts import ConnectedClient
from relserve.server.page.serving import page_host, serving
from relserve.server.users.tries import TryLimit
from relserve.session.history import QueryRecord
from tests.server.page.page_facts import BUDGET, FLEET, WrittenFacts, engine, get, served

SINCE = datetime(2027, 1, 15, 8, 0, tzinfo=timezone.utc)


def busy() -> WrittenFacts:
    facts = WrittenFacts(
        clients_now=[ConnectedClient(7, "ann", "psql\ud800", "127.0.0.1:5", "active", SINCE, "SELECT '<b>'")],
        queries_now=[("ann", QueryRecord("r", "llm", "{}", "m", 9, num_rows_done=4, usage=Usage(50, 20, 5)))],
        engines_now=[engine(), engine(written_s=1.0)],  # two of one process
        gates_now=[
            GateStatus(8, None, "m", "ours", 0.0, 20, "", 9.0, 0.1, [UserStatus("ann", 3, 40, 90, 2, 7.5)])
        ],
    )
    facts.fleets_now += [FLEET, replace(FLEET, waiting=8)]  # two of one process and one file
    facts.counters.connected()
    facts.counters.statement_ended(0.02, rows=3)
    facts.counters.statement_ended(2.0, sqlstate="57014")
    return facts


def test_the_page_needs_nothing_from_elsewhere() -> None:
    with served(WrittenFacts()) as address:
        code, headers, page = get(f"{address}/")
        assert code == 200
        assert headers["content-type"].startswith("text/html")
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert "http:" not in page
        assert "https:" not in page
        for name in ("page.css", "page.js"):
            assert name in page
            code, _, text = get(f"{address}/{name}")
            assert code == 200
            assert "//" not in text.replace("// ", "")
        assert get(f"{address}/../app.py")[0] == 404
        assert get(f"{address}/%2e%2e/app.py")[0] == 404


def test_status_tells_what_goes_on() -> None:
    with served(busy()) as address:
        code, headers, text = get(f"{address}/api/status")
        assert (code, headers["content-type"]) == (200, "application/json")
        shown = json.loads(text)
        assert shown["clients"] == [
            dict(pid=7, user="ann", application="psql\ud800", address="127.0.0.1:5", state="active",
                 since="2027-01-15T08:00:00+00:00", statement="SELECT '<b>'")
        ]  # fmt: skip
        assert shown["now"]["statements"] == 2
        assert (shown["now"]["running"], shown["now"]["waiting"], shown["now"]["kv_used"]) == (10, 14, 0.25)
        assert [(each["done"], each["rows"]) for each in shown["relqueries"]] == [(4, 9)]
        fleet, _ = shown["fleets"]
        assert (fleet["model"], fleet["policy"], fleet["waiting"]) == ("fleet:f.toml", "ours", 5)
        assert [each["shown"] for each in fleet["members"]] == ["up", "dead"]
        assert fleet["members"][0]["sent"] == {"ours": 90, "ours, OpenAI": 7}
        assert get(f"{address}/health")[::2] == (200, "ok\n")


def test_prometheus_can_read_the_metrics() -> None:
    with served(busy()) as address:
        code, headers, text = get(f"{address}/metrics")
        assert (code, headers["content-type"].split(";")[0]) == (200, "text/plain")
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert len(found) == len([line for line in text.splitlines() if line and line[0] != "#"])  # no double
    by = (("model", "m"), ("user", "ann"))
    assert found["relserve_tokens_total", ("kind", "cached"), *by] == 20
    assert found["relserve_llm_rows_total", *by] == 4
    assert found["relserve_relqueries_running", *by] == 1
    assert found["relserve_statement_errors_total", ("sqlstate", "57014")] == 1
    assert found["relserve_statement_seconds_bucket", ("le", "0.025")] == 1
    assert found["relserve_statement_seconds_bucket", ("le", "+Inf")] == 2
    assert found["relserve_statement_seconds_count",] == 2
    assert found["relserve_statement_seconds_sum",] == pytest.approx(2.02)
    assert found["relserve_clients", ("state", "active")] == 1
    assert found["process_resident_memory_bytes",] > 1e6
    in_fleet = (("fleet", "9"), ("member", "m0"), ("model", "fleet:f.toml"))
    assert found["relserve_fleet_member_up", *in_fleet, ("state", "up")] == 1
    assert found["relserve_fleet_member_answered_total", *in_fleet] == 90
    assert found["relserve_fleet_member_state_age_seconds", *in_fleet] == 0.0123
    assert found["relserve_fleet_member_sent_total", *in_fleet, ("reason", "ours, OpenAI")] == 7
    of_fleet = ("model", "fleet:f.toml")
    waiting = [found["relserve_fleet_waiting_rows", ("fleet", name), of_fleet] for name in ("9", "9-2")]
    assert waiting == [5, 8]
    at_gate = (("engine", "8"), *by)
    assert found["relserve_gate_requests", *at_gate[:1], *by[:1], ("state", "waiting"), *by[1:]] == 40
    assert found["relserve_gate_estimate_seconds", *at_gate] == 7.5
    assert found["relserve_gate_refused_total", *at_gate] == 2
    names = {label for key in found if key[0] == "relserve_engine_kv_used_ratio" for label in key[1:]}
    assert len([label for label, _ in names if label == "engine"]) == 2


@pytest.mark.parametrize("path", ["/", "/api/status", "/metrics", "/page.js", "/nothing"])
def test_a_token_is_asked_for(path: str) -> None:
    def basic(name: str, password: str) -> str:
        return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()

    with served(WrittenFacts(), token="só:secret") as address:
        code, headers, _ = get(address + path)
        assert code == 401
        assert headers["www-authenticate"].startswith("Basic ")
        wrong = [
            basic("só:secret", "x"),
            basic("", ""),
            "Bearer",
            "Bearer x",
            "Basic ?",
            "Basic eA==",
            "Digest x",
        ]
        assert {get(address + path, Authorization=each)[0] for each in wrong} == {401}
        expected = 404 if path == "/nothing" else 200
        for given in (basic("anybody", "só:secret"), "bearer " + "só:secret".encode().decode("latin-1")):
            assert get(address + path, Authorization=given)[0] == expected
        assert get(f"{address}/health")[0] == 200


@pytest.mark.parametrize("host", ["x/health?", "x/health#", "localhost/health?", "@/health?", "health"])
@pytest.mark.parametrize("token", [None, "secret"])
def test_a_host_does_not_stand_for_a_path(host: str, token: str | None) -> None:
    with served(WrittenFacts(), token=token) as address:
        for path in ("/", "/api/status", "/metrics", "//health", "/health/"):
            assert get(address + path, Host=host)[0] in (401, 403)


def test_of_two_hosts_both_are_looked_at() -> None:
    with (
        served(WrittenFacts()) as address,
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 60) as client,
    ):
        client.sendall(b"GET /api/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        assert client.recv(100).split()[1] in (b"400", b"403")


def test_without_a_token_only_this_machines_own_names_are_answered() -> None:
    with served(WrittenFacts()) as address:
        port = address.rpartition(":")[2]
        for name in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert get(f"{address}/api/status", Host=name)[0] == 200
        for name in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.2"):
            assert get(f"{address}/api/status", Host=name)[0] == 403


@pytest.mark.parametrize(
    ("host", "token", "has_tls", "expected"),
    [
        ("127.0.0.1", None, False, "127.0.0.1"),
        ("::1", "secret", False, "::1"),
        ("0.0.0.0", None, True, "127.0.0.1"),
        ("0.0.0.0", "secret", False, "127.0.0.1"),
        ("0.0.0.0", "secret", True, "0.0.0.0"),
        ("db.example", "secret", True, "db.example"),
    ],
)
def test_a_network_needs_a_token_and_tls(host: str, token: str | None, has_tls: bool, expected: str) -> None:
    assert page_host(host, token, has_tls, has_users=False) == expected


@pytest.mark.parametrize(("token", "has_users"), [("", False), ("", True), (None, True)])
def test_whose_work_is_not_everybodys_needs_a_token(token: str | None, has_users: bool) -> None:
    with pytest.raises(UsageError, match="--http-token"):
        page_host("127.0.0.1", token, True, has_users)


@pytest.mark.long
def test_a_connection_that_was_idle_for_as_long_as_clients_keep_theirs_still_answers() -> None:
    with served(WrittenFacts()) as address:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        for idle_s in (0.0, 6.0):
            time.sleep(idle_s)
            connection.request("GET", "/")
            reply = connection.getresponse()
            assert reply.status == 200
            reply.read()
        connection.close()


def test_a_taken_port_is_told() -> None:
    async def listen(port: int) -> None:
        async with serving(app(WrittenFacts()), "127.0.0.1", port):
            pass

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match="cannot listen on"):
        asyncio.run(listen(taken.getsockname()[1]))
    with pytest.raises(UsageError, match="another port"):
        asyncio.run(listen(70_000))


def test_a_look_that_fails_does_not_end_the_looking(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(WrittenFacts):
        broken = True

        def engines(self) -> list:
            if self.broken:
                raise OSError("no folder")
            return []

    facts = Broken()
    with served(facts) as address:
        assert get(f"{address}/api/status")[0] == 500
        facts.broken = False
        assert get(f"{address}/api/status")[0] == 200
    assert "could not look" in caplog.text


def test_step_budgets_are_shown_and_measured() -> None:
    """An engine that nothing bounds, and numbers that are not known, have none."""
    engines = [engine(budget=BUDGET), engine(), engine(budget=replace(BUDGET, r2=None))]
    facts = WrittenFacts(engines_now=engines)
    with served(facts) as address:
        shown = json.loads(get(f"{address}/api/status")[2])["engines"]
        text = get(f"{address}/metrics")[2]
    assert [each["steps"] for each in shown] == [asdict(BUDGET), None, asdict(BUDGET) | {"r2": None}]
    lines = [line for line in text.splitlines() if line.startswith("relserve_engine_step_")]
    assert sum("step_budget_tokens" in line and line.endswith(" 480.0") for line in lines) == 2
    assert sum("step_model_r2" in line for line in lines) == 1
    assert 'reason="slack"' in lines[0]


def test_guesses_of_the_token_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relserve.server.users.tries.OF_ADDRESS", TryLimit(2, 1000.0))

    def code(address: str, token: str) -> int:
        return get(f"{address}/api/status", Authorization=f"Bearer {token}")[0]

    with served(WrittenFacts(), token="secret") as address:
        assert [code(address, "x") for _ in range(5)] == [401] * 5  # a page that is left open guesses nothing
        assert [code(address, f"y{number}") for number in range(3)] == [401, 429, 429]
        code_, headers, _ = get(f"{address}/", Authorization="Bearer secret")
        assert (code_, int(headers["retry-after"]) > 0) == (429, True)
        assert get(f"{address}/")[0] == 401
    with served(WrittenFacts(), token="secret") as address:
        assert code(address, "secret") == 200
        assert [code(address, f"z{number}") for number in range(5)] == [401] * 5  # somebody is known there
        assert code(address, "secret") == 200
