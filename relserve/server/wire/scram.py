"""SCRAM-SHA-256 (RFC 5802, 7677) as PostgreSQL speaks it: verifiers, and the server's side of a login."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from typing import NamedTuple

from relserve.errors import ProtocolError

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096
_SALT_BYTES, _NONCE_BYTES = 16, 18


class Verifier(NamedTuple):
    """What a server keeps of a password."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def __str__(self) -> str:
        salt, stored, server = map(_base64, self[1:])
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"


def make_verifier(password: str) -> str:
    """A new verifier in PostgreSQL's form: SCRAM-SHA-256$4096:salt$StoredKey:ServerKey."""
    return str(_verifier(password, secrets.token_bytes(_SALT_BYTES), ITERATIONS))


def read_verifier(text: str) -> Verifier:
    """The parts of a verifier.

    Raises:
        ValueError: the text is none.
    """
    try:
        mechanism, salted, keys = text.split("$")
        iterations, salt = salted.split(":")
        stored, server = keys.split(":")
        parts = [base64.b64decode(part, validate=True) for part in (salt, stored, server)]
        if mechanism != MECHANISM or not all(parts) or int(iterations) < 1:
            raise ValueError("not of this mechanism")
    except ValueError as error:
        raise ValueError(f"no {MECHANISM} verifier; make one with `relserve user passwd`") from error
    return Verifier(int(iterations), *parts)


def is_password(password: str, verifier: str) -> bool:
    """Whether the verifier is of this password."""
    kept = read_verifier(verifier)
    made = _verifier(password, kept.salt, kept.iterations)
    return hmac.compare_digest(made.stored_key, kept.stored_key)


class ScramServer:
    """One login. An unknown user (verifier None) takes the same steps and fails at the end.

    `secret` should be the same for all logins of a server: from it and the name comes an unknown user's salt,
    so that asking twice does not tell that there is no such user.
    """

    def __init__(self, user: str, verifier: str | None, secret: bytes) -> None:
        self._is_known = verifier is not None
        self._verifier = read_verifier(verifier) if verifier else _mock(user, secret)
        self._user = user
        self._gs2_header, self._first_bare, self._server_first, self._nonce = "", "", "", ""

    def first(self, client_first: bytes) -> bytes:
        """The server's first message, in answer to the client's.

        Raises:
            ProtocolError: the message is malformed, or asks for channel binding, which is not offered.
        """
        parts = _ascii(client_first).split(",", 2)
        if len(parts) < 3 or parts[0] not in ("n", "y"):
            raise ProtocolError(
                "malformed SCRAM message: no header n,, or y,, (channel binding is not offered)"
            )
        self._gs2_header, self._first_bare = f"{parts[0]},{parts[1]},", parts[2]
        client_nonce = _attributes(parts[2], "nr")["r"]
        self._nonce = client_nonce + _base64(secrets.token_bytes(_NONCE_BYTES))
        kept = self._verifier
        self._server_first = f"r={self._nonce},s={_base64(kept.salt)},i={kept.iterations}"
        return self._server_first.encode()

    def final(self, client_final: bytes) -> bytes:
        """The server's last message, which proves that it knows the password too.

        Raises:
            ProtocolError: malformed (08P01), or the password is wrong (28P01).
        """
        text = _ascii(client_final)
        without_proof = text.rpartition(",p=")[0]
        given = _attributes(text, "crp")
        if given["c"] != _base64(self._gs2_header.encode()) or given["r"] != self._nonce:
            raise ProtocolError(
                "malformed SCRAM message: its channel binding or nonce is not the login's own"
            )
        signed = ",".join((self._first_bare, self._server_first, without_proof)).encode()
        if not self._is_proof(_decoded(given["p"]), signed):
            raise ProtocolError(f'password authentication failed for user "{self._user}"', "28P01")
        return b"v=" + _base64(_hmac(self._verifier.server_key, signed)).encode()

    def _is_proof(self, proof: bytes, signed: bytes) -> bool:
        """Whether the proof is of the client key whose hash is kept; work is the same for unknown users."""
        signature = _hmac(self._verifier.stored_key, signed)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        is_right = hmac.compare_digest(hashlib.sha256(client_key).digest(), self._verifier.stored_key)
        return is_right and self._is_known and len(proof) == len(signature)


def _verifier(password: str, salt: bytes, iterations: int) -> Verifier:
    salted = hashlib.pbkdf2_hmac("sha256", saslprep(password).encode(), salt, iterations)
    stored_key = hashlib.sha256(_hmac(salted, b"Client Key")).digest()
    return Verifier(iterations, salt, stored_key, _hmac(salted, b"Server Key"))


def _mock(user: str, secret: bytes) -> Verifier:
    """A verifier of no password; the salt is the user's own each time."""
    salt = _hmac(secret, user.encode())[:_SALT_BYTES]
    return Verifier(ITERATIONS, salt, secrets.token_bytes(32), secrets.token_bytes(32))


def saslprep(password: str) -> str:
    """The password as RFC 4013 prepares it; as it is where the RFC forbids it, as in PostgreSQL."""
    kept = (char for char in password if not stringprep.in_table_b1(char))
    spaced = "".join(" " if stringprep.in_table_c12(char) else char for char in kept)
    prepared = unicodedata.normalize("NFKC", spaced)
    return password if not prepared or _is_prohibited(prepared) else prepared


def _is_prohibited(text: str) -> bool:
    tables = (
        stringprep.in_table_a1, stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3,
        stringprep.in_table_c4, stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7,
        stringprep.in_table_c8, stringprep.in_table_c9,
    )  # fmt: skip
    if any(table(char) for char in text for table in tables):
        return True
    if not any(map(stringprep.in_table_d1, text)):
        return False
    ends_right_to_left = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    return not ends_right_to_left or any(map(stringprep.in_table_d2, text))


def _attributes(text: str, wanted: str) -> dict[str, str]:
    """The attributes of a message by letter; all that are wanted are there, in their order."""
    found = dict(part.split("=", 1) for part in text.split(",") if part[1:2] == "=")
    letters = "".join(letter for letter in found if letter in wanted)
    if letters != wanted or not found["r"] or "m" in found:
        raise ProtocolError(f"malformed SCRAM message: the attributes {', '.join(wanted)} are wanted")
    return found


def _ascii(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError as error:
        raise ProtocolError("malformed SCRAM message: it is not UTF-8") from error


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ProtocolError("malformed SCRAM message: the proof is not in base64") from error


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")
