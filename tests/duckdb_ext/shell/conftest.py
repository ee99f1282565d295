"""Fixtures: the extension, built once, and services for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from extension_host import Installed, Serve, Service, serving

from relserve.cli.shell_install import install
from relserve.engines.scripted import ScriptedEngine, echo


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The extension as `relserve shell --install` writes it."""
    return Installed(install(tmp_path_factory.mktemp("shell")))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a service over a scripted engine; its arguments are the engine's."""
    with contextlib.ExitStack() as stack:

        def start(**engine: Any) -> Service:
            return stack.enter_context(serving(ScriptedEngine(**{"script": echo, **engine})))

        yield start


@pytest.fixture
def service(serve: Serve) -> Service:
    """A service that answers with the prompt."""
    return serve()
