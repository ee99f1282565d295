"""Keys of OpenAI clients: shown once, and kept as a hash."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import NamedTuple

PREFIX = "sk-relserve-"
NUM_BYTES = 32  # of chance: nobody guesses that, so a quick hash is as good as a slow one
END = 4  # characters of a key by which its owner knows it
KEPT = re.compile(rf"sha256:([0-9a-f]{{64}}):([\w-]{{{END}}})")


class KeptKey(NamedTuple):
    """What is kept of a key.

    Attributes:
        digest: its SHA-256.
        end: its last characters, by which its owner tells it from others.
    """

    digest: str
    end: str

    @classmethod
    def read(cls, text: str) -> KeptKey:
        """A key as `str` wrote it.

        Raises:
            ValueError: the text is none.
        """
        found = KEPT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise ValueError(f"{text!r} is no key as `relserve user key` keeps it")
        return cls(found[1], found[2])

    def __str__(self) -> str:
        return f"sha256:{self.digest}:{self.end}"


def make_key() -> tuple[str, KeptKey]:
    """A new key: what its user gets, and what is kept of it."""
    secret = PREFIX + secrets.token_urlsafe(NUM_BYTES)
    return secret, KeptKey(digest_of(secret), secret[-END:])


def digest_of(secret: str) -> str:
    """The hash by which a key is found."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
