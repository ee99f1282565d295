"""Words that readers stumbled over do not come back into the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_YET = {"CHANGELOG.md"}  # a record of its time
PAGES = sorted(
    page
    for folder in (ROOT, ROOT / "docs", ROOT / "relserve" / "tiny", ROOT / "relserve" / "tiny_sql")
    for page in folder.glob("*.md")
    if page.name not in NOT_YET
)
INSTEAD = {  # a pattern of what no page says, and what it says instead
    r"on record\b": "recorded",
    r"caps? (?:is |are )?left loose": "max_tokens larger than the answers",
    r"(?:put|told) in DuckDB's words": "translated into DuckDB's SQL",
    r"DuckDB's words": "DuckDB's error, or DuckDB's SQL",
    r"put in other words": "rewritten",
    r"nearest name counts": "which name is taken first",
    r"settings of then": "the settings of that moment",
    r"rehears\w+": "a dry run",
    r"(?:front |back )?doors?": "entry, gate or API",
    r"desks?": "the thing's own name: gate, owner, service",
    r"part(?:y|ies)": "user, client or group",
    r"nobody's": "without an owner",
    r"by as much as": "a formula",
    r"of somebody's": "that somebody runs",
    r"who(?:ever)? has gone": "who has left",
    r"that there (?:is|are) not": "that does not exist",
    r"of then": "of that time",
    r"as ever": "as without it",
    r"has words for": "names",
    r"hold(?:s)? nobody to": "limits nobody",
    r"not to be had": "not available",
    r"for want of": "because .. is missing",
    r"(?:is|are|was|were) told of": "is reported",
    r"half as (?:long|many) again": "1.5 times as long",
    r"what there is not": "what does not exist",
    r"hung up on": "disconnected",
}
_CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_says_them(page: Path) -> None:
    text = " ".join(_CODE.sub(" ", page.read_text(encoding="utf-8")).split())
    found = {
        match[0]: f"say: {instead}"
        for pattern, instead in INSTEAD.items()
        for match in re.finditer(rf"\b{pattern}\b", text, re.IGNORECASE)
    }
    assert found == {}


def test_a_word_in_code_or_in_an_address_is_none_of_them() -> None:
    text = "`llm('the door')` and [a](seeing.md#on-record)\n```\nrehearse\n```\n"
    assert not any(re.search(pattern, _CODE.sub(" ", text)) for pattern in INSTEAD)
