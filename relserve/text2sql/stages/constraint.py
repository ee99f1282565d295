"""Replies that can name only what exists: the grammar of a question's schema around the SQL in a reply."""

from __future__ import annotations

import re
from functools import lru_cache

from relserve.call.answer_types import Grammar
from relserve.linking.schema import Schema
from relserve.text2sql.cases.case import QuestionCase
from relserve.text2sql.cases.tools import Tools
from relserve.text2sql.grammar.select import select_grammar

_NOTES = r"""
notes ::= line{0,16}
line ::= [^`\n]* "\n"
"""


def constraint(case: QuestionCase, tools: Tools, method: str | None = None) -> Grammar | None:
    """What a reply with SQL must match; None where the model is not held to names that exist.

    Args:
        method: of a candidate, which may be "none", and may have lines before the SQL but for the direct
            method; None: of a revision, which is SQL alone.
    """
    return _grammar(case.schema, method) if tools.constrains else None


@lru_cache(maxsize=64)
def _grammar(schema: Schema, method: str | None) -> Grammar:
    fenced = r'"```sql\n" statement "\n```"'
    if method is None:
        root = f"root ::= {fenced}\n"
    elif method == "direct":
        root = f'root ::= "none" | {fenced}\n'
    else:
        root = f'root ::= "none" | notes {fenced}{_NOTES}'
    return Grammar(ebnf=root + re.sub(r"^root ::=", "statement ::=", select_grammar(schema), flags=re.M))
