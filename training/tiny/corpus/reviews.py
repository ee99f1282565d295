"""The body of a review: aspects, mentions and a verdict that agree with a number of stars."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from training.tiny.corpus import lex_general as general
from training.tiny.corpus.text import Pool, Writer, fix_articles, sentence

VERDICTS = {
    1: Pool(general.VERDICT1), 2: Pool(general.VERDICT2), 3: Pool(general.VERDICT3),
    4: Pool(general.VERDICT4), 5: Pool(general.VERDICT5),
}  # fmt: skip
_CONTRAST = Pool("""
{a}, but {b}; {a}. However, {b}; although {a}, {b}; {a} yet {b}; while {a}, {b}; {a}, though {b}
{a}. On the other hand {b}; even though {a}, {b}; {a}; still, {b}; {a}, on the downside {b}; {a} - but {b}
it is true that {a}, but {b}; {a}, only {b}
""")
_LAST_WORD = Pool("""
{overall} {verdict}; {verdict}; {overall}, {verdict}; so {verdict}; {but} {overall} {verdict}
for me {verdict}
""")
# share of positive aspects by stars
_POSITIVE_SHARE = {1: 0.04, 2: 0.22, 3: 0.5, 4: 0.78, 5: 0.96}


@dataclass(frozen=True)
class Domain:
    """What a kind of review is written with."""

    good: Pool
    bad: Pool
    neutral: Pool
    facts: Mapping[str, Mapping[str, Pool]]
    verdicts: Mapping[int, Pool]
    fact_is_polar: bool  # True: "good" means the fact holds, "bad" that it does not; else both mention it


@dataclass(frozen=True)
class ReviewText:
    """A written review."""

    text: str
    facts: dict[str, bool]
    praised: tuple[str, ...]
    blamed: tuple[str, ...]


def _strength(stars: int, positive: bool, clause: str, writer: Writer) -> str:
    """Raise `adj4` to `adj5` and `adj2` to `adj1` for the outer stars."""
    if positive and stars == 5 and writer.chance(0.6):
        return clause.replace("{adj4}", "{adj5}")
    if not positive and stars == 1 and writer.chance(0.6):
        return clause.replace("{adj2}", "{adj1}")
    if stars in (2, 3, 4) and writer.chance(0.25):
        return clause.replace("{very}", "{slightly}")
    return clause


def _aspect(writer: Writer, domain: Domain, stars: int, positive: bool, seen: dict[bool, list[str]]) -> str:
    clause = writer.pick(domain.good if positive else domain.bad)
    clause = _strength(stars, positive, clause, writer)
    if "{aspect}" in clause:
        aspect = writer.pick(writer.lexicon["aspect"])
        clause = clause.replace("{aspect}", aspect, 1)
        seen[positive].append(aspect)
    return writer.fill(clause)


def _signs(writer: Writer, stars: int, count: int) -> list[bool]:
    signs = [writer.chance(_POSITIVE_SHARE[stars]) for _ in range(count)]
    if stars == 3 and count == 1:
        return []
    if stars == 3 and len(set(signs)) == 1:
        signs[0] = not signs[0]
    return signs


def _fact_sentences(writer: Writer, domain: Domain, stars: int, wanted: dict[str, bool]) -> list[str]:
    found = []
    for name, holds in wanted.items():
        sides = domain.facts[name]
        if domain.fact_is_polar or name in ("buy_again", "order_again"):
            found.append(writer.say(sides["good" if holds else "bad"]))
        elif holds:
            found.append(writer.say(sides["good" if writer.chance(_POSITIVE_SHARE[stars]) else "bad"]))
    return found


def _wanted_facts(rng: Random, domain: Domain, stars: int, probability: float) -> dict[str, bool]:
    wanted = {}
    for name in domain.facts:
        if name in ("buy_again", "order_again"):
            if stars != 3 and rng.random() < probability:
                wanted[name] = stars > 3
        elif domain.fact_is_polar:
            if rng.random() < probability:
                wanted[name] = rng.random() < 0.5
        else:
            wanted[name] = rng.random() < probability
    return wanted


def _clauses(
    writer: Writer, domain: Domain, stars: int, signs: list[bool], seen: dict[bool, list[str]]
) -> list[str]:
    clauses, at = [], 0
    while at < len(signs):
        one = _aspect(writer, domain, stars, signs[at], seen)
        if at + 1 < len(signs) and signs[at] != signs[at + 1] and writer.chance(0.6):
            two = _aspect(writer, domain, stars, signs[at + 1], seen)
            one = writer.pick(_CONTRAST).replace("{a}", one).replace("{b}", two)
            at += 1
        elif writer.chance(0.08):
            one = f"{writer.pick(writer.lexicon['go_on'])} {one}"
        clauses.append(one)
        at += 1
    return clauses


_WEAK = re.compile(r"light|faint|slight|average|fade|little|hint|dusty|had this")


def _plain_note(writer: Writer, domain: Domain, size: int) -> ReviewText:
    full = [entry for entry in domain.neutral.part(writer.held_out) if not _WEAK.search(entry)]
    said = [writer.say(full) for _ in range(size)]
    return ReviewText(fix_articles(" ".join(sentence(clause) for clause in said)), {}, (), ())


def write_body(writer: Writer, domain: Domain, stars: int, size: int) -> ReviewText:
    """Write a review of about `size` sentences whose overall verdict is `stars` (1 to 5)."""
    rng = writer.rng
    seen: dict[bool, list[str]] = {True: [], False: []}
    num_neutral = sum(rng.random() < 0.35 for _ in range(size))
    num_polar = max(0, size - num_neutral - (1 if size == 1 else 0))
    if domain.fact_is_polar and stars >= 4 and size > 1 and writer.chance(0.10):
        # a tasting note that only lists flavours comes from a drinker who was content
        return _plain_note(writer, domain, size)
    wanted = _wanted_facts(rng, domain, stars, 0.0 if size == 1 else 0.3)
    signs = _signs(writer, stars, num_polar)
    middle = _clauses(writer, domain, stars, signs, seen)
    middle += _fact_sentences(writer, domain, stars, wanted)
    middle += [writer.say(domain.neutral) for _ in range(num_neutral)]
    rng.shuffle(middle)
    needs_verdict = len(signs) < 2 or stars == 3 or len(set(signs)) > 1
    if needs_verdict or rng.random() < 0.5:
        verdict = writer.say(domain.verdicts[stars])
        if middle and rng.random() < 0.75:
            middle.append(writer.fill(writer.pick(_LAST_WORD).replace("{verdict}", verdict)))
        else:
            middle.insert(0, verdict)
    text = fix_articles(" ".join(sentence(clause) for clause in middle))
    return ReviewText(text, wanted, tuple(seen[True]), tuple(seen[False]))
