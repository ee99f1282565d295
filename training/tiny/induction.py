"""Start the model with a copying circuit: an induction head put in by hand.

Copying from the prompt (a brand, one of the choices) needs two heads that work together: one carries each
token to its successor, another looks for the successor of an earlier occurrence of the current token (Olsson
et al. 2022, "In-context Learning and Induction Heads"). Gradient descent finds the pair only after more
tokens than a busy CPU sees in an hour; so both heads start near it and training goes on from there.
"""

import torch
from transformers import LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaAttention

_EMBEDDING_STD = 0.05
_CONSTANT = 4.0  # size of coordinate 0 of every embedding, in standard deviations
_NUM_FAST = 8  # rotary frequencies that tell the previous position from the others
_FIRST_SLOW = 12  # from here on rotary frequencies hardly turn over a prompt's length


def _orthonormal(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    """Return random orthonormal rows with nothing in coordinate 0."""
    drawn = torch.randn(columns - 1, rows, generator=generator)
    return torch.cat([torch.zeros(rows, 1), torch.linalg.qr(drawn)[0].T], dim=1)


@torch.no_grad()
def plant_induction(model: LlamaForCausalLM) -> None:
    """Overwrite the embeddings and head 0 of the first two layers; leave a one-layer model as it is."""
    config, layers = model.config, model.model.layers
    if len(layers) < 2:
        return
    generator = torch.Generator().manual_seed(0)
    embeddings = model.model.embed_tokens.weight
    embeddings.copy_(torch.randn(embeddings.shape, generator=generator) * _EMBEDDING_STD)
    embeddings[:, 0] = _CONSTANT * _EMBEDDING_STD
    size, width = config.hidden_size // config.num_attention_heads, config.hidden_size
    half = size // 2
    fast = torch.arange(min(_NUM_FAST, half))
    slow = torch.arange(min(_FIRST_SLOW, half // 2), half)
    slow = torch.cat([slow, slow + half])
    key = _orthonormal(len(slow), width, generator)
    link = _orthonormal(len(slow), width, generator)
    _previous_token_head(layers[0].self_attn, fast, half, key, link)
    copied = _orthonormal(size, width, generator)
    _matching_head(layers[1].self_attn, slow, key, link, copied)


def _previous_token_head(
    attention: LlamaAttention, fast: torch.Tensor, half: int, key: torch.Tensor, link: torch.Tensor
) -> None:
    """Attend to the position before and write what stands there into the subspace `link`."""
    size, angles = 2 * half, 10000.0 ** (-fast.float() / half)
    for matrix in (attention.q_proj, attention.k_proj, attention.v_proj):
        matrix.weight[:size] = 0.0
    attention.q_proj.weight[fast, 0] = 1.7
    attention.k_proj.weight[fast, 0] = 1.7 * torch.cos(angles)
    attention.k_proj.weight[fast + half, 0] = 1.7 * torch.sin(angles)
    attention.v_proj.weight[: len(key)] = key
    attention.o_proj.weight[:, :size] = 0.0
    attention.o_proj.weight[:, : len(key)] = _EMBEDDING_STD * link.T


def _matching_head(
    attention: LlamaAttention, slow: torch.Tensor, key: torch.Tensor, link: torch.Tensor, copied: torch.Tensor
) -> None:
    """Attend to where `link` holds the current token, and write the token that stands there to the output."""
    size = len(copied)
    attention.q_proj.weight[:size] = 0.0
    attention.k_proj.weight[:size] = 0.0
    attention.q_proj.weight[slow] = 1.5 * key
    attention.k_proj.weight[slow] = 1.5 * link
    attention.v_proj.weight[:size] = copied
    attention.o_proj.weight[:, :size] = 0.15 * copied.T
