"""SCRAM-SHA-256: PostgreSQL's verifiers, the RFC's example, and logins that fail."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.errors import ProtocolError
from relserve.server.wire.scram import ScramServer, is_password, make_verifier, read_verifier, saslprep

# Made by PostgreSQL 15.18 for CREATE ROLE .. PASSWORD 'geheimé ﬁ'.
POSTGRESQLS = (
    "SCRAM-SHA-256$4096:g8K2HwXvkQWRQxiOpSZG/w==$"
    "NKtD3NUv9xYIFTLFTLvqMUJ0gjnlFWvYFh26kpHoQ0w=:bY9Yj/He4+fqSIGmjzz0LUmlRikz08jE0vZqZxSd/DI="
)
SECRET = b"of this server"


def client_final(password: str, first_bare: str, server_first: str, header: str = "n,,") -> tuple[str, bytes]:
    """A client's last message, and the server's signature that it then expects (RFC 5802, section 3)."""
    nonce, salt, iterations = (part[2:] for part in server_first.split(","))
    salted = hashlib.pbkdf2_hmac(
        "sha256", saslprep(password).encode(), base64.b64decode(salt), int(iterations)
    )
    client_key, server_key = (hmac.digest(salted, each, "sha256") for each in (b"Client Key", b"Server Key"))
    without_proof = f"c={base64.b64encode(header.encode()).decode()},r={nonce}"
    signed = f"{first_bare},{server_first},{without_proof}".encode()
    signature = hmac.digest(hashlib.sha256(client_key).digest(), signed, "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()
    return f"{without_proof},p={proof}", hmac.digest(server_key, signed, "sha256")


def log_in(server: ScramServer, password: str, header: str = "n,,") -> None:
    """A whole login; the server's signature is checked."""
    first_bare = f"n=,r={secrets.token_urlsafe(9)}"
    server_first = server.first((header + first_bare).encode()).decode()
    final, expected = client_final(password, first_bare, server_first, header)
    assert server.final(final.encode()) == b"v=" + base64.b64encode(expected)


@pytest.mark.parametrize("password", ["secret", "geheimé ﬁ", "p\u00ada", "Ⅸ", " ", "\u0627\u0031", "x" * 500])
@pytest.mark.parametrize("header", ["n,,", "y,,", "n,a=other,"])
def test_the_right_password(password: str, header: str) -> None:
    log_in(ScramServer("bob", make_verifier(password), SECRET), password, header)


def test_verifiers_of_postgresql() -> None:
    log_in(ScramServer("bob", POSTGRESQLS, SECRET), "geheimé ﬁ")
    assert is_password("geheimé fi", POSTGRESQLS)
    assert not is_password("geheim", POSTGRESQLS)
    assert str(read_verifier(POSTGRESQLS)) == POSTGRESQLS


def test_two_verifiers_of_a_password_differ() -> None:
    first, second = make_verifier("secret"), make_verifier("secret")
    assert first != second
    assert first.startswith("SCRAM-SHA-256$4096:")
    assert is_password("secret", first)


@pytest.mark.parametrize("verifier", ["b0b's", None])
def test_a_wrong_password_and_an_unknown_user_fail_in_the_same_words(verifier: str | None) -> None:
    known = make_verifier(verifier) if verifier else None
    with pytest.raises(ProtocolError, match='password authentication failed for user "bob"') as raised:
        log_in(ScramServer("bob", known, SECRET), "secret")
    assert raised.value.sqlstate == "28P01"


def test_an_unknown_user_has_the_same_salt_each_time() -> None:
    salts = [ScramServer(user, None, SECRET).first(b"n,,n=,r=x").split(b",")[1:] for user in ("a", "a", "b")]
    assert salts[0] == salts[1] != salts[2]


def test_the_example_of_rfc_7677(monkeypatch: pytest.MonkeyPatch) -> None:
    salt, nonce = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    monkeypatch.setattr(secrets, "token_bytes", lambda count: salt)
    server = ScramServer("user", make_verifier("pencil"), SECRET)
    monkeypatch.setattr("relserve.server.wire.scram._base64", _nonce_first(nonce))
    first = server.first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == b"r=rOprNGfwEbeRWgbNEkqO" + nonce.encode() + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    proof = b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    last = server.final(b"c=biws,r=rOprNGfwEbeRWgbNEkqO" + nonce.encode() + b",p=" + proof)
    assert last == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def _nonce_first(nonce: str):  # type: ignore[no-untyped-def]
    """The first thing put into base64 is the nonce; the RFC's is not of base64's letters."""
    answers = iter([nonce])
    return lambda raw: next(answers, base64.b64encode(raw).decode())


@pytest.mark.parametrize(
    "message",
    [b"", b"p=tls-server-end-point,,n=,r=x", b"n,,n=", b"n,,r=x,n=", b"n,,n=,r=", b"\xff", b"n,,m=x,n=,r=x"],
)
def test_malformed_first_messages(message: bytes) -> None:
    with pytest.raises(ProtocolError, match="malformed SCRAM message"):
        ScramServer("bob", make_verifier("secret"), SECRET).first(message)


@pytest.mark.parametrize("end", ["", ",p=!", ",p=", ",p=AAAA"])
def test_malformed_last_messages(end: str) -> None:
    server = ScramServer("bob", make_verifier("secret"), SECRET)
    nonce = server.first(b"n,,n=,r=x").decode().split(",")[0]
    with pytest.raises(ProtocolError):
        server.final(f"c=biws,{nonce}{end}".encode())


def test_another_logins_nonce_or_header() -> None:
    for start in ("c=biws,r=x", "c=eSws,{}"):
        server = ScramServer("bob", make_verifier("secret"), SECRET)
        nonce = server.first(b"n,,n=,r=x").decode().split(",")[0]
        with pytest.raises(ProtocolError, match="channel binding or nonce"):
            server.final(f"{start.format(nonce)},p=AAAA".encode())


@given(st.binary(max_size=40), st.binary(max_size=60))
def test_no_bytes_log_in(first: bytes, last: bytes) -> None:
    server = ScramServer("bob", POSTGRESQLS, SECRET)
    for step, message in ((server.first, b"n,,n=,r=" + first), (server.final, last)):
        try:
            answer = step(message)
        except ProtocolError:
            return
        assert not answer.startswith(b"v=")


@pytest.mark.parametrize(
    "text", ["", "md5abc", "SCRAM-SHA-256$x:a$b:c", "SCRAM-SHA-256$4096:$b:c", "SCRAM-SHA-1$1:YQ==$YQ==:YQ=="]
)
def test_texts_that_are_no_verifiers(text: str) -> None:
    with pytest.raises(ValueError, match="no SCRAM-SHA-256 verifier"):
        read_verifier(text)


@pytest.mark.parametrize(
    ("password", "prepared"),
    [("I\u00adX", "IX"), ("user", "user"), ("ª", "a"), ("Ⅸ", "IX"), ("\u00a0", " "), ("\u0007", "\u0007"),
     ("\u0627\u0031", "\u0627\u0031"), ("", ""), ("\u00ad", "\u00ad")],
)  # fmt: skip
def test_saslprep(password: str, prepared: str) -> None:
    assert saslprep(password) == prepared
