"""Twenty attacks of benchmarks.text2sql_attacks through `query`, and `ask` with a model that obeys."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp import Client

from benchmarks.attacks.changes import WRITES
from benchmarks.attacks.hogs import HOGS
from benchmarks.attacks.house import ALLOWED, MARKER, AttackedDatabase, _sums
from benchmarks.attacks.outside import READS
from relserve.engines.scripted import ScriptedEngine
from relserve.server.mcp.limits import ToolLimits
from relserve.server.rights.policy import Granted, Thing
from tests.server.mcp.agents import answer, served, stdio
from tests.server.openai.conftest import Book, book  # noqa: F401 (a fixture)

SECONDS = 1.0
SECRETS = (MARKER, "root:x:0")
OF_OTHERS = [text for text in READS if "hidden" in text.lower() and "other." not in text]  # by rights alone
OUTSIDE = [text for text in READS if "hidden" not in text.lower() and "]" not in text]
CHANGES = [text for text in WRITES if not set(text) & set("]\n")]  # as an order that the model sees whole
FOUR = [OUTSIDE[0], OUTSIDE[-1], CHANGES[0], next(iter(HOGS.values()))]  # one transport is as safe as another
TWENTY = [*OUTSIDE[:: len(OUTSIDE) // 9][:9], *CHANGES[:: len(CHANGES) // 8][:8], *list(HOGS.values())[:3]]


class House:
    """A database to attack, with files around it and a port that nobody should call."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "shop.duckdb"
        with AttackedDatabase(folder):
            pass  # made
        self._trap = socket.create_server(("127.0.0.1", 0))
        self._trap.settimeout(0)
        self.port = self._trap.getsockname()[1]
        self.looks()

    def looks(self) -> None:
        """The files are right as they are now."""
        self._before = _sums(self.folder)

    def filled(self, text: str) -> str:
        """An attack with this house's places in it."""
        places = {"@SECRET@": self.folder / "secret.csv", "@FOLDER@": self.folder, "@DATABASE@": self.path}
        for mark, place in places.items():
            text = text.replace(mark, str(place))
        return text.replace("@PORT@", str(self.port))

    def escapes(self) -> list[str]:
        """What changed, or was called."""
        called = []
        try:
            self._trap.accept()[0].close()
            called = ["it called an address"]
        except BlockingIOError:
            pass
        return called + (["files changed"] if _sums(self.folder) != self._before else [])


@contextmanager
def house_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    house = House(folder)
    monkeypatch.setenv("TEXT2SQL_SECRET", MARKER)
    yield house
    house._trap.close()


async def escaped(client: Client, house: House, attacks: list[str], may_run: list[str]) -> list[str]:
    """Make attacks in both ways; those that got what they should not."""
    found = []
    for text in map(house.filled, attacks):
        for tool, given in (
            ("query", {"sql": text}),
            ("ask", {"question": f"OBEY[{text}]", "effort": "quick"}),
        ):
            result = await client.call_tool(tool, given)
            seen = str(result.content)
            wrongs = ["it shows a secret" for secret in SECRETS if secret in seen.replace(text, "")]
            if not result.is_error and text not in may_run:
                wrongs.append(f"it ran: {seen[:200]}")
            found += [f"{tool}, {text[:100]}: {wrong}" for wrong in (*wrongs, *house.escapes())]
    still = await client.call_tool("query", {"sql": "SELECT count(*) FROM beers"})
    rows = (still.structured_content or {}).get("rows")
    return found if rows == [[3]] else [*found, f"the table has {still.content}"]


@pytest.mark.long
def test_none_escapes_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> list[str]:
        async with here.client() as client:
            return await escaped(client, house, TWENTY, list(HOGS.values()))

    assert len(set(TWENTY)) == 20
    with (
        house_of(tmp_path, monkeypatch) as house,
        served(
            ScriptedEngine(answer), ToolLimits(seconds=SECONDS), database=house.path, read_only=True
        ) as here,
    ):
        assert not (found := asyncio.run(scene())), "\n".join(found)


@pytest.mark.engine_of_its_own
def test_none_escapes_over_stdio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> list[str]:
        async with Client(stdio(house.path, SECONDS), mode="legacy") as client:
            return await escaped(client, house, FOUR, FOUR[-1:])

    with house_of(tmp_path, monkeypatch) as house:
        assert not (found := asyncio.run(scene())), "\n".join(found)


@pytest.mark.long
def test_a_user_reads_no_table_that_was_not_granted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    book: Book,  # noqa: F811
) -> None:
    """In a database that may be written, of which ann was granted three tables."""

    async def scene() -> list[str]:
        async with here.client(book.add("ann")) as client:
            attacks = [*OF_OTHERS[:: len(OF_OTHERS) // 12][:12], *CHANGES[:: len(CHANGES) // 8][:8]]
            return await escaped(client, house, attacks, [])

    (tmp_path / "house").mkdir()
    options = {"users": book.path, "only_granted": True}
    with (
        house_of(tmp_path / "house", monkeypatch) as house,
        served(ScriptedEngine(answer), ToolLimits(seconds=SECONDS), database=house.path, **options) as here,
    ):
        rights = here.server.rights
        assert rights is not None
        things = [Thing("table", "main", name) for name in ALLOWED]
        rights.change("shop", [Granted(each, {"ann"}, {"SELECT"}) for each in things])
        house.looks()
        assert not (found := asyncio.run(scene())), "\n".join(found)
