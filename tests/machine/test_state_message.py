"""A member's report as a datagram: what goes in comes out, and nothing else gets through."""

from __future__ import annotations

import json
import math
import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.errors import UsageError
from relserve.machine.state_message import MAC_BYTES, MAX_BYTES, Refused, Target, decode, encode, mac_of
from relserve.policies.dispatch.state import Report
from relserve.policies.model.linear import CostModel

TOKEN = "0123456789abcdef"
TARGET = Target("127.0.0.1:9", TOKEN, "a")
TOKENS = {"a": TOKEN, "b": "another secret of b"}
REPORT = Report(
    0.25, 1000.0, 3, 4, -50.0, 5e4, 600.0, 700.0, 2048.0, 17, 18, 19, 2,
    CostModel(1e-5, 2e-3, 3e-5, 4e-3, 5e-3),
)  # fmt: skip

amounts = st.floats(0, 1e15)
costs = st.builds(
    CostModel, st.floats(1e-9, 1), amounts, amounts, amounts, st.none() | amounts
)  # fmt: skip
counts, numbers = st.integers(0, 2**32 - 1), st.integers(0, 2**63 - 1)
reports = st.builds(
    Report, amounts, amounts, counts, counts, st.floats(-1e15, 1e15) | st.just(math.inf), amounts, amounts,
    amounts, amounts, numbers, numbers, st.integers(-1, 2**53 - 1), counts, st.none() | costs,
)  # fmt: skip


def reason(datagram: bytes) -> str:
    with pytest.raises(Refused) as refused:
        decode(datagram, TOKENS)
    return str(refused.value)


@given(reports, st.text(min_size=1, max_size=63), st.floats(0, 1e12))
def test_what_is_sent_arrives(report: Report, name: str, sent_s: float) -> None:
    target = Target("[::1]:70", TOKEN, name)
    datagram = encode(report, target, sent_s)
    assert len(datagram) <= MAX_BYTES
    known = name.encode(errors="replace").decode()
    assert decode(datagram, {known: TOKEN, "x" + known: "something else"}) == (known, report, sent_s)


@given(st.data())
def test_no_bit_can_be_changed(data: st.DataObject) -> None:
    datagram = bytearray(encode(REPORT, TARGET, 1.0))
    bit = data.draw(st.integers(0, 8 * len(datagram) - 1))
    datagram[bit // 8] ^= 1 << bit % 8
    assert reason(bytes(datagram)) in ("forged", "format", "stranger")


@given(st.binary(max_size=2 * MAX_BYTES) | st.binary(max_size=MAX_BYTES).map(lambda tail: b"rs1\n" + tail))
def test_garbage_is_refused(datagram: bytes) -> None:
    assert reason(datagram) in ("size", "format", "stranger", "forged")


@given(st.integers(0, MAX_BYTES))
def test_a_datagram_that_was_cut_is_refused(length: int) -> None:
    datagram = encode(REPORT, TARGET, 1.0)
    if length < len(datagram):
        assert reason(datagram[:length]) in ("size", "forged", "stranger", "format")


def test_a_member_speaks_for_itself_alone() -> None:
    said = encode(REPORT, Target(TARGET.address, TOKEN, "b"), 1.0)
    assert reason(said) == "forged"
    assert reason(encode(REPORT, Target(TARGET.address, TOKEN, "c"), 1.0)) == "stranger"


def test_a_token_never_travels() -> None:
    assert TOKEN.encode() not in encode(REPORT, TARGET, 1.0)
    assert TOKEN not in repr(TARGET)


@pytest.mark.parametrize(
    "changes",
    [
        dict(step_s=math.nan), dict(prompt_tokens=-1.0), dict(output_tokens=math.inf),
        dict(free_tokens=math.nan), dict(seen=2**60), dict(seen=-2), dict(cost=CostModel(0.0, 1, 1, 1)),
        dict(cost=CostModel(1.0, 1, -1.0, 1)), dict(cost=CostModel(1.0, 1, 1, 1, math.inf)),
        dict(sequence=2**63),
    ],
)  # fmt: skip
def test_nonsense_of_a_member_is_refused(changes: dict[str, object]) -> None:
    assert reason(encode(REPORT._replace(**changes), TARGET, 1.0)) == "nonsense"


def test_a_name_that_is_no_text_is_refused() -> None:
    said = encode(REPORT, TARGET, 1.0)[: -MAC_BYTES - 1] + b"\xff"
    assert reason(said + mac_of(said, TOKEN)) == "format"


def test_where_a_member_reports_to_travels_in_a_variable() -> None:
    assert Target.read({}) is None
    assert Target.read({"RELSERVE_ENGINE_STATE": TARGET.text}) == TARGET
    assert Target("[::1]:80", TOKEN, "a").host_and_port == ("::1", 80)


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", "7", '{"address": "h:1"}', json.dumps(dict(address="h:1", token=TOKEN, name="a", more=1)),
        json.dumps(dict(address="h", token=TOKEN, name="a")),
        json.dumps(dict(address="h:99999", token=TOKEN, name="a")),
        json.dumps(dict(address="h:1", token=TOKEN, name="")),
        json.dumps(dict(address="h:1", token=TOKEN, name="n" * 300)),
        json.dumps(dict(address="h:1", token=TOKEN[1:], name="a")),
        json.dumps(dict(address=3, token=TOKEN, name="a")),
    ],
)  # fmt: skip
def test_a_variable_that_makes_no_sense_is_an_error_without_the_token(text: str) -> None:
    with pytest.raises(UsageError) as error:
        Target.read({"RELSERVE_ENGINE_STATE": text})
    assert TOKEN[1:] not in str(error.value)


def test_numbers_of_another_format_are_not_read() -> None:
    said = b"rs2\n" + encode(REPORT, TARGET, 1.0)[4:-MAC_BYTES]
    assert reason(said + mac_of(said, TOKEN)) == "format"
    assert struct.calcsize("!4sQQqIII8d") < MAX_BYTES


@pytest.mark.performance
def test_it_takes_microseconds(limit_s) -> None:  # type: ignore[no-untyped-def]
    began_s = time.perf_counter()
    for _ in range(1000):
        decode(encode(REPORT, TARGET, 1.0), TOKENS)
    assert (time.perf_counter() - began_s) / 1000 < limit_s(1e-4)  # 0.01 ms were measured
