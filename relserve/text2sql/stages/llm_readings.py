"""Which question about the tables, and which llm call, a question with unlinked words comes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relserve.linking.adjectives import QUESTION_WORDS
from relserve.linking.pieces import Linked
from relserve.linking.plain_words import SHARES
from relserve.linking.schema import Column, ColumnKind, Schema, Table, quoted
from relserve.linking.unlinked import UnlinkedWord
from relserve.linking.words import identifier_words, plural, stem
from relserve.text2sql.cases.llm_reading import LlmReading, LlmUse

LEAST_WORDS = 4  # on average, of the values of a column of texts that say something
TOP_ROWS = 10  # of a ranking that gives no number
_TEXTS = frozenset("message text review body description comment note content remark feedback mail".split())
_OPEN = QUESTION_WORDS | {"why", "long"}  # no yes or no answers "why" and "how long"
_DEGREES = ("most", "least")
_BEING = frozenset("is are was were be".split())
_CLAUSE = frozenset("that which who".split())
_INSIDE = _BEING | frozenset("a an the for to of about not with on their our us me".split())
_MENTIONING = frozenset("mention mentions mentioning mentioned contain contains containing".split())
_HAVING = frozenset("have has had with".split())
_ARTICLES = frozenset("a an the any some".split())
_BEFORE_RANKINGS = frozenset("the show list give me".split())
_COMPARED = ("est", "er")  # the longest, the better: of one row no yes or no
_AFTER_SHARES = ("of", "in")


def llm_reading(schema: Schema, linked: Linked, unlinked: Sequence[UnlinkedWord]) -> LlmReading | None:
    """How a model could answer from a column of texts; None where there is none, or no yes or no will do."""
    found = text_column(schema, linked.named(schema))
    shares = [word for word in unlinked if word.text.casefold() in SHARES]
    meant = list(_joined(linked, [word for word in unlinked if word not in shares]))
    if found is None or not meant or any(_OPEN.intersection(word.text.casefold().split()) for word in meant):
        return None
    return _Reader(schema, linked, *found, meant[0], shares).reading() if len(meant) == 1 else None


def text_column(schema: Schema, tables: frozenset[int]) -> tuple[Table, Column] | None:
    """Of some tables the column whose texts say most; None where they hold names and codes alone."""
    found = [
        (_wordiness(column), -at, (table, column))
        for at, (table, column) in enumerate(schema.columns)
        if column.kind is ColumnKind.TEXT and (not tables or schema.table_of[at] in tables)
    ]
    best = max(found, default=None)
    return best[2] if best is not None and best[0] >= LEAST_WORDS else None


def _wordiness(column: Column) -> float:
    """Words of a value, on average; enough of them where the column's name says that it holds texts."""
    values = column.values
    average = sum(len(value.split()) for value in values) / len(values) if values else 0.0
    is_text = not _TEXTS.isdisjoint(map(stem, identifier_words(column.name)))
    return max(average, LEAST_WORDS if is_text else 0.0)


def _joined(linked: Linked, unlinked: Sequence[UnlinkedWord]) -> Iterator[UnlinkedWord]:
    """The words, those together that small ones alone stand between: "ask for a refund"."""
    at = 0
    while at < len(unlinked):
        first = last = unlinked[at]
        at += 1
        while at < len(unlinked) and all(
            piece.said.casefold() in _INSIDE for piece in linked.pieces[last.end : unlinked[at].at]
        ):
            last, at = unlinked[at], at + 1
        said = " ".join(piece.said for piece in linked.pieces[first.at : last.end])
        yield UnlinkedWord(first.at, last.end, said)


