"""Texts in which readers of SQL differ, made from a seed."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from benchmarks.lock.payloads import (
    AROUND_QUERIES,
    AROUND_STATEMENTS,
    DEFINITIONS,
    HARMLESS,
    QUERIES,
    STATEMENTS,
    WITHIN,
)

# What DuckDB's parser takes for a blank, or does not, though it looks like one.
_UNICODE = (
    "\u00a0", "\u2000", "\u2003", "\u2009", "\u200b", "\u202f", "\u205f", "\u2060", "\u3000", "\ufeff",
    "\u0085", "\u1680", "\u2028", "\u200c", "\u200d", "\u00ad", "\u180e",
)  # fmt: skip
_BLANKS = (
    "\n", "\t", "\r", "\r\n", "\v", "\f", "  ", "/**/", "/* x */", "/* ' */", "/* /* */ ' */", "/*\u00a0*/",
    "--\n", "-- '\n", "-- '\r", "--\u2028\n", " /* \" */ ", "/* $a$ */",
)  # fmt: skip
_STRINGS = ("e'{}'", "E'{}'", "$${}$$", "$a${}$a$", "$_1${}$_1$", "$é${}$é$", "N'{}'", "'{}'\n''")
_SOUP = (
    "'", "''", '"', "`", "$$", "$a$", "$é$", "$1", "--", "\n", "\r", "/*", "*/", ";", "\\", "e'", "E'\\'",
    "x'", "'a'", "`a`", " ", "\u00a0", "\u200b", "\u2060", "é", "SELECT ", "SELECT 1", "FROM t ", ", ", "(",
    ")", "1", "1e", " AS a", "{", "}", "{#", "#}", "[", "]", "WITH x AS (", "COPY t TO 'out.csv'",
    ") SELECT 1", "(SELECT content FROM read_text('secret.txt'))", "read_text('secret.txt')",
    "EXPLAIN ANALYZE ", "SET threads = 3", "CREATE VIEW x AS ", "current_query()", "UNION ALL ", "WHERE ",
    "= ", "||", "'a'||",
)  # fmt: skip


class MadeText(NamedTuple):
    """A text, and what kind of text it is."""

    kind: str
    text: str


def made(seed: int, number: int) -> MadeText:
    """The text of a number; the same for a seed and number in every run."""
    dice = Random(seed * 1_000_003 + number)
    kind, make = dice.choices(_KINDS, [weight for _, _, weight in _WEIGHTED])[0]
    return MadeText(kind, make(dice))


def _query(dice: Random) -> str:
    """A query of what is not the user's, inside of a statement."""
    before, behind = dice.choice(AROUND_QUERIES)
    return _around(dice, before, dice.choice(QUERIES), behind)


def _statement(dice: Random) -> str:
    """A statement that is not the user's, by itself or inside of another."""
    before, behind = dice.choice(AROUND_STATEMENTS)
    return _around(dice, before, dice.choice(WITHIN if "(" in before[-1:] else STATEMENTS + WITHIN), behind)


def _definition(dice: Random) -> str:
    """What would do something to all users."""
    before, behind = dice.choice([("", ""), ("", ";"), ("EXPLAIN ANALYZE ", ""), ("SELECT 1 ; ", "")])
    return _around(dice, before, dice.choice(DEFINITIONS), behind)


def _harmless(dice: Random) -> str:
    """What anybody may do, with what is not theirs in its strings and comments."""
    words = _written(dice, dice.choice(HARMLESS))
    secret = dice.choice([*WITHIN, *STATEMENTS, *DEFINITIONS]).replace("@", "")
    return words + dice.choice(["", "", f" -- {secret}", f" /* {secret} */", ";"])


def _soup(dice: Random) -> str:
    """Pieces of texts, one after the other."""
    return dice.choice(["", "SELECT "]) + "".join(dice.choices(_SOUP, k=dice.randint(2, 12)))


def _mutant(dice: Random) -> str:
    """Any of those with a few pieces more or characters fewer."""
    text = dice.choice((_query, _statement, _definition, _harmless))(dice)
    for _ in range(dice.randint(1, 3)):
        place = dice.randrange(len(text) + 1)
        piece = dice.choice(_SOUP[:20] + _UNICODE) if dice.random() < 0.7 else ""
        text = text[:place] + piece + text[place + (not piece) :]
    return text


_WEIGHTED = (
    ("query", _query, 25), ("statement", _statement, 25), ("definition", _definition, 12),
    ("harmless", _harmless, 13), ("mutant", _mutant, 20), ("soup", _soup, 5),
)  # fmt: skip
_KINDS = [(kind, make) for kind, make, _ in _WEIGHTED]


def _around(dice: Random, before: str, payload: str, behind: str) -> str:
    odd = dice.random() < 0.5
    blank = _blank(dice, 0.8 if odd else 0.0)
    return before.replace("{b}", blank) + _written(dice, payload) + behind


def _written(dice: Random, template: str) -> str:
    """A template with other blanks, quotes and capitals."""
    share = dice.choice([0.0, 0.0, 0.1, 0.3])  # of words and blanks that are odd
    parts: list[str] = []
    for word in _words(template):
        parts += _word(dice, word, share), _blank(dice, share)
    return "".join(parts[:-1])


def _words(template: str) -> list[str]:
    """The words of a template; a string is one of them."""
    words: list[str] = []
    for part in template.split(" "):
        if words and words[-1].startswith("'") and words[-1].count("'") % 2:
            words[-1] += f" {part}"
        else:
            words.append(part)
    return words


def _word(dice: Random, word: str, share: float) -> str:
    if word.startswith("@"):
        return _name(dice, word[1:], share)
    if dice.random() >= share:
        return word
    if word.startswith("'") and len(word) > 1:
        return dice.choice(_STRINGS).replace("{}", word[1:-1])
    return word.upper() if dice.random() < 0.5 else word.lower() if "'" not in word else word


def _name(dice: Random, name: str, share: float) -> str:
    if not name.replace("_", "a").isalnum():
        return f'"{name}"'
    if dice.random() >= share + 0.1:
        return name
    mark = dice.choice('"``"')
    return f"{mark}{dice.choice([name, name.upper(), name.capitalize()])}{mark}"


def _blank(dice: Random, share: float) -> str:
    if dice.random() >= share:
        return " "
    return dice.choice(_UNICODE[:10] if dice.random() < 0.6 else _UNICODE if dice.random() < 0.5 else _BLANKS)
