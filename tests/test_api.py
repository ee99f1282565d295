"""The front door: names, settings, models."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

import relserve
from relserve import api, settings
from relserve.engines import registry
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import ModelError, UsageError


def test_all_is_sorted_and_holds_what_is_public() -> None:
    assert list(relserve.__all__) == sorted(relserve.__all__)
    assert all(getattr(relserve, name) is not None for name in relserve.__all__)
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        relserve.conect  # noqa: B018


def test_importing_relserve_is_light() -> None:
    heavy = ("duckdb", "vllm", "torch", "sqlglot", "pandas", "polars", "pyarrow", "numpy")
    code = f"import sys, relserve; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_connect_gives_a_connection_that_knows_llm() -> None:
    with relserve.connect(engine=ScriptedEngine(echo), progress=False) as con:
        assert con.execute("SELECT llm('hi {}', 'you')").fetchall() == [("hi you",)]


def test_an_engine_and_a_model_are_refused_together(tmp_path: Path) -> None:
    both: dict[str, Any] = {"engine": ScriptedEngine(echo), "model": "scripted"}
    with pytest.raises(UsageError, match="engine= or model=, not both"):
        relserve.connect(tmp_path / "new.db", **both)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="engine= or model=, not both"):
        relserve.attach(duckdb.connect(), **both)


def test_llm_agg_says_where_it_lives() -> None:
    with pytest.raises(AttributeError, match=r"llm_agg is an SQL aggregate: relserve\.connect"):
        relserve.llm_agg  # noqa: B018
    assert not hasattr(relserve, "llm_agg")


def test_attach_puts_the_functions_on_an_open_connection() -> None:
    raw = duckdb.connect()
    raw.execute("CREATE TABLE t AS SELECT 'a' AS x")
    con = relserve.attach(raw, engine=ScriptedEngine(echo), progress=False)
    assert con.execute("SELECT llm('{x}!', x) FROM t").fetchall() == [("a!",)]


def test_a_wrong_model_fails_at_connect_and_says_what_there_is() -> None:
    with pytest.raises(ModelError, match=r"no model './nowhere': not a folder.*tiny .*URL"):
        relserve.connect(model="./nowhere")


@pytest.mark.parametrize("name", ["gpt-4o", "openai/gpt-4o"])
def test_a_hosts_name_for_its_model_fails_at_once_with_the_url_that_was_meant(name: str) -> None:
    with pytest.raises(ModelError, match=r"Did you mean 'https://api.openai.com/v1#gpt-4o'.*Start here"):
        relserve.connect(model=name)
    con = relserve.connect(model="scripted", progress=False)
    with pytest.raises(ModelError, match=r"Did you mean 'https://api.openai.com/v1#gpt-4o'"):
        con.execute(f"SELECT llm('x {{}}', 1, model := '{name}')").fetchall()


def test_a_wrong_model_in_a_call_fails_that_query_only() -> None:
    con = relserve.connect(model="scripted", progress=False)
    with pytest.raises(ModelError, match="no model '/no/such/model'"):
        con.execute("SELECT llm('x {}', 1, model := '/no/such/model')").fetchall()
    assert con.execute("SELECT llm('x {}', 1)").fetchall()[0][0]


def test_a_folder_without_a_model_is_refused(tmp_path: object) -> None:
    with pytest.raises(ModelError, match=r"holds no model: it has no config.json"):
        relserve.connect(model=str(tmp_path))


def test_engines_are_shared_by_name() -> None:
    assert api.find_engine("scripted") is api.find_engine("scripted")


def test_engines_can_be_ended_by_name_and_come_anew() -> None:
    first = api.find_engine("scripted")
    url = "http://127.0.0.1:9/v1"
    api.find_engine(url)
    assert relserve.close_engines("nothing of that name") == []
    assert relserve.close_engines(url) == [url]
    assert relserve.close_engines(url) == []
    assert api.find_engine("scripted") is first
    assert "scripted" in relserve.close_engines()
    assert api.find_engine("scripted") is not first


def test_an_ended_engine_is_closed_and_connections_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Closing(ScriptedEngine):
        async def close(self) -> None:
            closed.append(self.model)

    monkeypatch.setattr(api.ENGINES, "_engines", {"one": Closing(model="one"), "two": Closing(model="two")})
    con = relserve.connect(model="scripted", progress=False)
    assert con.execute("SELECT llm('x {}', 1)").fetchone() is not None
    assert relserve.close_engines("one") == closed == ["one"]
    assert sorted(relserve.close_engines()) == ["scripted", "two"]
    assert closed == ["one", "two"]
    assert con.execute("SELECT llm('x {}', 1)").fetchone() is not None


def test_settings_come_from_the_environment() -> None:
    environ = {"RELSERVE_MODEL": "org/name", "RELSERVE_PROGRESS": "off", "OPENAI_API_KEY": "k"}
    environ |= {"RELSERVE_ENGINE_ARGS": '{"max_num_seqs": 8}', "RELSERVE_DATA": "/x"}
    loaded = settings.load(environ)
    assert (loaded.model, loaded.progress, loaded.api_key) == ("org/name", False, "k")
    assert loaded.engine_args == {"max_num_seqs": 8}
    assert settings.load({}).model == "tiny"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RELSERVE_MODLE", "x", r"RELSERVE_MODLE is no setting of relserve. Did you mean RELSERVE_MODEL\?"),
        ("RELSERVE_TIMEOUT_S", "soon", "RELSERVE_TIMEOUT_S='soon' cannot be read: longest wait"),
        ("RELSERVE_PROGRESS", "maybe", "cannot be read"),
        ("RELSERVE_ENGINE_ARGS", "[1]", "cannot be read: JSON object"),
        ("RELSERVE_ANSWER_CACHE_MB", "-1", "cannot be read: largest size of the answer cache"),
        ("RELSERVE_ANSWER_CACHE_MB", "1.5", "in whole megabytes"),
        ("RELSERVE_MAX_IN_FLIGHT", "0", "RELSERVE_MAX_IN_FLIGHT='0' cannot be read: the most HTTP requests"),
        ("RELSERVE_MAX_IN_FLIGHT", "-5", "at least 1"),
        ("RELSERVE_MAX_RETRIES", "-1", "at least 0"),
        ("RELSERVE_TIMEOUT_S", "0", "above 0"),
        ("RELSERVE_TIMEOUT_S", "nan", "above 0"),
        ("RELSERVE_TIMEOUT_S", "inf", "above 0"),
        ("RELSERVE_ADMISSION", "static-0", "'off', all"),
        ("RELSERVE_ADMISSION", "our", "RELSERVE_ADMISSION='our' cannot be read: how many requests"),
        ("RELSERVE_SHARES", '{"ann": 0}', "cannot be read: JSON object of users' weights"),
        ("RELSERVE_SHARES", '{"ann": "2"}', "users' weights"),
    ],
)
def test_wrong_settings_say_so(name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings.load({name: value})


def test_a_cache_folder_may_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", "~/x")
    assert str(settings.load().cache_dir) == str(settings.cache_dir()) == "/home/somebody/x"


def test_a_cache_folder_that_cannot_be_written_is_said_and_does_no_harm(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = f"{tmp_path}/file"
    with open(blocked, "w") as file:
        file.write("in the way")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", blocked)
    assert registry._log_path("tiny", settings.load()) is None
    assert "the cache folder" in capsys.readouterr().err
