"""Grammars as vLLM takes them, in process and over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable

from relserve.call.answer_types import Grammar
from relserve.call.parts import lark_of, marked


def structured_outputs_of(grammar: Grammar, clean: Callable[[str], str]) -> dict[str, str]:
    """The field of vLLM's structured outputs that holds a grammar, with the space that may stand before.

    An ebnf is taken as it is. What quotes is for our own engine; see `relserve.vllm_plugin.quoting`.

    Args:
        clean: makes a text that UTF-8 can carry.
    """
    if grammar.source is not None:
        return {"grammar": marked(lark_of(grammar, clean))}
    if grammar.choices:
        choices = grammar.choice_alternatives(lambda text: json.dumps(clean(text), ensure_ascii=False))
        return {"grammar": f"""root ::= {'" "? ' if grammar.takes_space else ""}({choices})"""}
    if grammar.ebnf:
        return {"grammar": clean(grammar.ebnf)}
    regex = grammar.regex if grammar.shape is None else clean(grammar.shape.regex())
    return {"regex": f" ?({regex})"}
