"""Grammars in EBNF: read into trees, made into texts under them.

xgrammar reads them where vLLM runs; it comes with vLLM and torch, which dry runs and clients of servers do
without.
"""

from relserve.call.ebnf.lengths import left_recursive
from relserve.call.ebnf.reader import EbnfError, read_ebnf
from relserve.call.ebnf.samples import sample

__all__ = ["EbnfError", "left_recursive", "read_ebnf", "sample"]
