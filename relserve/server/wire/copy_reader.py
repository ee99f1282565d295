"""COPY FROM STDIN: data that come in pieces cut anywhere, as rows of texts, or of bytes in binary."""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from relserve.errors import ProtocolError
from relserve.server.wire.copy_fields import fields_reader, is_open_after
from relserve.server.wire.copy_options import ALL_COLUMNS, CopyOptions
from relserve.server.wire.copy_writer import BINARY_SIGNATURE

Row = list[str | bytes | None]
_BAD_DATA = "22P04"
ROW_LIMIT = 1 << 28  # bytes of a row, as of any other message
_MOST_PIECES = 1 << 20  # in which a line may come: each takes memory of its own


class CopyReader:
    """Rows of a COPY FROM STDIN into these columns."""

    def __init__(self, columns: Sequence[str], options: CopyOptions) -> None:
        named = options.force_not_null + options.force_null
        if unknown := [name for name in named if name not in {*columns, *ALL_COLUMNS}]:
            raise ProtocolError(f'column "{unknown[0]}" not referenced by COPY', "42P10")
        self._reader = (_Tuples if options.format == "binary" else _Lines)(columns, options)

    def feed(self, data: bytes) -> list[Row]:
        """The rows that are whole after these bytes.

        Raises:
            ProtocolError: the data are malformed; the message tells the line.
        """
        return self._reader.feed(data)

    def finish(self) -> list[Row]:
        """The last row, if no newline ends it.

        Raises:
            ProtocolError: the data end within a row.
        """
        return self._reader.finish()


class _Tuples:
    """Rows in binary: after a signature, a count of fields and each field after its length; -1 ends them."""

    def __init__(self, columns: Sequence[str], options: CopyOptions) -> None:
        self._count = len(columns)
        self._left = bytearray()
        self._open: Row | None = None  # the fields of a row that is not whole yet
        self._open_bytes = 0
        self._num_rows = 0
        self._has_begun = self._is_over = False

    def feed(self, data: bytes) -> list[Row]:
        self._left += data
        if not self._has_begun and not self._begin():
            return []
        rows: list[Row] = []
        at = 0
        while not self._is_over:
            at = self._take(at)
            if self._open is None or len(self._open) < self._count:
                break
            rows.append(self._open)
            self._open, self._open_bytes = None, 0
            self._num_rows += 1
        del self._left[:at]
        if self._is_over and self._left:
            raise _bad("data come after the end marker", self._num_rows, "row")
        return rows

    def finish(self) -> list[Row]:
        if not self._is_over and (self._left or self._open is not None or not self._has_begun):
            raise _bad("unexpected end of binary data", self._num_rows + 1, "row")
        return []

    def _begin(self) -> bool:
        """Take the header; False: it is not whole yet."""
        size = len(BINARY_SIGNATURE)
        if not BINARY_SIGNATURE.startswith(self._left[:size]):
            raise ProtocolError("COPY file signature not recognized: it is not binary COPY data", _BAD_DATA)
        if len(self._left) < size + 8:
            return False
        extension = int.from_bytes(self._left[size + 4 : size + 8], "big")
        if self._left[size] or extension > ROW_LIMIT:
            raise ProtocolError("unrecognized critical flags or length in COPY file header", _BAD_DATA)
        if len(self._left) < size + 8 + extension:
            return False
        del self._left[: size + 8 + extension]
        self._has_begun = True
        return True

    def _take(self, at: int) -> int:
        """Take the fields of the open row, of the next one if none is, as far as they have come.

        Returns:
            Where they end.
        """
        left = self._left
        if self._open is None:
            if len(left) < at + 2:
                return at
            count = int.from_bytes(left[at : at + 2], "big", signed=True)
            self._is_over = count == -1
            if not self._is_over and count != self._count:
                raise _bad(f"row field count is {count}, expected {self._count}", self._num_rows + 1, "row")
            at += 2
            if self._is_over:
                return at
            self._open = []
        while len(self._open) < self._count and len(left) >= at + 4:
            size = int.from_bytes(left[at : at + 4], "big", signed=True)
            if size < -1 or self._open_bytes + size > ROW_LIMIT:
                raise _bad("invalid field size", self._num_rows + 1, "row")
            end = at + 4 + max(size, 0)
            if len(left) < end:
                break
            self._open.append(None if size < 0 else bytes(left[at + 4 : end]))
            self._open_bytes += max(size, 0)
            at = end
        return at


