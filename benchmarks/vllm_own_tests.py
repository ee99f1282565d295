"""vLLM's own tests of its scheduler (tests/v1/core), with vLLM's classes and with ours in their place.

    python -m benchmarks.vllm_own_tests vllm-0.32.0.tar.gz

takes the source archive of the installed release. The models whose configurations the tests load from a hub
are stood for by a configuration without weights. What fails with vLLM's own classes fails for want of a GPU,
of another model or of torchvision.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

from benchmarks.claims import Exact, Untold
from benchmarks.common import ROOT, arguments, finish, table

ROOMS = ("relserve/vllm_plugin",)
# Two make a scheduler without its __init__, one reads the waiting rows by their places in vLLM's deque.
KNOWN = [
    "tests/v1/core/test_async_scheduler.py::test_abort_request_when_structured_output_fsm_cannot_advance",
    "tests/v1/core/test_scheduler.py::test_abort_request_when_structured_output_fsm_cannot_advance",
    "tests/v1/core/test_scheduler.py::test_scheduler_reset_prefix_cache",
]
HEADLINE = {
    "release": Untold("a name"), "passed_by_vllm": Untold("a size"), "passed_by_ours": Untold("a size"),
    "only_by_vllm_and_unknown": Exact([]), "only_by_vllm": Untold("listed in docs/settings.md"),
}  # fmt: skip
NEEDS = {"build/vllm-source.tar.gz": "the source archive of the installed vLLM release"}

ENGINES = ("vllm", "ours")
QUICK = ["-k", "test_async_scheduler"]
LEFT_OUT = ["test_scheduler_e2e.py", "test_reset_prefix_cache_e2e.py"]  # of engines
CONFIG = {
    "architectures": ["OPTForCausalLM"], "model_type": "opt", "hidden_size": 768, "ffn_dim": 3072,
    "num_hidden_layers": 12, "num_attention_heads": 12, "max_position_embeddings": 2048, "vocab_size": 50272,
    "word_embed_proj_dim": 768, "bos_token_id": 2, "eos_token_id": 2, "pad_token_id": 1,
    "torch_dtype": "float16",
}  # fmt: skip
PLUGIN = """
import os
from vllm.config.model import ModelConfig

_init = ModelConfig.__init__


def _local(self, *args, **kwargs):
    if str(kwargs.get("model")).startswith("facebook/opt-"):
        kwargs["model"] = os.environ["STAND_IN"]
    _init(self, *args, **kwargs)


ModelConfig.__init__ = _local
if os.environ["CLASSES"] == "ours":
    import vllm.v1.core.sched.async_scheduler as asynchronous
    import vllm.v1.core.sched.scheduler as plain

    from relserve.vllm_plugin.scheduler import AsyncRelQueryScheduler, RelQueryScheduler

    plain.Scheduler, asynchronous.AsyncScheduler = RelQueryScheduler, AsyncRelQueryScheduler
"""


def passed(folder: Path, source: Path, classes: str, more: list[str]) -> set[str]:
    """The tests that pass."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), str(source), str(ROOT)]), "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1", "RELSERVE_CACHE_DIR": str(folder / "cache"), "CLASSES": classes,
        "STAND_IN": str(folder / "opt"),
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "--noconftest", "-p", "stand_ins", "-q", "--tb=no", "-rA",
               "-p", "no:cacheprovider", "tests/v1/core", *more]  # fmt: skip
    command += [f"--ignore=tests/v1/core/{name}" for name in LEFT_OUT]
    ran = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    return set(re.findall(r"^PASSED (\S.*)$", ran.stdout, re.M))


def main() -> None:
    """Run, print and save."""
    parser = arguments(__doc__ or "")
    parser.add_argument("archive", type=Path, nargs="?", default=ROOT / "build" / "vllm-source.tar.gz")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(args.archive) as archive:
            archive.extractall(folder, filter="data")
        [source] = [each.parent for each in folder.glob("*/pyproject.toml")]
        shutil.rmtree(source / "vllm")  # the installed package is meant, for a CPU by its version
        shutil.rmtree(source / "vllm.egg-info", ignore_errors=True)
        (folder / "stand_ins.py").write_text(PLUGIN)
        (folder / "opt").mkdir()
        (folder / "opt" / "config.json").write_text(json.dumps(CONFIG))
        more = QUICK if args.quick else []
        by = {classes: passed(folder, source, classes, more) for classes in ENGINES}
    missing = sorted(by["vllm"] - by["ours"])
    print(table(("classes", "passed"), [(each, len(by[each])) for each in ENGINES]))
    print("\n".join(missing))
    found = {
        "release": version("vllm"), "passed_by_vllm": len(by["vllm"]), "passed_by_ours": len(by["ours"]),
        "only_by_vllm_and_unknown": [each for each in missing if each not in KNOWN], "only_by_vllm": missing,
    }  # fmt: skip
    finish("vllm_own_tests", found, [{"only_by_ours": sorted(by["ours"] - by["vllm"])}], args.quick)


if __name__ == "__main__":
    main()
