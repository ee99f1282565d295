"""The files of `deploy/`: what they call exists, and what reads them accepts them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer.main

from relserve.cli.main import app

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT = (DEPLOY / "relserve.service").read_text(encoding="utf-8")
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def accept(arguments: list[str]) -> None:
    """Have the command line read its arguments, without running the command; raises for an unknown one."""
    name, *rest = arguments
    group = typer.main.get_command(app)
    command = group.commands[name]  # type: ignore[attr-defined]
    command.make_context(name, rest)


def test_the_unit_calls_commands_that_there_are() -> None:
    lines = UNIT.replace("\\\n", " ").splitlines()
    calls = [shlex.split(line.partition("=")[2]) for line in lines if line.startswith("ExecStart")]
    assert [call[1] for call in calls] == ["doctor", "serve"]
    for call in calls:
        accept(call[1:])


def test_the_container_calls_a_command_that_there_is() -> None:
    entry, arguments = map(json.loads, re.findall(r"^(?:ENTRYPOINT|CMD) (\[.*\])$", DOCKERFILE, re.M))
    assert entry[0] == "relserve"
    accept(entry[1:] + arguments)


def test_what_the_container_installs_are_extras_of_the_package() -> None:
    project = (DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8")
    default = re.findall(r"^ARG EXTRA=(\w+)$", DOCKERFILE, re.M)
    wanted = re.findall(r'"/src\[\$EXTRA,(\w+)\]"', DOCKERFILE)
    for extra in (*default, *wanted, "vllm"):
        assert re.search(rf"^{extra} = \[", project, re.M), extra


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    copy = tmp_path / "relserve.service"
    copy.write_text(re.sub(r"^(ExecStart(?:Pre)?=)\S+", r"\1/bin/true", UNIT, flags=re.M))
    command = ["systemd-analyze", "verify", "--man=no", str(copy)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert "relserve.service" not in run.stderr, run.stderr
