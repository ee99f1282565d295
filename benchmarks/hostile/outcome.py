"""What an attack did."""

from __future__ import annotations

from dataclasses import dataclass, field

PATIENCE_S = 20.0  # within which the server answers, or hangs up


@dataclass
class HostileOutcome:
    """Of one kind of attack.

    Attributes:
        cases: how often it was tried.
        crashed: how often the server, or somebody else's session, ended over it.
        hung: how often no answer came, and other clients' statements that took longer than PATIENCE_S.
        leaked: how often something was seen, or done, that is not the attacker's.
        escaped: how often a generated text got something done that the lock refuses.
        longest_s: that another user's statement took beside it.
        said: what was seen of the four, a few of them.
    """

    name: str
    cases: int = 0
    crashed: int = 0
    hung: int = 0
    leaked: int = 0
    escaped: int = 0
    longest_s: float = 0.0
    said: list[str] = field(default_factory=list)

    def tell(self, kind: str, text: str) -> None:
        """Count something bad."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.said) < 20:
            self.said.append(f"{kind}: {text[:300]}")
