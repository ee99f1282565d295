"""How large the grammar of an answer is, told from the call alone, and the largest that an engine is given.

Over a vocabulary of 262,144 tokens xgrammar compiles one in these CPU seconds; up to here a mask takes 0.1 ms
a token on average, whatever the size:

    choices                           size  seconds     schema                     size  seconds
    1,001 numbers                    1,001     0.01     1 text                      160     0.03
    1,000 of 4 words                21,600     0.23     20 fields of mixed types  2,000     0.14
    100 of 300 letters              29,800     0.37     list of 50 texts         18,000     0.34
    5,000 of 2 words                44,700     0.47     200 texts                36,000     0.47
    10,000 words                    48,100     0.35     500 texts                90,000     1.2
    200 of 300 letters              59,400     1.1      1,000 texts             180,000     2.7
    400 of 300 letters             119,000     3.8

From 65,536 on some take 12 s, 400 MB and 18 ms a mask (20,000 words, size 91,900). vLLM gives a row up whose
regex is not ready within 5 s, so `MAX_SIZE` leaves room for a slower machine, and for a busy one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise, takewhile

from relserve.call.schema.leaves import EnumShape, TextShape
from relserve.call.schema.nested import ListShape, NullableShape, StructShape
from relserve.call.schema.shape import SchemaShape, literal
from relserve.errors import OptionError

MAX_SIZE = 40_000
MAX_CHARS = 200_000  # of a grammar in EBNF; 43,000 (a SELECT over 1,000 columns) take 0.25 s
TEXT_SIZE = 160  # of a text, where any token may come: compiled as long as so many bytes of a choice
VALUE_SIZE = 60  # of any other value
FIELD_SIZE = 10  # of a field besides its name and value
_TOO_LARGE = f"the most is {MAX_SIZE:,}: an engine with a large vocabulary would take too long to compile it"


def check_choices(name: str, choices: Iterable[str]) -> None:
    """See that an engine can be held to one of these texts.

    Raises:
        OptionError: they are too many or too long.
    """
    if (size := size_of_texts(choices)) > MAX_SIZE:
        raise OptionError(
            f"{name} have {size:,} bytes in all, common beginnings counted once; {_TOO_LARGE}\n"
            "Take fewer or shorter ones, or ask twice: for a group of them, then for one of that group"
        )


def check_schema(name: str, shape: SchemaShape) -> None:
    """See that an engine can be held to this shape.

    Raises:
        OptionError: it is too large.
    """
    if (size := size_of(shape)) > MAX_SIZE:
        raise OptionError(
            f"{name} makes a grammar of size {size:,}; {_TOO_LARGE}\n"
            "Split it into two calls, or let a long ENUM be VARCHAR. "
            f"A VARCHAR counts {TEXT_SIZE}, an ENUM the bytes of its texts, another value {VALUE_SIZE}, "
            "names of fields their bytes, and what is in a list twice"
        )


def size_of_texts(texts: Iterable[str]) -> int:
    """Bytes of the tree that holds these texts: what several begin with counts once."""
    ordered = sorted(text.encode(errors="surrogatepass") for text in texts)
    return sum(map(len, ordered)) - sum(_num_shared(*pair) for pair in pairwise(ordered))


def _num_shared(one: bytes, other: bytes) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def size_of(shape: SchemaShape) -> int:
    """The size of a shape's grammar: the bytes of choices that take about as long to compile."""
    match shape:
        case NullableShape(inner):
            return size_of(inner)
        case ListShape(item):  # its regex spells the item twice, as the first one and as a further one
            return 2 * size_of(item)
        case StructShape(fields):
            return sum(len(literal(name).encode()) + FIELD_SIZE + size_of(inner) for name, inner in fields)
        case EnumShape(values):
            return size_of_texts(values)
        case TextShape():
            return TEXT_SIZE
    return VALUE_SIZE


def num_listed(shape: SchemaShape) -> int:
    """How many texts its ENUMs list in all."""
    match shape:
        case NullableShape(inner) | ListShape(inner):
            return num_listed(inner)
        case StructShape(fields):
            return sum(num_listed(inner) for _, inner in fields)
        case EnumShape(values):
            return len(values)
    return 0
