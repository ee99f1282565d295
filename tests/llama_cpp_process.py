"""llama.cpp's server, as its package has it: `python llama_cpp_process.py FILE PORT`, until it is ended."""

from __future__ import annotations

import signal
import sys

import xllamacpp

SLOTS = 4  # requests at once, each with its part of the context
CONTEXT = 2048  # of a request, in tokens


def main(path: str, port: int) -> None:
    """Serve the GGUF file at `path`."""
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = {"tiny"}
    params.port = port
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * CONTEXT
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 8
    params.endpoint_metrics = params.endpoint_props = True
    params.fit_params = False
    params.cache_ram_mib = 0  # caches of ended requests would take 8 GB
    server = xllamacpp.Server(params)
    sys.stdout.write(f"listening on {server.listening_address}\n")
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
