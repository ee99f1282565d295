"""What an engine learns of its outputs' lengths, kept on disk from one engine to the next."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from relserve.machine.length_file import read_lengths, text_of
from relserve.policies.scheduling.lengths import LengthLearner
from relserve.vllm_plugin.background_file import EVERY_S, kept_file

TURN_S, A_TURN = 1.0, 16  # seconds between looks at what was learnt, and kinds put into words at each


class _Told(NamedTuple):
    """A kind in words, JSON, and how many rows had ended by then."""

    num_ended: int
    text: str


class KeptLengths:
    """A learner of output lengths and its file.

    Only what changed is put into words, and a few kinds at a time, for that is done within a step.

    Args:
        path: of the file; None: what is learnt is kept nowhere.

    Attributes:
        learner: begins with what the file holds.
    """

    def __init__(self, path: Path | None, every_s: float = EVERY_S) -> None:
        self.learner = LengthLearner() if path is None else read_lengths(path)
        self._told: dict[str, _Told] = {}
        self._num_told = self.learner.general.num_ended
        self._next_s = 0.0
        self._file = kept_file(path, every_s, "lengths of answers will be learnt anew")
        if self._file is not None:
            self._put_into_words(len(self.learner.kinds))

    def tick(self, is_idle: bool) -> None:
        """To be called after every step and abort; one after which nothing is left to do has time for all."""
        now_s = time.monotonic()
        if is_idle or now_s >= self._next_s:
            self._next_s = now_s + TURN_S
            self._tell(len(self.learner.kinds) if is_idle else A_TURN)

    def close(self) -> None:
        """Bring the file up to date, and write it no more."""
        self._tell(len(self.learner.kinds))
        if self._file is not None:
            self._file.close()
            self._file = None

    def _tell(self, most: int) -> None:
        """Have the file written where rows have ended, with the news of up to so many kinds."""
        num_ended = self.learner.general.num_ended
        if self._file is None or num_ended == self._num_told:
            return
        if self._put_into_words(most):
            self._num_told = num_ended
        kinds = {kind: told.text for kind, told in self._told.items()}
        self._file.put(partial(text_of, json.dumps(self.learner.general.as_dict()), kinds))

    def _put_into_words(self, most: int) -> bool:
        """Of what is new, up to so many kinds; gives whether that was all."""
        before, self._told = self._told, {}  # without those that the learner has forgotten
        for kind, rows in self.learner.kinds.items():
            told = before.get(kind)
            if rows.num_ended and most >= 0 and (told is None or told.num_ended != rows.num_ended):
                most -= 1
                told = _Told(rows.num_ended, json.dumps(rows.as_dict())) if most >= 0 else told
            if told is not None:
                self._told[kind] = told
        return most >= 0
