"""Who is let in: passwords, TLS, another database, other protocols."""

from __future__ import annotations

import datetime as dt
import socket
import struct
from collections import defaultdict
from ipaddress import ip_address
from pathlib import Path

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from relserve.server.client.inbox_room import InboxRoom
from relserve.server.server import Server
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier
from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S, wait_until


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """A file of two users."""
    path = tmp_path / "users.json"
    Users(
        path, [User("ann", make_verifier("right")), User("root", make_verifier("secret"), is_admin=True)]
    ).save()
    return path


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    day, now = dt.timedelta(days=1), dt.datetime.now(dt.timezone.utc)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - day).not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tls")
    chain, secret = folder / "cert.pem", folder / "key.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return chain, secret


def test_a_right_password_lets_in_and_a_wrong_one_does_not(serve: Serve, users: Path) -> None:
    server = serve(users=users)
    assert connect(server, password="right").execute("SELECT current_user").fetchone() == ("ann",)
    for user, password in (("ann", "wrong"), ("nobody", "right")):
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            connect(server, user=user, password=password)


def test_with_tls_nothing_goes_without(serve: Serve, users: Path, certificate: tuple[Path, Path]) -> None:
    chain, key = certificate
    server = serve(users=users, tls_cert=chain, tls_key=key)
    con = connect(server, password="right", sslmode="verify-full", sslrootcert=str(chain))
    assert con.execute("SELECT count(*) FROM range(200000)").fetchone() == (200_000,)
    assert len(con.execute("SELECT repeat('x', 1000) FROM range(3000)").fetchall()) == 3000
    with pytest.raises(psycopg.OperationalError, match="sslmode=require"):
        connect(server, password="right", sslmode="disable")


def test_one_user_sees_nothing_of_another(serve: Serve, users: Path) -> None:
    server = serve(users=users)
    ann, root = connect(server, password="right"), connect(server, user="root", password="secret")
    root.execute("SELECT llm('Secret {}', 1)")
    ann.execute("SELECT llm('Say {}', 1)")
    assert ann.execute("SELECT template FROM llm_queries()").fetchall() == [("Say {}",)]
    assert len(root.execute("SELECT * FROM llm_queries()").fetchall()) == 2
    seen = dict(ann.execute("SELECT usename, query FROM pg_stat_activity").fetchall())
    assert "Secret" not in str(seen["root"])


def test_ann_cannot_stop_root(serve: Serve, users: Path) -> None:
    server = serve(users=users)
    ann, root = (
        connect(server, password="right", autocommit=True),
        connect(server, user="root", password="secret"),
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ann.execute("SELECT pg_terminate_backend(%s)", (root.info.backend_pid,))
    assert root.execute("SELECT 1").fetchone() == (1,)
    assert root.execute("SELECT pg_cancel_backend(%s)", (ann.info.backend_pid,)).fetchone() == (True,)


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\4", struct.pack("!ii", 8, 2 << 16), b"\xff" * 9,
        struct.pack("!ii", 9, 3 << 16) + b"\0", struct.pack("!i", 1 << 30),
    ],
)  # fmt: skip
def test_strangers_are_hung_up_on(serve: Serve, data: bytes) -> None:
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as stranger:
        stranger.sendall(data)
        told = b""
        while part := stranger.recv(4096):
            told += part
    assert told.startswith(b"E")
    assert b"FATAL" in told
    assert connect(server).execute("SELECT 1").fetchone() == (1,)


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    "text",
    [
        "DROP MACRO _pg.cat.version",
        'CREATE TABLE "_pg".cat.t (a INTEGER)',
        "USE _pg",
        "DETACH _PG",
        "SET schema = '_pg.main'",
    ],
)
def test_nobody_changes_the_catalog(serve: Serve, text: str) -> None:
    con = connect(serve(), autocommit=True)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        con.execute(text)
    assert con.execute("SELECT '_pg', version()").fetchone()


def test_without_users_nothing_of_made_up_names_stays(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relserve.server.histories.MAX_USERS", 3)
    server = serve(max_connections=10)
    stays = connect(server, user="stays")
    for number in range(5):
        connect(server, user=f"name{number}").close()
    wait_until(lambda: set(server._rooms) == {"stays"})
    assert set(server._histories._of_user) == {"name2", "name3", "name4"}
    assert not server._database._daily._limits
    assert stays.execute("SELECT count(*) FROM llm_queries()").fetchone() == (0,)
    with pytest.raises(psycopg.OperationalError, match="at most 63 bytes"):
        connect(server, user="x" * 64)


class LeavingRooms(defaultdict[str, InboxRoom]):
    """Rooms of a server whose clients leave as a room is looked up, if no lock forbids it."""

    def __init__(self, server: Server) -> None:
        super().__init__(InboxRoom)
        self.server = server

    def __getitem__(self, name: str) -> InboxRoom:
        room = super().__getitem__(name)
        if not self.server._lock.locked():
            for worker in list(self.server._workers):
                self.server.leaves(worker)
        return room


def test_all_clients_of_a_user_share_one_room_whoever_leaves_meanwhile(serve: Serve) -> None:
    server = serve()
    server._rooms = LeavingRooms(server)
    clients = [connect(server, user="ann") for _ in range(3)]
    assert {worker._channel._room for worker in server._workers} == {server._rooms["ann"]}
    for client in clients:
        client.close()
    wait_until(lambda: not server._rooms)
