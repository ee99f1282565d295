"""The body of a message, read from its start."""

from __future__ import annotations

import struct

from relserve.errors import ProtocolError

_LENGTH = struct.Struct("!i")


class MessageBody:
    """What is left to read of one message's body, or of one binary value (sqlstate 22P03)."""

    def __init__(self, message: str, data: bytes, sqlstate: str = "08P01") -> None:
        self.message, self._data, self._sqlstate, self._at = message, data, sqlstate, 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise ProtocolError(
                f"insufficient data left in {self.message}: byte {self._at} of {len(self._data)}, "
                f"{count} more wanted",
                self._sqlstate,
            )
        taken, self._at = self._data[self._at : end], end
        return taken

    def uint16(self) -> int:
        """Two bytes as a number of at least 0."""
        return int.from_bytes(self.take(2), "big")

    def int16(self) -> int:
        """Two bytes as a signed number."""
        return int(struct.unpack("!h", self.take(2))[0])

    def int64(self) -> int:
        """Eight bytes as a signed number."""
        return int(struct.unpack("!q", self.take(8))[0])

    def int32(self) -> int:
        """Four bytes as a signed number."""
        return int(struct.unpack("!i", self.take(4))[0])

    def uint32(self) -> int:
        """Four bytes as a number of at least 0, such as an OID."""
        return int.from_bytes(self.take(4), "big")

    def sized(self) -> bytes | None:
        """Bytes after their length; a length of -1 is NULL."""
        length = self.int32()
        return None if length == -1 else self.take(length)

    def sized_each(self, count: int) -> tuple[bytes | None, ...]:
        """So many of them; a statement may have 65,535 parameters."""
        data, at, found = self._data, self._at, []
        for _ in range(count):
            if at + 4 > len(data):
                break
            (length,) = _LENGTH.unpack_from(data, at)
            if length < -1 or at + 4 + length > len(data):
                break
            found.append(None if length == -1 else data[at + 4 : at + 4 + length])
            at += 4 + max(length, 0)
        self._at = at
        return tuple(found) if len(found) == count else (*found, self.sized())  # which says what is missing

    def text(self) -> str:
        """UTF-8 up to a zero byte."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError(
                f"invalid string in {self.message} message: no zero byte ends it", self._sqlstate
            )
        text = utf8(self._data[self._at : end])
        self._at = end + 1
        return text

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(self.left)

    def end(self) -> None:
        """Make sure that nothing is left."""
        if self.left:
            raise ProtocolError(
                f"invalid format: {self.left} bytes too many in {self.message}", self._sqlstate
            )


def utf8(raw: bytes) -> str:
    """The text of bytes in UTF-8.

    Raises:
        ProtocolError: they are not UTF-8.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        wrong = " ".join(f"0x{byte:02x}" for byte in raw[error.start : error.start + 4])
        raise ProtocolError(f'invalid byte sequence for encoding "UTF8": {wrong}', "22021") from error
