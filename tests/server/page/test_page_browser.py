"""The page in a headless Chromium: what stands in it, at every width, and when the server goes away.

Without a browser the same facts are looked up over HTTP in test_page_http.py.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from relserve.server.page.app import app_of
from relserve.server.page.serving import serving
from relserve.server.page.watch import ServerWatch
from tests.server.page.browser import browser, missing
from tests.server.page.busy_scene import BusyScene
from tests.server.page.page_facts import WrittenFacts, served
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"no browser: {missing()}")

ATTACK = "<img src=x onerror=alert(1)>"


class Scene:
    """The busy server at one moment, ten minutes after its start, on a port of its own."""

    def __init__(self) -> None:
        self.facts, now = BusyScene(), [0.0]
        self.watch = ServerWatch(self.facts, lambda: now[0])
        for second in range(608):
            now[0] = float(second)
            self.facts.move(now[0])
            self.watch.look()
        self.address, self._ready, self._done = "", threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(60)

    async def _serve(self) -> None:
        async with serving(app_of(self.watch), "127.0.0.1", 0) as port:
            self.address = f"http://127.0.0.1:{port}/"
            self._ready.set()
            await asyncio.to_thread(self._done.wait)

    def close(self) -> None:
        self._done.set()
        self._thread.join(60)


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.close()


def text_of(driver: Any, selector: str) -> list[str]:
    return driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)", selector
    )


def wait_for_rows(driver: Any) -> None:
    wait_until(lambda: text_of(driver, "#relqueries tbody tr"))


@pytest.mark.parametrize(
    ("width", "height", "dark"), [(1600, 900, True), (1000, 900, False), (390, 844, True)]
)
def test_everything_is_there_at_every_width(scene: Scene, width: int, height: int, dark: bool) -> None:
    with browser(width, height, dark) as driver:
        driver.get(scene.address)
        wait_for_rows(driver)
        rows = [" ".join(row.split()) for row in text_of(driver, "#relqueries tbody tr")]
        places = [text for text in text_of(driver, "#relqueries .place") if text]
        assert places == [str(i) for i in range(1, len(places) + 1)]
        assert len(places) >= 4
        [done] = [each.num_rows_done for _, each in scene.facts.queries() if each.num_rows == 5000]
        assert any(f"{done:,} / 5,000" in row and "12 failed" in row and "etl" in row for row in rows)
        assert text_of(driver, "#live") == ["live"]
        assert "4" in text_of(driver, "#tokens")[0]
        assert len(text_of(driver, "#connected tbody tr")) == 8
        assert any("model's context has 8,192" in row for row in text_of(driver, "#errors tbody tr"))
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert driver.execute_script("return document.querySelectorAll('.chart polyline').length") >= 5
        back = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert back == ("rgb(13, 17, 23)" if dark else "rgb(243, 245, 248)")
        assert driver.get_log("browser") == []


def test_the_theme_can_be_chosen_and_is_remembered(scene: Scene) -> None:
    with browser(1000, 700, dark=True) as driver:
        driver.get(scene.address)
        wait_for_rows(driver)
        for expected in ("dark", "light"):
            driver.execute_script("document.getElementById('theme').click()")
            assert text_of(driver, "#theme") == [expected]
        driver.refresh()
        wait_for_rows(driver)
        back = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert back == "rgb(243, 245, 248)"


def test_a_strangers_text_is_text() -> None:
    facts = BusyScene()
    facts.move(5.0)
    facts.move(700.0)
    facts.clients_now = [each._replace(application=ATTACK, statement=ATTACK) for each in facts.clients_now]
    for _, record in facts.queries_now:
        record.template = ATTACK
    with served(facts) as address, browser(1000, 700) as driver:
        driver.get(address)
        wait_for_rows(driver)
        assert ATTACK in text_of(driver, "#connected tbody tr")[0]
        assert driver.execute_script("return document.images.length") == 1  # our own icon
        assert driver.get_log("browser") == []


def test_an_idle_server_says_so_and_a_silent_one_too() -> None:
    with browser(1000, 700) as driver:
        with served(WrittenFacts(), token="secret") as address:
            driver.get(address.replace("//", "//wall:secret@"))
            wait_until(lambda: text_of(driver, "#live") == ["live"])
            assert "Nothing has been asked yet" in text_of(driver, "#relqueries")[0]
            assert text_of(driver, "#kv-sub") == ["no engine"]
        wait_until(lambda: text_of(driver, "#live")[0].startswith("no answer for"))
        assert "stale" in driver.execute_script("return document.body.className")
