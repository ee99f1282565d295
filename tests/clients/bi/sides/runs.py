"""A client's program against one server: its lines are read with a limit a check; a hung one is killed."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from typing import Any, NamedTuple

from benchmarks.provenance import ROOT
from tests.clients.bi.sides.clients import Client
from tests.clients.bi.sides.servers import Server

CHECK_S = 20.0


class Answer(NamedTuple):
    """What a check gave: a value, or an error with the server's SQLSTATE; or it hung."""

    value: Any = None
    error: str | None = None
    sqlstate: str | None = None
    hung: bool = False


def run(client: Client, server: Server, limit_s: float = CHECK_S) -> dict[str, Answer]:
    """Every check's answer, in order; after one that hung or ended the program, a new one goes on."""
    answers: dict[str, Answer] = {}
    after = ""
    while (after := _run_once(client, server, after, limit_s, answers)) and after in answers:
        pass
    return answers


def _run_once(client: Client, server: Server, after: str, limit_s: float, answers: dict[str, Answer]) -> str:
    """Run what comes after that check; the name of the check that stopped the program, or nothing."""
    environment = {**os.environ, **server.environment, **client.environment, "BI_AFTER": after, "TZ": "UTC"}
    program = subprocess.Popen(client.command, stdout=subprocess.PIPE, env=environment, cwd=ROOT, text=True)
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(program, lines), daemon=True).start()
    running = ""
    try:
        while (line := lines.get(timeout=limit_s)) is not None:
            record = json.loads(line)
            running = record.pop("start", "")
            if "check" in record:
                check = record.pop("check")
                answers[check] = Answer(**record)
    except queue.Empty:
        answers[running] = Answer(hung=True)
    finally:
        program.kill()
        status = program.wait()
    if running and running not in answers:
        answers[running] = Answer(error=f"the client's program ended with status {status}")
    if not answers:
        raise RuntimeError(
            f"{client.name} ended with status {status} before its first check: {client.command}"
        )
    return running


def _read(program: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert program.stdout is not None
    for line in program.stdout:
        if line.startswith("{"):
            lines.put(line)
    lines.put(None)
