"""llama.cpp's own server and the embedded model as the file that it reads."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.engines.server_process import ServerProcess

PROGRAM = Path(__file__).parent / "llama_cpp_process.py"


class LlamaCppServer(ServerProcess):
    """A server of the model's GGUF file, which answers four requests at once."""

    ready_path = "/v1/models"

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-P", str(PROGRAM), str(self.model), str(self.port)]


def tiny_as_gguf(path: Path, number_format: str = "F32") -> Path:
    """The embedded model as a GGUF file at `path`; the test is skipped without llama.cpp."""
    pytest.importorskip("xllamacpp", reason="llama.cpp is not installed: pip install xllamacpp")
    pytest.importorskip("gguf", reason="the package gguf is not installed")
    from training.tiny.gguf_export import export

    export(path, number_format)
    return path
