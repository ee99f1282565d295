"""What goes over a resident engine's socket: messages, each a length in four bytes and so many bytes.

Greetings and commands are JSON. Submissions and replies are pickled: both ends are the same release of
relserve, run by the same user (see `place.py` and `greeting.py`), and grammars are trees of Python objects.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from relserve.call.answer_types import Grammar
from relserve.call.relquery import Reply, Submission
from relserve.call.standing import Standing
from relserve.errors import EngineError

LONGEST = 2**30  # bytes of a message; what is no engine of ours seems to announce more
PART = 1 << 20  # characters of prompts and grammars that are sent together, or one prompt
_LENGTH = struct.Struct("<I")
_CREDENTIALS = struct.Struct("3i")  # of SO_PEERCRED: pid, uid, gid


class SubmissionMessage(NamedTuple):
    """A client wants prompts answered, which follow in parts.

    Attributes:
        submission: without its prompts and their grammars.
        num_prompts: how many follow.
    """

    submission: Submission
    num_prompts: int


class PromptsMessage(NamedTuple):
    """Some of the prompts, and their grammars where they have any of their own."""

    prompts: Sequence[str]
    grammars: Sequence[Grammar | None] | None


class Replied(NamedTuple):
    """Some of its prompts have their replies."""

    replies: list[Reply]


class EngineNotice(NamedTuple):
    """What the engine announces while it works, such as that it is started anew."""

    text: str


class Stands(NamedTuple):
    """Rows wait to be admitted."""

    standing: Standing


class SubmissionEnded(NamedTuple):
    """Nothing more comes: all prompts are answered, or an error of this class name ended the work."""

    error: str = ""
    message: str = ""


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """The next message.

    Raises:
        asyncio.IncompleteReadError, ConnectionError: the other side is gone.
        EngineError: what came is no message.
    """
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > LONGEST:
        raise EngineError(
            f"a message of {length:,} bytes: what is at the socket is no engine of relserve; end its process "
            "or set RELSERVE_ENGINE=own"
        )
    return await reader.readexactly(length)


async def write_message(writer: asyncio.StreamWriter, message: bytes) -> None:
    """Send a message; raises ConnectionError where the other side is gone."""
    writer.write(_LENGTH.pack(len(message)) + message)
    await writer.drain()


async def read_json(reader: asyncio.StreamReader) -> dict[str, Any]:
    """A message that is a JSON object; raises as `read_message`."""
    message = await read_message(reader)
    try:
        value = json.loads(message)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise EngineError(f"no JSON object: {message[:60]!r}")
    return value


async def write_json(writer: asyncio.StreamWriter, value: dict[str, Any]) -> None:
    """Send a JSON object; raises as `write_message`."""
    await write_message(writer, json.dumps(value).encode())


async def read_object(reader: asyncio.StreamReader) -> Any:
    """A pickled message of the same release and user; raises as `read_message`."""
    return pickle.loads(await read_message(reader))


async def write_object(writer: asyncio.StreamWriter, value: Any) -> None:
    """Send one; raises as `write_message`."""
    put_object(writer, value)
    await writer.drain()


async def write_submission(writer: asyncio.StreamWriter, submission: Submission) -> None:
    """Send a submission, its prompts in parts, so that a large one keeps nobody else waiting.

    A grammar that several prompts of a part have is sent once.

    Raises:
        ConnectionError: the other side is gone.
    """
    bare = replace(submission, prompts=(), grammars=None, told=None)
    await write_object(writer, SubmissionMessage(bare, len(submission.prompts)))
    for part in _parts(submission):
        await write_object(writer, part)


async def read_submission(reader: asyncio.StreamReader) -> Submission:
    """What `write_submission` sent; raises as `read_message`."""
    asked: SubmissionMessage = await read_object(reader)
    prompts, grammars = list[str](), list[Grammar | None]()
    while len(prompts) < asked.num_prompts:
        part: PromptsMessage = await read_object(reader)
        prompts += part.prompts
        grammars += part.grammars or ()
    return replace(asked.submission, prompts=prompts, grammars=grammars or None)


def _parts(submission: Submission) -> Iterator[PromptsMessage]:
    """The prompts of a submission, so many together as are quickly sent."""
    prompts, own = submission.prompts, submission.grammars
    start, size, seen = 0, 0, set[int]()
    for number, prompt in enumerate(prompts, 1):
        size += len(prompt)
        if own is not None and (grammar := own[number - 1]) is not None and id(grammar) not in seen:
            seen.add(id(grammar))
            size += len(grammar.ebnf) + sum(map(len, grammar.source or ()))
        if size >= PART or number == len(prompts):
            yield PromptsMessage(prompts[start:number], None if own is None else own[start:number])
            start, size, seen = number, 0, set()


def put_object(writer: asyncio.StreamWriter, value: Any) -> None:
    """Send one without waiting until the other side takes it."""
    message = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    writer.write(_LENGTH.pack(len(message)) + message)


def is_own(connection: socket.socket) -> bool:
    """Whether the process at the other end is this user's, as far as the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):  # Linux tells; elsewhere the folder's mode has to do
        return True
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(found)
    return bool(uid == os.getuid())
