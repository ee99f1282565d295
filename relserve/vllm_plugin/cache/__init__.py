"""The hybrid cache inside vLLM: a block holds keys and values, or X, the layer's input, of twice the tokens.

`vllm_parts.py` is its seam to vLLM. A setting that vLLM hands on (`additional_config`) turns it on; without
it, nothing here takes part.
"""
