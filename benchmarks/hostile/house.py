"""The server under attack: a real `relserve serve` with TLS and passwords, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg

from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier

PASSWORD = "correct horse"
NAMES = ("ann", "mallory", "victim", "root")
MARKER = "MARKER-5f1d-of-victim"  # stands in what only the user victim may see
START_S = 120.0
STOP_S = 60.0
_WHERE = re.compile(r"is served on 127\.0\.0\.1:(\d+)")


class AttackedServer:
    """The server's process, its files and its log.

    Args:
        folder: for all of them.
        model: that answers calls which name none.
    """

    def __init__(self, folder: Path, model: str = "scripted") -> None:
        self.folder, self.model, self.port = folder, model, 0
        self.database, self.log = folder / "shop.duckdb", folder / "server.log"
        self._make_certificate()
        users = Users(folder / "users.json")
        for name in NAMES:
            users.add(User(name, make_verifier(PASSWORD), is_admin=name == "root"))
        users.save()

    def start(self) -> None:
        """Start it, and wait until it listens.

        Raises:
            RuntimeError: it did not come up.
        """
        users, certificate, key = (self.folder / name for name in ("users.json", "cert.pem", "key.pem"))
        command = [
            sys.executable, "-m", "relserve", "serve", str(self.database), "--port", "0",
            "--users", str(users), "--tls-cert", str(certificate), "--tls-key", str(key),
            "--model", self.model,
        ]  # fmt: skip
        before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, "RELSERVE_CACHE_DIR": str(self.folder / "cache")}, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self.is_up:
            if found := _WHERE.search(self.log.read_text("utf-8", errors="replace")[before:]):
                self.port = int(found[1])
                return
            time.sleep(0.05)
        raise RuntimeError(f"the server did not come up:\n{self.log.read_text(errors='replace')[-2000:]}")

    @property
    def is_up(self) -> bool:
        """Whether its process runs."""
        return self.process.poll() is None

    def has_ended(self, within_s: float) -> bool:
        """Whether its process ends in this time."""
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int | None:
        """End it in order; its status, None where it had to be killed."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def end_engines(self) -> None:
        """End what the server's own engine processes left behind."""
        for each in psutil.process_iter(["environ"]):
            with contextlib.suppress(psutil.Error):
                if (each.info["environ"] or {}).get("RELSERVE_CACHE_DIR") == str(self.folder / "cache"):
                    each.kill()

    def connect(self, user: str = "ann", password: str = PASSWORD, **more: Any) -> psycopg.Connection[Any]:
        """A client of psycopg's, over TLS."""
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=user, password=password, dbname="shop", autocommit=True,
            sslmode="require", connect_timeout=15, cursor_factory=psycopg.ClientCursor, **more,
        )  # fmt: skip

    def rss_mb(self) -> float:
        """Memory that its process holds."""
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20

    def num_clients(self) -> int:
        """Clients that it knows of, but for the one that asks."""
        with self.connect("root") as con:
            row = con.execute("SELECT count(*) - 1 FROM pg_stat_activity").fetchone()
            assert row
            return int(row[0])

    def _make_certificate(self) -> None:
        words = (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here"
        )
        files = ["-keyout", str(self.folder / "key.pem"), "-out", str(self.folder / "cert.pem")]
        subprocess.run([*words.split(), *files], check=True, capture_output=True)


def tls_context() -> ssl.SSLContext:
    """For clients that do not care who the server is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Bystander(threading.Thread):
    """Another user at work meanwhile: short statements, one after the other, each answer looked at.

    Attributes:
        longest_s: that one of them took.
        wrong: what was not as it should be.
    """

    def __init__(self, house: AttackedServer) -> None:
        super().__init__(daemon=True)
        self._house, self._ends = house, threading.Event()
        self.longest_s, self.count, self.wrong = 0.0, 0, list[str]()

    def run(self) -> None:
        """See the class."""
        try:
            with self._house.connect("ann") as con:
                while not self._ends.is_set():
                    self._once(con)
                    self._ends.wait(0.01)
        except psycopg.Error as error:
            if not self._ends.is_set():
                self.wrong.append(f"{type(error).__name__}: {error}")

    def _once(self, con: psycopg.Connection[Any]) -> None:
        began = time.monotonic()
        asked = self.count
        row = con.execute("SELECT %s::INT", (asked,)).fetchone()
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        self.count += 1
        if row != (asked,):
            self.wrong.append(f"asked {asked}, got {row}")

    def end(self) -> None:
        """Stop, and wait for the last statement."""
        self._ends.set()
        self.join(60)
        if self.is_alive():
            self.wrong.append("a statement of another client never ended")


@contextlib.contextmanager
def watched(house: AttackedServer) -> Iterator[Bystander]:
    """A bystander at work while inside."""
    bystander = Bystander(house)
    bystander.start()
    try:
        yield bystander
    finally:
        bystander.end()
