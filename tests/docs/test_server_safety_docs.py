"""TLS as the pages tell it: a certificate that clients verify, and clients that do."""

from __future__ import annotations

import http.client
import re
import ssl
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from relserve.server.tls import tls_context
from tests.server.page.page_facts import WrittenFacts, served
from tests.waiting import PATIENCE_S

DOCS = Path(__file__).parents[2] / "docs"
LAX = re.compile("(?i)sslmode=(require|prefer|allow|disable|verify-ca)")


def test_the_certificate_is_one_that_clients_verify(tmp_path: Path) -> None:
    page = (DOCS / "server_safety.md").read_text(encoding="utf-8")
    (command,) = re.findall("(?m)^openssl req .*", page)
    words = command.replace("db.example.org", "localhost").split()
    subprocess.run(words, check=True, cwd=tmp_path, capture_output=True)
    chain = tmp_path / "cert.pem"
    with served(WrittenFacts(), tls=tls_context(chain, tmp_path / "key.pem")) as address:
        trusting = ssl.create_default_context(cafile=str(chain))  # which looks at the name, too
        port = urlsplit(address).port
        asking = http.client.HTTPSConnection("localhost", port, context=trusting, timeout=PATIENCE_S)
        asking.request("GET", "/health")
        assert asking.getresponse().status == 200
        asking.close()


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_no_page_has_clients_trust_whoever_answers(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if LAX.search(line) and "trusts whoever answers" not in line] == []
