"""What a member of a fleet says of itself, as a datagram that its owner can trust.

Numbers in fixed places, the member's name, then an HMAC-SHA256 of all that by the member's own secret, which
never travels. Whoever has seen datagrams can repeat them: the numbers of process and report tell the owner
which are old. What is said is no secret, and is not encrypted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

from relserve.errors import UsageError
from relserve.policies.dispatch.state import Report
from relserve.policies.model.linear import CostModel

VARIABLE = "RELSERVE_ENGINE_STATE"  # of an engine's process: where it reports to, as `Target.text` has it
MAGIC = b"rs1\n"  # of this format; other formats have others
MAC_BYTES = hashlib.sha256().digest_size
MAX_NAME, MIN_TOKEN = 255, 16  # bytes of a name, characters of a token
MOST = 2**53  # whole numbers above are nobody's

# Process, report, latest dispatch; running, waiting, this router's; the seven others; the wall clock.
_HEAD = struct.Struct("!4sQQqIII8d")
_COST = struct.Struct("!5d")  # the last is NaN where mixed steps have no base of their own
_NAME_AT = _HEAD.size + 1 + _COST.size  # behind a byte that says whether a cost model is there
MAX_BYTES = _NAME_AT + MAX_NAME + MAC_BYTES


def told_where(text: str) -> dict[str, str]:
    """The variable for an engine's process, of what `Target.text` gave; none where that is ""."""
    return {VARIABLE: text} if text else {}


class Refused(Exception):
    """A datagram that says nothing; its text is the reason in a word."""


@dataclass(frozen=True)
class Target:
    """Where a member reports to.

    Attributes:
        address: "host:port", an IPv6 host in brackets.
        token: the member's secret, which its owner knows too.
        name: the member's.
    """

    address: str
    token: str = field(repr=False)
    name: str

    def __post_init__(self) -> None:
        if not all(isinstance(value, str) for value in (self.address, self.token, self.name)):
            raise UsageError("the address, token and name of a fleet's member are texts")
        if not 0 < len(self.name.encode(errors="replace")) <= MAX_NAME:
            raise UsageError(f"a member's name has from 1 to {MAX_NAME} bytes; {self.name[:80]!r} has not")
        if len(self.token) < MIN_TOKEN:
            raise UsageError(f"the token of {self.name!r} is to have {MIN_TOKEN} characters at least")
        host, _, port = self.address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
            raise UsageError(f'a member\'s owner listens at "host:port", not at {self.address!r}')

    @property
    def host_and_port(self) -> tuple[str, int]:
        """The address, as sockets take it."""
        host, _, port = self.address.rpartition(":")
        return host.removeprefix("[").removesuffix("]"), int(port)

    @property
    def text(self) -> str:
        """What `read` reads: a JSON object, for the variable of the environment."""
        return json.dumps({"address": self.address, "token": self.token, "name": self.name})

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> Target | None:
        """Of a process with this environment; None where it belongs to no fleet.

        Raises:
            UsageError: the variable is not what `text` gives.
        """
        text = variables.get(VARIABLE)
        if not text:
            return None
        try:
            found: Any = json.loads(text)
            return cls(**found)
        except (ValueError, TypeError):  # their texts would quote the token
            raise UsageError(f"{VARIABLE} is a JSON object of address, token and name, all texts") from None


def encode(report: Report, target: Target, sent_s: float) -> bytes:
    """A report as a datagram; takes microseconds.

    Args:
        sent_s: by the wall clock; nothing is decided by it.
    """
    head = _HEAD.pack(
        MAGIC, report.incarnation, report.sequence, report.seen, report.num_running, report.num_waiting,
        report.yours, report.step_s, report.prompt_tokens, report.free_tokens, report.peak_tokens_per_s,
        report.waiting_tokens, report.output_tokens, report.budget_tokens, sent_s,
    )  # fmt: skip
    cost = b"\0" * (1 + _COST.size)
    if report.cost is not None:
        *four, mixed = astuple(report.cost)
        cost = b"\1" + _COST.pack(*four, math.nan if mixed is None else mixed)
    signed = head + cost + target.name.encode(errors="replace")
    return signed + mac_of(signed, target.token)


def mac_of(signed: bytes, token: str) -> bytes:
    """What proves that somebody who has the token said this."""
    return hmac.digest(token.encode(errors="replace"), signed, "sha256")


def decode(datagram: bytes, tokens: Mapping[str, str]) -> tuple[str, Report, float]:
    """The name of the member that sent a datagram, what it says, and when it was sent by its wall clock.

    Args:
        tokens: of the members that may report, by name.

    Raises:
        Refused: for "size", "format", "stranger" (no member of that name), "forged", or "nonsense" (of a
            member, and not to be believed all the same).
    """
    if not _NAME_AT + MAC_BYTES < len(datagram) <= MAX_BYTES:
        raise Refused("size")
    signed, mac = datagram[:-MAC_BYTES], datagram[-MAC_BYTES:]
    if not signed.startswith(MAGIC):
        raise Refused("format")
    try:
        name = signed[_NAME_AT:].decode()
    except UnicodeDecodeError:
        raise Refused("format") from None
    token = tokens.get(name)
    if token is None:
        raise Refused("stranger")
    if not hmac.compare_digest(mac, mac_of(signed, token)):
        raise Refused("forged")
    return name, *_read(signed)


def _read(signed: bytes) -> tuple[Report, float]:
    _, incarnation, sequence, seen, running, waiting, yours, *numbers, sent_s = _HEAD.unpack_from(signed)
    step_s, prompt, free, peak, waiting_tokens, output, budget = numbers
    least = (step_s, prompt, peak, waiting_tokens, output, budget)
    cost = _cost_of(signed) if signed[_HEAD.size] else None
    if not (
        all(0.0 <= value < math.inf for value in least) and -math.inf < free and math.isfinite(sent_s)
        and -1 <= seen < MOST and max(incarnation, sequence) < 2**63
    ):  # fmt: skip
        raise Refused("nonsense")
    report = Report(
        step_s, prompt, running, waiting, free, peak, waiting_tokens, output, budget, incarnation, sequence,
        seen, yours, cost,
    )  # fmt: skip
    return report, sent_s


def _cost_of(signed: bytes) -> CostModel:
    *four, mixed = _COST.unpack_from(signed, _HEAD.size + 1)
    known = four if math.isnan(mixed) else [*four, mixed]
    if not all(0.0 <= value < math.inf for value in known) or not four[0]:
        raise Refused("nonsense")
    token_s, prefill_base_s, request_s, decode_base_s = four
    return CostModel(token_s, prefill_base_s, request_s, decode_base_s, None if math.isnan(mixed) else mixed)
