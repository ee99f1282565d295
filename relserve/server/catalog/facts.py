"""What a client's text may ask of its own session."""

from typing import Protocol


class Facts(Protocol):
    """One client: its process id, its user, and its settings."""

    @property
    def pid(self) -> int:
        """The number that cancels this client's statement."""

    @property
    def user(self) -> str:
        """Who is connected."""

    @property
    def is_admin(self) -> bool:
        """Whether it may see and stop the statements of others."""

    def setting(self, name: str) -> str | None:
        """What SHOW of a setting gives; None where there is no such setting."""
