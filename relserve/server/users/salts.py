"""Whose answers and prompts are kept together: by default each user's alone.

An answer that is kept, or the beginning of a prompt that an engine has computed, comes sooner than another
one: who may ask for either could find out what others have asked. So each user has a salt, which is a part of
what both are found by. Without `--users` nobody is told from anybody else, and all share.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from relserve.server.users.users import User


@dataclass(frozen=True)
class Salts:
    """The salts of a server's users.

    Attributes:
        secret: that nobody knows who might ask the same engine by another way; None: users share.
    """

    secret: bytes | None

    def of(self, user: User) -> str | None:
        """What a user's prompts and answers are kept under; None: what everybody's are."""
        return None if self.secret is None else self._made(user.name)

    def within(self, user: User, own: str) -> str:
        """The same of what a user keeps apart within their own, as OpenAI's clients may."""
        return own if self.secret is None else self._made(f"{user.name}\0{own}")

    def _made(self, name: str) -> str:
        assert self.secret is not None
        return hmac.new(self.secret, name.encode(), hashlib.sha256).hexdigest()
