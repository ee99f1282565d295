"""Real llama-cpp-python servers, from an environment of their own that `make llamacpp` makes."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from server_process import ServerProcess

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "llamacpp" / "bin" / "python"


def tiny_as_gguf(path: Path, *arguments: str) -> Path:
    """The embedded model as a GGUF file at `path`."""
    if not PYTHON.exists():
        pytest.skip("llama-cpp-python is not built: `make llamacpp` builds it, or says why it cannot")
    subprocess.run(
        [str(PYTHON), "-m", "relserve.tiny.gguf_export", str(path), *arguments],
        check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return path


@dataclass
class LlamaCppServer(ServerProcess):
    """A llama-cpp-python server of the model's GGUF file."""

    ready_path = "/v1/models"

    @property
    def command(self) -> list[str]:
        return [
            str(PYTHON), "-m", "llama_cpp.server", "--model", str(self.model), "--model_alias", "tiny",
            "--host", "127.0.0.1", "--port", str(self.port), "--n_ctx", "2048", "--n_threads", "1",
            "--n_threads_batch", "1", "--verbose", "False",
        ]  # fmt: skip
