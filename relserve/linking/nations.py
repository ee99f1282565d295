"""Adjectives of nations, so that "French" finds the value France, and France the value French."""

from __future__ import annotations

_PAIRS = (
    "french:france german:germany italian:italy spanish:spain british:uk english:england american:usa "
    "dutch:netherlands "
    "belgian:belgium swiss:switzerland austrian:austria polish:poland danish:denmark swedish:sweden "
    "norwegian:norway "
    "finnish:finland irish:ireland scottish:scotland welsh:wales portuguese:portugal greek:greece "
    "turkish:turkey "
    "russian:russia ukrainian:ukraine czech:czechia hungarian:hungary romanian:romania bulgarian:bulgaria "
    "croatian:croatia serbian:serbia japanese:japan chinese:china korean:korea indian:india thai:thailand "
    "vietnamese:vietnam indonesian:indonesia australian:australia canadian:canada mexican:mexico "
    "brazilian:brazil "
    "argentinian:argentina argentine:argentina chilean:chile peruvian:peru colombian:colombia cuban:cuba "
    "egyptian:egypt moroccan:morocco kenyan:kenya nigerian:nigeria israeli:israel iranian:iran iraqi:iraq "
    "pakistani:pakistan filipino:philippines european:europe african:africa asian:asia icelandic:iceland"
)
_LONG = {
    "american": ("united states", "us", "united states of america", "america"),
    "british": ("united kingdom", "great britain", "britain", "england"),
    "korean": ("south korea",),
    "czech": ("czech republic",),
    "dutch": ("holland", "the netherlands"),
}


def _others() -> dict[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """By the words of one, the other names, the nation's own before those of its people."""
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for pair in _PAIRS.split():
        adjective, nation = pair.split(":")
        names = [(nation,), *(tuple(name.split()) for name in _LONG.get(adjective, ()))]
        found.setdefault((adjective,), []).extend(names)
        for name in names:
            found.setdefault(name, []).extend([*(other for other in names if other != name), (adjective,)])
    return {words: tuple(names) for words, names in found.items()}


NATIONS = _others()
