"""Which vLLM releases the plug-in was tested with: the scheduler's interface is not public in vLLM."""

from __future__ import annotations

import re

from relserve.errors import EngineStartError

OLDEST = (0, 26)
TOO_NEW = (0, 34)


def check_version(version: str) -> None:
    """Accept a tested vLLM release.

    Raises:
        EngineStartError: it is older or newer than those tested, or no version at all.
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    if found and OLDEST <= (int(found[1]), int(found[2])) < TOO_NEW:
        return
    oldest, newest = f"{OLDEST[0]}.{OLDEST[1]}", f"{TOO_NEW[0]}.{TOO_NEW[1] - 1}"
    raise EngineStartError(
        f"relserve's scheduler was tested with vLLM {oldest} to {newest}, this is {version}; "
        f"install one of those, for instance `pip install 'vllm>={oldest},<{TOO_NEW[0]}.{TOO_NEW[1]}'`"
    )
