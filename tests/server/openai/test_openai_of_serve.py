"""`relserve serve --openai` as users start it: keys, TLS, a shared engine that is killed, and the page."""

from __future__ import annotations

import os
import re
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import openai
import psycopg
import pytest
from typer.testing import CliRunner

from relserve.cli.main import app
from relserve.engines.shared.place import place_of
from relserve.tiny import MODEL_DIR
from tests.forked import run_command
from tests.waiting import PATIENCE_S, wait_until

HI: Any = [{"role": "user", "content": "hi"}]
PASSWORD = "secret"


def relserve(*words: str, stdin: str = "") -> str:
    done = CliRunner().invoke(app, words, input=stdin)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output.strip()


class Served(NamedTuple):
    url: str
    page: str
    port: int
    keys: dict[str, str]
    certificate: Path

    def client(self, name: str, **options: Any) -> openai.OpenAI:
        context = ssl.create_default_context(cafile=str(self.certificate))
        return openai.OpenAI(
            base_url=self.url, api_key=self.keys[name], http_client=httpx.Client(verify=context),
            **{"max_retries": 0, "timeout": 3 * PATIENCE_S, **options},
        )  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    folder = tmp_path_factory.mktemp("openai")
    users, cert, key = folder / "users.json", folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    relserve("user", "add", "ann", "--password-stdin", "--file", str(users), stdin=f"{PASSWORD}\n")
    relserve("user", "add", "bot", "--no-password", "--tokens-per-minute", "40", "--file", str(users))
    keys = {name: relserve("user", "key", name, "--file", str(users)) for name in ("ann", "bot")}
    environ = {
        **os.environ, "RELSERVE_ENGINE": "shared", "RELSERVE_CACHE_DIR": str(folder),
        "RELSERVE_HTTP_TOKEN": "t", "RELSERVE_ENGINE_ARGS": '{"dtype": "float32"}',
    }  # fmt: skip
    command = [sys.executable, "-m", "relserve", "serve", "--examples", "--port", "0", "--openai", "0"]
    options = ["--http", "0", "--users", users, "--tls-cert", cert, "--tls-key", key, "--host", "127.0.0.1"]
    process = subprocess.Popen([*command, *map(str, options)], env=environ, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said, watchdog = "", threading.Timer(2 * PATIENCE_S, process.kill)
    watchdog.start()
    pattern = r"page is at (\S+)\n.*(https://\S+/v1); it takes the users' keys\n.* is served on [^ ]+:(\d+)"
    while not (found := re.search(pattern, said, re.DOTALL)):
        line = process.stderr.readline()
        assert line, said
        said += line
    watchdog.cancel()
    threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it does not wait to be read
    yield Served(found[2], found[1], int(found[3]), keys, cert)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    stop = [sys.executable, "-m", "relserve", "engine", "stop", "--model", "tiny"]  # not those of others
    subprocess.run(stop, env=environ, check=True, capture_output=True)


@pytest.mark.vllm
@pytest.mark.long
def test_users_ask_by_keys_what_sql_asks_too(served: Served) -> None:
    answer = served.client("ann").chat.completions.create(model="tiny", messages=HI, max_tokens=4)
    assert answer.usage is not None
    with psycopg.connect(
        host="127.0.0.1", port=served.port, user="ann", password=PASSWORD, dbname="memory"
    ) as con:
        assert con.execute("SELECT llm('Say {}', 'a', max_tokens := 4)").fetchone() is not None
    page = httpx.get(
        f"{served.page}metrics", headers={"Authorization": "Bearer t"},
        verify=ssl.create_default_context(cafile=str(served.certificate)),
    ).text  # fmt: skip
    assert 'relserve_openai_requests_total{code="200",user="ann"} 1.0' in page
    assert f'relserve_openai_tokens_total{{kind="prompt",user="ann"}} {answer.usage.prompt_tokens}.0' in page
    asked: Any = [{"type": "predicate", "instructions": "Is it a complaint?"}]
    decision = served.client("ann").decisions.create(model="tiny", input="It broke.", questions=asked)
    assert [answer.type for answer in decision.answers] == ["predicate"]
    with pytest.raises(psycopg.OperationalError):  # a user without a password has no way in but the key
        psycopg.connect(host="127.0.0.1", port=served.port, user="bot", password="", dbname="memory")


@pytest.mark.vllm
@pytest.mark.long
def test_a_quota_holds_for_both_ways_in(served: Served) -> None:
    client = served.client("bot")
    client.chat.completions.create(model="tiny", messages=HI, max_tokens=60, extra_body={"ignore_eos": True})
    with pytest.raises(openai.RateLimitError, match="tokens of a minute"):
        client.chat.completions.create(model="tiny", messages=HI)


@pytest.mark.vllm
@pytest.mark.long
def test_an_engine_that_is_killed_is_503_and_then_another(served: Served) -> None:
    """Its process is killed while it answers; the next request starts another."""
    client = served.client("ann")
    answer = client.chat.completions.create(
        model="tiny", messages=HI, max_tokens=4000, stream=True, extra_body={"ignore_eos": True}
    )
    next(answer)
    lock = place_of(str(MODEL_DIR), served.certificate.parent).lock
    os.kill(int(lock.read_text()), signal.SIGKILL)
    with pytest.raises(openai.APIError, match="the engine ended"):
        list(answer)
    told: list[openai.InternalServerError] = []

    def ask() -> Any:
        try:
            return client.chat.completions.create(model="tiny", messages=HI, max_tokens=2)
        except openai.InternalServerError as error:
            told.append(error)

    wait_until(ask, 3 * PATIENCE_S)
    assert all(error.status_code == 503 and error.response.headers["retry-after"] for error in told)


@pytest.mark.engine_of_its_own
def test_other_models_and_open_addresses_are_refused() -> None:
    for words, why in (
        (["--model", "scripted"], "--openai is for a model that relserve runs on this machine"),
        (["--host", "0.0.0.0"], "needs TLS .* and passwords"),
    ):
        done = run_command("serve", "--port", "0", "--openai", "0", *words, env=os.environ)
        assert done.returncode == 1
        assert re.fullmatch(f"relserve: .*{why}.*\n", done.stderr)
