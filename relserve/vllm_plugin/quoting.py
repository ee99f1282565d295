"""Rows that quote: each has a grammar of its own text's parts, to which llguidance holds it.

vLLM has one library for all grammars of an engine, and ours is xgrammar, which would compile the automaton of
a long text for many times as long as the model takes to answer. llguidance comes with vLLM, too. So a grammar
that carries another one (see `relserve.call.parts.marked`) goes to it, in an engine that uses xgrammar.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from relserve.call.parts import lark_in
from relserve.vllm_plugin import host

logger = logging.getLogger(__name__)


def hold_quotes(manager: Any) -> None:
    """Have vLLM's manager of grammars hold rows to their quotes.

    Where llguidance does not know the model's tokenizer, they are held to nothing, and only checked by who
    asked.
    """
    make_grammars(manager, partial(_Grammars, manager))


def make_grammars(manager: Any, by: Callable[[Any], Any]) -> None:
    """Have `by` of what makes a request's grammar, in a thread, make it; not in a release without that."""
    if (theirs := getattr(manager, "_create_grammar", None)) is not None:
        manager._create_grammar = by(theirs)


class _Grammars:
    """Stands in for `theirs`, which it calls for every other grammar."""

    def __init__(self, manager: Any, theirs: Any) -> None:
        self._manager, self._theirs = manager, theirs
        self._backend: Any = None
        self._is_unknown = False
        self._lock = threading.Lock()

    def __call__(self, request: Any) -> Any:
        kind, grammar = request.structured_output_request.structured_output_key
        lark = lark_in(grammar)
        backend = None if lark is None else self._of_llguidance()
        return self._theirs(request) if backend is None else backend.compile_grammar(kind, lark)

    def _of_llguidance(self) -> Any:
        """vLLM's way to llguidance, made once; None where that does not know the tokenizer."""
        with self._lock:
            if self._backend is None and not self._is_unknown:
                config = self._manager.vllm_config
                try:
                    self._backend = host.GuidanceBackend(
                        config,
                        tokenizer=self._manager.tokenizer,
                        vocab_size=config.model_config.get_vocab_size(),
                    )
                except Exception as error:  # whatever it is, the rows can be answered, and are checked
                    logger.warning("quotes are not held to their texts: %s", error)
                    self._is_unknown = True
            return self._backend