class _Reader:
    def __init__(
        self,
        schema: Schema,
        linked: Linked,
        table: Table,
        column: Column,
        meant: UnlinkedWord,
        shares: Sequence[UnlinkedWord],
    ) -> None:
        self._schema, self._linked, self._table, self._column = schema, linked, table, column
        self._position = schema.position(table.name)
        self._meant, self._shares = meant, shares
        self._left_out = set(range(self._first(meant), meant.end))

    def reading(self) -> LlmReading | None:
        """The whole of it; None where nothing is known that could be asked of a row."""
        ranking = None if self._shares else self._ranking(self._meant)
        if ranking is not None:
            limit, phrase = ranking
            return self._reading("llm_score", phrase, LlmUse.RANK, limit)
        phrase = self._phrase(self._meant)
        if not phrase:
            return None
        return self._reading("llm_filter", phrase, LlmUse.SHARE if self._shares else LlmUse.FILTER)

    def _reading(self, function: str, phrase: str, use: LlmUse, limit: int = TOP_ROWS) -> LlmReading:
        name = self._column.name
        template = f"{phrase} {{{name if name.isidentifier() else ''}}}".replace("'", "''")
        call = f"{function}('{template}', {quoted(name)})"
        return LlmReading(" ".join(self._question()), self._table.sql_name, call, use, limit)

    def _low(self, at: int) -> str:
        return self._linked.pieces[at].said.casefold() if 0 <= at < len(self._linked.pieces) else ""

    def _is_table(self, at: int) -> bool:
        """Whether a piece names the rows that are read, by their table or by the column of their texts."""
        pieces = self._linked.pieces
        if not 0 <= at < len(pieces):
            return False
        texts = self._schema.place(self._table.name, self._column.name)
        return self._position in pieces[at].tables or texts in pieces[at].exact

    def _first(self, word: UnlinkedWord) -> int:
        """Where the words begin that are left out with an unlinked one: "that are urgent"."""
        at = word.at
        at -= self._low(at - 1) == "in"
        at = min(at, self._mention(word))
        if self._low(at - 1) in ("a", "an"):
            at -= 1 + (self._low(at - 2) in _HAVING)
        while at and self._low(at - 1) in _BEING | _CLAUSE:
            at -= 1
        return at

    def _mention(self, word: UnlinkedWord) -> int:
        """Where "mention a refund" begins, in which the last word means nothing; else where the word does."""
        verb = word.at - 1 - (self._low(word.at - 1) in _ARTICLES)
        return verb if self._low(verb) in _MENTIONING else word.at

    def _ranking(self, word: UnlinkedWord) -> tuple[int, str] | None:
        """Rows and prompt of "ten most urgent messages" and "the angriest messages"."""
        degree, told = self._low(word.at - 1), word.text.casefold()
        has_degree = degree in _DEGREES
        first = word.at - has_degree
        value = self._linked.pieces[first - 1].value if first else None
        number = None if value is None else self._linked.values[value]
        opens = first == 0 or self._low(first - 1) in _BEFORE_RANKINGS or (number and number.is_count)
        if not (has_degree and opens and self._is_table(word.end)):
            return None
        self._left_out.update(range(first - (number is not None), word.end))
        phrase = f"How {'little ' if degree == 'least' else ''}{told} is it?"
        return (TOP_ROWS if number is None else int(number.text)), phrase

    def _phrase(self, word: UnlinkedWord) -> str:
        """What is asked of one row: "Is it a complaint?", "Is it urgent?", "Does it ask for a refund?"."""
        told = word.text.casefold()
        before, (*first, last) = self._low(word.at - 1), told.split()
        if _BEING.intersection(first):  # "customers are angry": of whom a row is, nobody knows
            return ""
        if "about" in (before, self._low(word.at - 2)):
            return f"Is it about {told}?"
        if (verb := self._mention(word)) < word.at:
            said = " ".join(map(self._low, range(verb + 1, word.at)))
            return f"Does it mention {said} {told}?".replace("  ", " ")
        if before == "in":
            return f"Is it in {word.text}?"
        if before in ("a", "an"):
            return f"Is it {before} {told}?"
        if self._is_table(word.at - 1) or (before in _CLAUSE and word.at > 1):
            return f"Does it {told}?"
        if stem(last) != last:
            noun = " ".join((*first, stem(last)))
            return f"Is it {'an' if noun[0] in 'aeiou' else 'a'} {noun}?"
        is_said_of_rows = before in _BEING or self._is_table(word.end)
        return f"Is it {told}?" if is_said_of_rows and not told.endswith(_COMPARED) else ""

    def _question(self) -> Iterator[str]:
        """The question's words without those left out; the table's name stands for the first of these."""
        pieces = self._linked.pieces
        is_named = any(map(self._is_table, range(len(pieces))))
        start = 0
        if self._shares:
            start = self._shares[0].end + (self._low(self._shares[0].end) in _AFTER_SHARES)
            yield "How many"
        if start == 0 and 0 in self._left_out and is_named:
            yield "Show"
        for at in range(start, len(pieces)):
            if at not in self._left_out:
                yield pieces[at].said
            elif not is_named:
                yield plural(stem(" ".join(identifier_words(self._table.name))))
                is_named = True
