"""Texts of one plain user, one after the other: none may do anything that is not theirs to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from benchmarks.hostile.eye import SECRETS, Eye, Trespass
from benchmarks.hostile.house import AttackedServer
from benchmarks.hostile.outcome import HostileOutcome
from benchmarks.hostile.wire import RawClient, message

BETWEEN_LOOKS = 25  # texts: what one defines may be in the way of the next
_ENDS_S = 2.0  # in which a server's process is gone whose sockets are
_LISTED = 3  # texts that are named beside what was found


class Attempts:
    """Sends texts to a server, and counts in an outcome what they did.

    Args:
        eye: looks after every few texts.
    """

    def __init__(self, house: AttackedServer, eye: Eye, outcome: HostileOutcome) -> None:
        self._house, self._eye, self._outcome = house, eye, outcome

    def send(self, texts: Iterable[str]) -> HostileOutcome:
        """Send all of them; gives the outcome."""
        left = iter(texts)
        while batch := list(islice(left, BETWEEN_LOOKS)):
            self._send(batch)
            for found in self._eye.found():
                self._outcome.tell("escaped", f"{found.said}: {_suspects(found, batch)}")
        return self._outcome

    def _send(self, batch: list[str]) -> None:
        client = self._client()
        for text in batch:
            self._outcome.cases += 1
            try:
                for kind, body in _answers(client, text):
                    self._look(text, kind, body)
            except TimeoutError:
                self._outcome.tell("hung", f"no answer to {text[:200]!r}")
                client = self._client()
            except ConnectionError as error:
                has_ended = self._house.has_ended(_ENDS_S)
                if has_ended or not _ends_itself(text):
                    self._outcome.tell("crashed", f"{text[:200]!r}, {len(text):,} characters: {error}")
                if has_ended:
                    self._house.start()
                client = self._client()
        client.close()

    def _look(self, text: str, kind: bytes, body: bytes) -> None:
        told = body.decode(errors="replace")
        if any(each in told and each not in text for each in SECRETS):
            self._outcome.tell("leaked", f"{text[:200]!r}: {told[:200]}")
        if kind == b"E" and "\0CXX" in told:
            self._outcome.tell("crashed", f"{text[:200]!r}: {told[:200]}")

    def _client(self) -> RawClient:
        client = RawClient(self._house)
        client.login()
        return client


def _answers(client: RawClient, text: str) -> Iterator[tuple[bytes, bytes]]:
    client.send(message(b"Q", text.replace("\0", "").encode(errors="replace") + b"\0"))
    for kind, body in client.messages():
        if kind == b"G":  # COPY .. FROM STDIN
            client.send(message(b"f", b"no rows"))
        yield kind, body


def _ends_itself(text: str) -> bool:
    return "pg_terminate_backend" in text


def _suspects(found: Trespass, batch: list[str]) -> list[str]:
    """Which texts of a batch may have done it."""
    named = [text for text in batch if found.name and found.name.lower() in text.lower()]
    return [text[:300] for text in (named or batch)[: _LISTED if named else len(batch)]]
