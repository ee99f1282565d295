"""Apache Superset with metadata of its own, and its REST API."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.provenance import ROOT
from tests.clients.superset.servers import HOST, free_port, running

HOME = ROOT / "build" / "superset"
PROGRAM = HOME / "bin" / "superset"
CONFIG = Path(__file__).with_name("superset_config.py")
USER = {"username": "admin", "password": "admin"}
TIMEOUT_S = 120.0


class RefusedError(Exception):
    """Superset answered with an error, or not in time: method, path, status and words."""


class Superset:
    """A logged-in user of Superset's REST API."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=TIMEOUT_S)
        login = {**USER, "provider": "db", "refresh": True}
        token = self.post("/api/v1/security/login", **login)["access_token"]
        self._http.headers["Authorization"] = f"Bearer {token}"

    def get(self, path: str, **query: str) -> Any:
        """What a GET answers."""
        return self._answer("GET", path, params=query)

    def text(self, path: str) -> str:
        """What a GET of something else than JSON answers."""
        return self._http.get(path).raise_for_status().text

    def post(self, path: str, **body: Any) -> Any:
        """What a POST answers."""
        return self._answer("POST", path, json=body)

    def put(self, path: str, **body: Any) -> Any:
        """What a PUT answers."""
        return self._answer("PUT", path, json=body)

    def delete(self, path: str) -> Any:
        """What a DELETE answers."""
        return self._answer("DELETE", path)

    def _answer(self, method: str, path: str, **words: Any) -> Any:
        try:
            reply = self._http.request(method, path, **words)
        except httpx.TransportError as error:
            raise RefusedError(f"{method} {path}: {error}") from error
        if reply.is_success:
            return reply.json()
        raise RefusedError(f"{method} {path}: {reply.status_code} {_message(reply)}")


def _message(reply: httpx.Response) -> str:
    try:
        said = reply.json()
    except json.JSONDecodeError:
        return reply.text[:300]
    if errors := said.get("errors"):
        return "; ".join(str(error.get("message")) for error in errors)
    return str(said.get("message", said))


@contextmanager
def superset(folder: Path) -> Iterator[Superset]:
    """Superset on a port of its own, with a user and nothing else, ended at the end."""
    variables = {
        "PYTHONPATH": "",  # Superset's own packages alone
        "SUPERSET_HOME": str(folder),
        "SUPERSET_CONFIG_PATH": str(CONFIG),
        "BENCHMARK_SECRET_KEY": secrets.token_urlsafe(32),
        "FLASK_APP": "superset",
    }
    names = ["--username", USER["username"], "--password", USER["password"]]
    person = ["--firstname", "A", "--lastname", "Person", "--email", "person@example.com"]
    for words in (["db", "upgrade"], ["fab", "create-admin", *names, *person], ["init"]):
        _run([str(PROGRAM), *words], variables)
    port = free_port()
    command = [str(PROGRAM), "run", "-h", HOST, "-p", str(port), "--with-threads"]
    with running(command, port, folder, **variables):
        url = f"http://{HOST}:{port}"
        _until_healthy(url)
        yield Superset(url)


def _run(command: list[str], variables: dict[str, str]) -> None:
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")


def _until_healthy(url: str) -> None:
    while httpx.get(f"{url}/health", timeout=TIMEOUT_S).text.strip() != "OK":
        time.sleep(0.1)
