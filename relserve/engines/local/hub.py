"""Whether the Hugging Face hub has a model, asked once before vLLM starts, which would ask for a minute."""

from __future__ import annotations

import os
import re
from pathlib import Path

from relserve.call.hosted_names import START_HERE
from relserve.errors import EngineStartError

ASK_S = 10.0
_HUB_ID = re.compile(r"\w[\w.-]*+/[\w.-]++")
OTHER_HUB = "VLLM_USE_MODELSCOPE"  # vLLM's: ids are then of ModelScope


def see_that_the_hub_has(model: str) -> None:
    """Look for a model that was not fetched before.

    A hub that answers with anything else than that it has no such model leaves the word to vLLM.

    Args:
        model: a hub id; what has not its form, as the path of a folder that is gone, is left to vLLM, too.

    Raises:
        EngineStartError: there is none, or the hub cannot be reached.
    """
    if not _HUB_ID.fullmatch(model):
        return
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    if _is_here(model) or os.environ.get(OTHER_HUB, "0").casefold() not in ("", "0", "false"):
        return
    try:
        huggingface_hub.HfApi().model_info(model, timeout=ASK_S)
    except RepositoryNotFoundError as error:
        raise EngineStartError(
            f"the Hugging Face hub has no model {model!r}, or one that HF_TOKEN does not open: look at the "
            f"name's spelling; {START_HERE}"
        ) from error
    except HfHubHTTPError:
        return
    except Exception as error:  # of whichever HTTP library it has, or that it is told to be offline
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise EngineStartError(
            f"{model!r} was not fetched before, and the Hugging Face hub cannot be asked for it "
            f"({why}): give a folder or a server's URL; "
            f"{START_HERE}"
        ) from error


def _is_here(model: str) -> bool:
    """Whether anything of it was fetched before, of whichever revision and form."""
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=model, repo_type="model")
    return any((folder / "snapshots").glob("*"))
