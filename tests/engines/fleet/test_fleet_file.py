"""Fleet files: what they say, and what is said of mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from relserve.engines.fleet.file import MemberSpec, read_fleet
from relserve.engines.registry import own_engine, path_of
from relserve.errors import ModelError, UsageError
from relserve.settings import load

MEMBER = "[[members]]\nname = 'a'\nurl = 'http://127.0.0.1:1/v1'\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "fleet.toml"
    path.write_text(text)
    return path


def test_what_it_says(tmp_path: Path) -> None:
    found = read_fleet(
        written(
            tmp_path,
            "model = 'tiny'\ndispatch = 'prism'\naddress = 'auto'\n"
            "[[members]]\nname = 'gpu'\nreplicas = 2\nmachine = 'node-7'\ngpus = 0.5\nrole = 'decode'\n"
            "engine_args = { max_num_seqs = 64 }\n[[members]]\nname = 'other'\nweight = 2\n",
        )
    )
    assert (found.model, found.dispatch, found.address) == ("tiny", "prism", "auto")
    replica = dict(machine="node-7", gpus=0.5, role="decode", engine_args={"max_num_seqs": 64})
    assert found.members == (
        MemberSpec("gpu-1", **replica), MemberSpec("gpu-2", **replica), MemberSpec("other", weight=2.0),
    )  # fmt: skip
    found = read_fleet(written(tmp_path, MEMBER + "weight = 2\napi_key = 'k'\n"))
    assert found.members == (MemberSpec("a", url="http://127.0.0.1:1/v1", api_key="k", weight=2.0),)


def test_the_earlier_name_of_the_default_policy_is_read(tmp_path: Path) -> None:
    assert read_fleet(written(tmp_path, "dispatch = 'ours'\n" + MEMBER)).dispatch == "predicted"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = ", "is no TOML file: Invalid value"),
        ("model = 'tiny'", "names no member; add one, as in"),
        ("modell = 'tiny'\n" + MEMBER, r"no key 'modell' \(did you mean 'model'\?\); there are: model, disp"),
        ("dispatch = 'prsm'\n" + MEMBER, r"no dispatch policy 'prsm' \(did you mean 'prism'\?\); there are:"),
        ("model = 3\n" + MEMBER, "model is 3, and must be a text"),
        ("members = [3]", "member 1 is 3, no table; write"),
        (MEMBER + MEMBER, "given more than once: a; each member"),
        ("[[members]]\nurl = 'http://h/v1'", "member 1 has no name; add name = '..'"),
        ("[[members]]\nname = 'a b'", "member 1 has the name 'a b'; add name"),
        (MEMBER + "replcas = 2", r"member 1 \(a\): no key 'replcas' \(did you mean 'replicas'\?\)"),
        (MEMBER + "gpus = 1", r"member 1 \(a\): gpus is for members that the fleet starts, and this one has"),
        (MEMBER + "weight = 0", r"member 1 \(a\): weight is 0, and must be a number from 1e-06"),
        (MEMBER + "weight = true", "weight is True, and must be a number"),
        (MEMBER + "weight = inf", "weight is inf, and must be a number up to 1.79"),
        (MEMBER + "weight = nan", "weight is nan, and must be a number from 1e-06"),
        (MEMBER + "engine_args = 3", "engine_args is 3, and must be a table"),
        ("[[members]]\nname = 'a'\nreplicas = 2.5", "replicas is 2.5, and must be a whole number"),
        ("[[members]]\nname = 3", "member 1 has the name 3; add name"),
        ("members = 3", "members is 3, and must be tables"),
        (MEMBER + "role = 'prefil'", r"no role 'prefil' \(did you mean 'prefill'\?\)"),
        (
            "model = 'm'\n[[members]]\nname = 'a'\nreplicas = 0",
            "replicas is 0, and must be a whole number fr",
        ),
        ("[[members]]\nname = 'a'\nurl = 'htp://me:secret@host'", "'htp://host' is not the URL of a server"),
        ("[[members]]\nname = 'a'\nurl = 'host:8000'", "'host:8000' is not the URL of a server; write it as"),
        (MEMBER + "[[members]]\nname = 'b'", "members with a url and members that the fleet starts"),
        ("[[members]]\nname = 'a'", "says no model; add a line such as model = 'tiny'"),
    ],
)
def test_a_mistake_says_what_where_and_how_to_mend_it(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read_fleet(written(tmp_path, text))
    assert str(tmp_path) in str(caught.value)


def test_the_models_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, MEMBER)
    monkeypatch.chdir(tmp_path)
    assert path_of("fleet:fleet.toml") == f"fleet:{path}"
    (tmp_path / "below").mkdir()
    (tmp_path / "link.toml").symlink_to(path)
    for spelt in ("./fleet.toml", "below/../fleet.toml", str(path), "link.toml"):
        assert path_of(f"fleet:{spelt}") == f"fleet:{path}"  # else each had engines of its own
    with pytest.raises(ModelError, match=r"no fleet file .*none.toml: No such file"):
        own_engine("fleet:none.toml", path_of("fleet:none.toml"), load(), print)
    written(tmp_path, "model = 'tiney'\n[[members]]\nname = 'a'")
    with pytest.raises(ModelError, match="no model 'tiney'"):
        own_engine("fleet:fleet.toml", path_of("fleet:fleet.toml"), load(), print)
