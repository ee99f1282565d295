"""For every test: no answer from the user's own cache, one local engine for all, and limits of time."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from relserve.engines.local.engine import LocalEngine
from relserve.machine.capacity import free_bytes, num_cores
from relserve.tiny import MODEL_DIR
from tests.catalog_image import one_catalog
from tests.compiled import compile_files, share_of
from tests.ending import check_all_ended, close_or_say_where
from tests.left_open import closed_at_the_end
from tests.modules import IMPORTED_BY_COLLECTING, uses_vllm
from tests.prepared import SpawnedEngine, forked_engines, frozen_once
from tests.waiting import PATIENCE_S, wait_until
from tests.workers import ALONE_GIB, num_workers, skip_below

if TYPE_CHECKING:
    from relserve.engines.fleet.engine import FleetEngine

os.environ["RELSERVE_ANSWER_CACHE_MB"] = "0"  # tests of the cache set their own
os.environ["RELSERVE_KEEP_LEARNT"] = "0"  # likewise
os.environ["RELSERVE_ENGINE"] = "own"  # those of shared engines start and end their own
# As relserve sets them for its own engine. Read when torch is first imported, so they come before every test:
# with two threads and vLLM's binding, tests that run a model in this process take twenty times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
TESTS = Path(__file__).parent
# Fixtures that start an engine or a server besides the session's.
OWN_ENGINES = {
    "own_engine", "vllm_server", "llamacpp_server", "zoo_engine", "fleet_of_two",
}  # fmt: skip
# Fixtures of which the session has one, and the group whose tests share it.
ONE_A_SESSION = {
    "shared_engine": "engine", "vllm_server": "engine", "llamacpp_server": "engine", "zoo_engine": "zoo",
    "fleet_of_two": "fleet",
}  # fmt: skip
# About what a test with such a mark takes, for the order in which they are begun.
SECONDS = {"engine_of_its_own": 15.0, "package": 15.0, "performance": 3.0, "long": 1.0, "vllm": 0.5}
# The same cases in every run; `--hypothesis-profile anew` draws others.
settings.register_profile(
    "same", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
)
settings.register_profile("anew", parent=settings.get_profile("same"), derandomize=False, print_blob=True)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--strict-timing`: performance checks with the limits of a quiet machine."""
    parser.addoption(
        "--strict-timing", action="store_true",
        help="hold tests marked `performance` to their limits of a quiet machine; else to a minute each",
    )  # fmt: skip


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """For `-n auto`; None: as the variable PYTEST_XDIST_AUTO_NUM_WORKERS says."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return num_workers(num_cores(), free_bytes())


def pytest_configure() -> None:
    """Nothing that collecting makes is garbage."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Workers that collect all tests share out what is to be compiled before."""
    worker = getattr(session.config, "workerinput", None)
    if worker is not None and [Path(each).resolve() for each in session.config.args] == [TESTS]:
        number = int(worker["workerid"].removeprefix("gw"))
        compile_files(share_of(number, worker["workercount"]), session.config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """The collector need not look again and again at modules and tests, a million objects."""
    session.config.stash[IMPORTED_BY_COLLECTING] = frozenset(sys.modules)
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # else DuckDB's binding reports what it takes for leaks


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """What the session has one of ends with the group that shares it: its memory is for the next group."""
    result = yield
    if hasattr(item.config, "workerinput") and nextitem is not None and _group(item) != _group(nextitem):
        for name in ONE_A_SESSION:
            for fixture in item.session._fixturemanager._arg2fixturedefs.get(name, ()):
                fixture.finish(item._request)  # type: ignore[attr-defined]
    return result


@pytest.fixture(scope="session", autouse=True)
def _all_ended() -> Iterator[None]:
    yield
    check_all_ended()


@pytest.fixture(scope="session", autouse=True)
def _engines_start_quickly() -> Iterator[None]:
    with forked_engines(), frozen_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _catalog_of_servers(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[None]:
    folder = tmp_path_factory.getbasetemp()
    with one_catalog(folder.parent if hasattr(request.config, "workerinput") else folder):
        yield


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    with closed_at_the_end():
        yield


# before -m chooses among the marks, and pytest-xdist reads the groups; after all that, the order
@pytest.hookimpl(tryfirst=True, wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Marks and, where workers share the tests, the order of their groups."""
    _mark(items)
    result = yield
    if hasattr(config, "workerinput"):
        _longest_first(items)
    return result


def _longest_first(items: list[pytest.Item]) -> None:
    """Groups that take long are begun first, so that no worker is left alone with one at the end."""
    seconds: Counter[str] = Counter()
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        seconds[_group(item)] += max((SECONDS[mark] for mark in marks & SECONDS.keys()), default=0.1)
    items.sort(key=lambda item: (-seconds[_group(item)], _group(item)))


def _group(item: pytest.Item) -> str:
    mark = item.get_closest_marker("xdist_group")
    assert mark is not None
    return str(mark.args[0])


def _mark(items: list[pytest.Item]) -> None:
    """Mark what runs in `make test-all` alone, and which tests one worker runs (`--dist loadgroup`).

    Those of the session's engine and servers are one group, and so are those of the quick tier that use
    vLLM, or torch and others that come with it: one worker alone imports them then. Else each file is one.
    """
    cells: dict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if fixtures & OWN_ENGINES:
            item.add_marker(pytest.mark.engine_of_its_own)
        marks = {mark.name for mark in item.iter_markers()}
        if "xdist_group" not in marks:
            item.add_marker(pytest.mark.xdist_group(_group_of(item, fixtures, marks)))
        if item.get_closest_marker("cells"):
            cells[item.path, item.name.partition("[")[0]].append(item)
    for (_, name), group in cells.items():
        number = group[0].get_closest_marker("cells").args[0]  # type: ignore[union-attr]
        every_run = Random(name).sample(range(len(group)), min(number, len(group)))
        for place in set(range(len(group))) - set(every_run):
            group[place].add_marker(pytest.mark.long)


def _group_of(item: pytest.Item, fixtures: set[str], marks: set[str]) -> str:
    for fixture in sorted(fixtures & set(ONE_A_SESSION)):
        return ONE_A_SESSION[fixture]
    if marks & {"long", "engine_of_its_own"}:
        return item.path.name
    may_use = "vllm" in marks or "vllm_plugin" in item.path.parts or uses_vllm(item.module)
    return "engine" if may_use else item.path.name


@pytest.fixture
def limit_s(request: pytest.FixtureRequest) -> Callable[..., float]:
    """limit_s(quiet, busy=60): the seconds that a test marked `performance` may take.

    The limit of a quiet machine under `--strict-timing`; else that of a busy one, which no load reaches.
    """
    assert request.node.get_closest_marker("performance"), "a test with limit_s is marked `performance`"
    is_strict = request.config.getoption("--strict-timing")
    return lambda quiet, busy=PATIENCE_S: quiet if is_strict else busy


@pytest.fixture(scope="session")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    """The embedded model on a local vLLM: one for the whole run, started by the first query.

    In float32, so that greedy answers do not depend on the company in which they are asked.
    """
    pytest.importorskip("vllm", reason="vLLM is not installed")
    skip_below(ALONE_GIB, "an engine")
    log = tmp_path_factory.mktemp("shared") / "engine.log"
    engine = SpawnedEngine("tiny", str(MODEL_DIR), engine_args={"dtype": "float32"}, log_path=log)
    yield engine
    close_or_say_where(engine)


@pytest.fixture(scope="session")
def fleet_of_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetEngine]:
    """A fleet of two vLLM engines: one for the whole run. A test that kills a member waits until it is up."""
    from tests.local_fleet import local_fleet

    with local_fleet(tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet


@pytest.fixture
def local_engine(shared_engine: LocalEngine) -> Iterator[LocalEngine]:
    """The shared engine, which a test leaves idle; a test that ends an engine starts its own."""
    yield shared_engine
    wait_until(lambda: shared_engine.num_unfinished == 0)
