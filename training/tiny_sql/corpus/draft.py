"""A question being written: what it mentions of the schema, its values, and words for columns and rows.

What belongs to the schema or is a value stands in the text as one private character until the question is
worded, so that rewording touches the frame's own words only.
"""

import random
import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from training.tiny_sql.corpus.lexicon.meanings import SYNONYMS
from training.tiny_sql.corpus.spoken import SpokenColumn, SpokenSchema, SpokenTable
from training.tiny_sql.corpus.words import article, plural

FIRST_MARKER = 0xE000
ARTICLE = re.compile(r"\b([Aa])n? (?=[\uE000-\uE0FF])")
MARKER = re.compile("[\ue000-\ue0ff]")


class ValueMark(NamedTuple):
    """The place of a value in an answer: the number of its mention."""

    mention: int


Token: TypeAlias = str | SpokenColumn | SpokenTable | ValueMark


class Mention(NamedTuple):
    """What a marker stands for; `value` is the value as data, where it is one."""

    text: str
    value: str | None = None


class Draft:
    """The state of one question."""

    def __init__(self, rng: random.Random, schema: SpokenSchema):
        self.rng = rng
        self.schema = schema
        self.mentions: list[Mention] = []

    def mention(self, text: str, value: str | None = None) -> str:
        """Keep a text as it is through all rewording."""
        self.mentions.append(Mention(text, value))
        return chr(FIRST_MARKER + len(self.mentions) - 1)

    def value(self, spoken: str, value: str) -> tuple[str, ValueMark]:
        """Mention a value; the mark stands for it in the answer."""
        return self.mention(spoken, value), ValueMark(len(self.mentions) - 1)

    def written(self, text: str) -> str:
        """The question with its mentions in place, `a` or `an` before each."""
        text = ARTICLE.sub(lambda match: self._article(text, match), text)
        return MARKER.sub(lambda match: self.mentions[ord(match[0]) - FIRST_MARKER].text, text)

    def _article(self, text: str, match: re.Match[str]) -> str:
        following = self.mentions[ord(text[match.end()]) - FIRST_MARKER].text
        chosen = article(following)
        return (chosen.capitalize() if match[1] == "A" else chosen) + " "

    def values_in(self, text: str) -> list[int]:
        """The mentions that are values, in the order of the text."""
        numbers = [ord(marker) - FIRST_MARKER for marker in MARKER.findall(text)]
        return [number for number in numbers if self.mentions[number].value is not None]

    def column(self, column: SpokenColumn, many: bool = False) -> str:
        """Mention a column by its name or a synonym."""
        words = self.column_words(column)
        if many and not words.startswith(("number of", "date of", "year of")):
            *rest, last = words.split()
            words = " ".join((*rest, plural(last)))
        return self.mention(words)

    def column_words(self, column: SpokenColumn) -> str:
        """The words for a column in the singular."""
        rng, words = self.rng, list(column.words)
        synonyms = column.meaning(SYNONYMS)
        if synonyms and rng.random() < 0.2:
            chosen = rng.choice(synonyms)
            if self._is_free(chosen, column):
                return chosen
        chance = rng.random()
        if len(words) > 1 and words[-1] in ("at", "on") and chance < 0.5:
            return " ".join((*words[:-1], "date"))
        if words[0] == "is" and len(words) > 1:
            return " ".join(words[1:])
        noun = column.table.singular.split()
        if len(words) > len(noun) and words[: len(noun)] == noun and chance < 0.6:
            return " ".join(words[len(noun) :])
        if len(words) > 1 and chance > 0.93 and len(words[-1]) > 2 and self._is_free(words[-1], column):
            return words[-1]
        return column.name if chance < 0.02 else " ".join(words)

    def needs_no_table(self, *columns: SpokenColumn) -> bool:
        """Whether the columns' names alone tell of which table they are."""
        if len(self.schema.tables) == 1:
            return True
        return all(self._is_free(" ".join(column.words), column) for column in columns)

    def _is_free(self, phrase: str, column: SpokenColumn) -> bool:
        """Whether no other column could be called so."""
        words = set(phrase.split())
        for table in self.schema.tables:
            if words.intersection(table.singular.split()):
                return False
            for other in table.columns:
                if other is not column and (
                    words.intersection(other.words) or phrase in (other.meaning(SYNONYMS) or ())
                ):
                    return False
        return True

    def listed(self, columns: Sequence[SpokenColumn], many: bool = False) -> str:
        """Several columns in a row: `price, color and weight`."""
        *first, last = [self.column(column, many) for column in columns]
        if not first:
            return last
        joint = self.rng.choice((" and ",) * 6 + (", ", " and also ", " as well as ", ", and "))
        return ", ".join(first) + joint + last

    def rows(self, table: SpokenTable) -> str:
        """The table's noun in the plural."""
        return self.mention(table.singular if self.rng.random() < 0.04 else table.plural)

    def row(self, table: SpokenTable) -> str:
        """The table's noun."""
        return self.mention(table.singular)
