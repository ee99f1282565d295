"""Texts whose vectors a server tells, many in a request of /embeddings."""

from __future__ import annotations

from dataclasses import dataclass

from relserve.call.relquery import Reply, Submission, Usage
from relserve.call.vector_text import text_of_vector
from relserve.engines.http.dialect import Dialect, encodable
from relserve.engines.http.reply import UnreadableReply, usage_shares
from relserve.engines.http.rows import HttpRows
from relserve.errors import Failure, FailureKind

MOST_TEXTS = 64  # in a request


@dataclass(eq=False)
class EmbeddedRows(HttpRows):
    """Sends rows whose replies are vectors; see `HttpRows`."""

    def _together(self, index: int) -> tuple[int, ...]:
        return tuple(range(index, min(len(self.submission.prompts), index + MOST_TEXTS)))

    async def _request(
        self, indices: tuple[int, ...], dialect: Dialect, submission: Submission
    ) -> list[Reply]:
        texts = [encodable(self.submission.prompts[index]) for index in indices]
        body = {"model": self.server.model, "input": texts, "encoding_format": "float"}
        data = await self._post("/embeddings", body)
        found = _vectors_in(data, len(texts))
        usages = usage_shares(data, len(texts))
        return [_reply(*each) for each in zip(indices, found, usages, strict=True)]


def _vectors_in(data: object, num_texts: int) -> list[list[float]]:
    """The vectors of a response, in the order of the texts.

    Raises:
        UnreadableReply: it has others than were asked for.
    """
    items = data.get("data") if isinstance(data, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UnreadableReply("the response has no list of embeddings")
    found = {item.get("index"): item.get("embedding") for item in items}
    if set(found) != set(range(num_texts)) or not all(map(_are_numbers, found.values())):
        raise UnreadableReply(f"the response has not one list of numbers for each of {num_texts} texts")
    if len({len(vector) for vector in found.values()}) > 1:
        raise UnreadableReply("the response has vectors of several lengths")
    return [found[index] for index in range(num_texts)]


def _are_numbers(vector: object) -> bool:
    return isinstance(vector, list) and bool(vector) and all(type(each) in (int, float) for each in vector)


def _reply(index: int, vector: list[float], usage: Usage) -> Reply:
    text = text_of_vector(vector)
    failure = Failure(FailureKind.UNPARSABLE, "the vector has no length") if text is None else None
    return Reply(index, text, failure, usage)
