"""How much memory the large messages of one user's clients may take: each alone may have 256 MiB."""

from __future__ import annotations

import threading

from relserve.errors import ProtocolError

LARGE = 1 << 20  # bytes of a message that is counted
MOST = 1 << 30  # bytes of a user's that are on their way, or wait to be worked on


class InboxRoom:
    """Of one user; safe for several threads."""

    def __init__(self) -> None:
        self._left, self._lock = MOST, threading.Lock()

    def take(self, num_bytes: int) -> None:
        """A message of so many bytes begins.

        Raises:
            ProtocolError: it and the others would be too much.
        """
        with self._lock:
            if num_bytes > self._left:
                raise ProtocolError(
                    f"the large messages of all of your connections have more than {MOST >> 20:,} MiB: send "
                    "fewer at once",
                    "53200",
                )
            self._left -= num_bytes

    def give_back(self, num_bytes: int) -> None:
        """They are worked on, or their client is gone."""
        with self._lock:
            self._left += num_bytes
