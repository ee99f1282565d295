"""Compiling the C++ kernels once a machine: with its compiler if it has one, else they are done without.

The library lies in the folder of torch's own extensions (TORCH_EXTENSIONS_DIR), under a name made of source,
torch's release and the CPU's instructions, and is put there whole, so that processes may compile at once.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from torch.utils import cpp_extension

logger = logging.getLogger(__name__)

SOURCE = Path(__file__).with_name("paged_x.cpp")
TIMEOUT_S = 300
_OPTIONS = ["-O3", "-std=c++20", "-fPIC", "-fno-math-errno", "-fno-trapping-math"]
_OPTIONS += ["-ffinite-math-only", "-fassociative-math", "-fno-signed-zeros"]
_INSTRUCTIONS = {
    "AVX512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma", "-mf16c"],
    "AVX2": ["-mavx2", "-mfma", "-mf16c"],
}


@functools.cache
def load() -> bool:
    """Whether the C++ kernels are there, as torch.ops.relserve_kernels; says once in the log why not."""
    try:
        torch.ops.load_library(compiled())
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning("the hidden cache runs in plain torch, which is slower: %s", _reason(error))
        return False
    return True


def compiled() -> Path:
    """The compiled library, compiled now unless it has been.

    Raises:
        OSError: there is no compiler, or nowhere to put the library.
        subprocess.SubprocessError: the compiler fails or takes minutes.
    """
    flags = _flags()
    sources = [path.read_text(encoding="utf-8") for path in (SOURCE, *sorted(SOURCE.parent.glob("*.hpp")))]
    hashed = [*sources, torch.__version__, *flags]
    name = hashlib.sha256("\n".join(hashed).encode()).hexdigest()[:16]
    root = os.environ.get("TORCH_EXTENSIONS_DIR") or cpp_extension.get_default_build_root()
    folder = Path(root) / "relserve_kernels"
    library = folder / f"{name}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / library.name
            for command in _commands(flags, made):
                subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
            made.replace(library)
    return library


def _flags() -> list[str]:
    """The compiler's options for the instructions of this CPU."""
    flags = [*_OPTIONS, *_INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability(), [])]
    if torch.cpu._is_avx512_bf16_supported():
        flags.append("-mavx512bf16")
    if torch.cpu._is_amx_tile_supported() and torch.cpu._init_amx():
        flags += ["-mamx-tile", "-mamx-bf16"]
    return flags


def _commands(flags: list[str], library: Path) -> list[list[str]]:
    """Compile and link, without an OpenMP: loading finds libtorch's own, whose threads torch counts."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise FileNotFoundError("there is no C++ compiler; install g++ to have the quicker kernels")
    headers = [part for path in cpp_extension.include_paths() for part in ("-isystem", path)]
    folders = [f"-L{path}" for path in cpp_extension.library_paths()]
    abi = f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"
    parts = str(library.with_suffix(".o"))
    return [
        [compiler, *flags, "-fopenmp", abi, *headers, "-c", str(SOURCE), "-o", parts],
        [compiler, "-shared", parts, "-o", str(library), *folders, "-ltorch_cpu", "-lc10"],
    ]


def _reason(error: OSError | subprocess.SubprocessError) -> str:
    """The first line of the compiler's that names an error, else what went wrong."""
    hashed = error.stderr if isinstance(error, subprocess.CalledProcessError) else ""
    return next((line for line in (hashed or "").splitlines() if "error" in line), str(error))