class _Lines:
    """Rows as lines, in text or CSV; a line of CSV goes on while a quote is open."""

    def __init__(self, columns: Sequence[str], options: CopyOptions) -> None:
        self._columns, self._options = columns, options
        self._decoder = codecs.getincrementaldecoder(options.codec)()
        self._fields = fields_reader(columns, options)
        self._pieces: list[str] = []  # of a line whose newline has not come
        self._open_line: list[str] = []  # lines of CSV before, up to which a quote is open
        self._awaits_header = options.header != "no"
        self._num_chars = self._num_open = 0  # of both, in characters
        self._is_open = self._is_over = False
        self._num_lines, self._return, self._is_first = 0, "", True

    def feed(self, data: bytes) -> list[Row]:
        text = self._decoded(data, is_last=False)
        if "\n" not in text:
            self._pieces.append(text)
            self._num_chars += len(text)
            self._check_size()
            return []
        *lines, rest = "".join((*self._pieces, text)).split("\n")
        self._pieces, self._num_chars = [rest], len(rest)
        rows = [row for line in lines for row in self._line(line)]
        self._check_size()
        return rows

    def finish(self) -> list[Row]:
        last = "".join((*self._pieces, self._decoded(b"", is_last=True)))
        self._pieces = []
        rows = self._line(last + self._return.removesuffix(last[-1:])) if last else []
        if self._is_open and not self._is_over:
            raise _bad("unterminated CSV quoted field", self._num_lines)
        return rows

    def _check_size(self) -> None:
        """Refuse a row that is not whole yet, and stays in memory, if it is too long."""
        if self._num_chars + self._num_open > ROW_LIMIT or len(self._pieces) > _MOST_PIECES:
            what = f"a row is longer than {ROW_LIMIT >> 20} MiB (COPY, line {self._num_lines + 1})"
            raise ProtocolError(what, "54000")

    def _decoded(self, data: bytes, *, is_last: bool) -> str:
        try:
            return self._decoder.decode(data, is_last)
        except UnicodeDecodeError as error:
            wrong = f"0x{error.object[error.start]:02x}"
            raise ProtocolError(
                f"invalid byte sequence for encoding {self._options.codec}: {wrong}", "22021"
            ) from error

    def _line(self, line: str) -> list[Row]:
        """The row that ends with this line, none if none does."""
        if self._is_over:
            return []
        self._num_lines += 1
        if self._options.format == "csv":
            self._is_open = is_open_after(line, self._options, is_open=self._is_open)
            self._open_line.append(line)
            self._num_open += len(line) + 1
            if self._is_open:
                return []
            line, self._open_line, self._num_open = "\n".join(self._open_line), [], 0
        return self._row(self._without_return(line))

    def _without_return(self, line: str) -> str:
        """Without the carriage return before the newline; the first line tells whether there is one."""
        if self._is_first:
            self._return = "\r" if line.endswith("\r") else ""
        self._is_first = False
        if self._return and not line.endswith("\r"):
            raise _bad("a newline stands alone, where others follow a carriage return", self._num_lines)
        return line.removesuffix(self._return)

    def _row(self, line: str) -> list[Row]:
        if line == "\\.":
            self._is_over = True
            return []
        try:
            fields = self._fields(line)
        except ValueError as error:
            raise _bad(str(error), self._num_lines) from error
        if self._awaits_header:
            self._awaits_header = False
            self._check_header(fields)
            return []
        if len(fields) < len(self._columns):
            raise _bad(f'missing data for column "{self._columns[len(fields)]}"', self._num_lines)
        if len(fields) > len(self._columns):
            raise _bad("extra data after last expected column", self._num_lines)
        return [fields]

    def _check_header(self, fields: Row) -> None:
        if self._options.header == "match" and fields != list(self._columns):
            raise _bad(f"the header names {fields}, and the columns are {list(self._columns)}", 1)


def _bad(what: str, number: int, unit: str = "line") -> ProtocolError:
    return ProtocolError(f"{what} (COPY, {unit} {number})", _BAD_DATA)
