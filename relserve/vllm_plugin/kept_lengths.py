"""What an engine learns of its outputs' lengths, kept on disk from one engine to the next."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from relserve.machine.length_file import read_lengths, text_of
from relserve.policies.model.length_bins import LengthCounts
from relserve.policies.model.lengths import LengthLearner
from relserve.vllm_plugin.background_file import EVERY_S, kept_file

TURN_S = 1.0  # between looks at what was learnt


class KeptLengths:
    """A learner of output lengths and its file.

    A look is part of a step, so it only copies the counts that have changed; the thread that writes the file
    turns them into JSON, which takes ten times as long.

    Args:
        path: of the file; None: what is learnt is kept nowhere.

    Attributes:
        learner: begins with what the file holds.
    """

    def __init__(self, path: Path | None, every_s: float = EVERY_S) -> None:
        self.learner = LengthLearner() if path is None else read_lengths(path)
        self._copies: dict[str, LengthCounts] = {}
        self._texts: dict[LengthCounts, str] = {}  # of copies, as JSON; the other thread's alone
        self._num_copied = self.learner.general.num_ended
        self._next_s = 0.0
        self._file = kept_file(path, every_s, "lengths of answers will be learnt anew")
        if self._file is not None:
            self._copy()

    def tick(self, is_idle: bool) -> None:
        """Look at what was learnt; to be called after every step and abort.

        Args:
            is_idle: whether nothing is left to do, so that nothing may call again for long.
        """
        now_s = time.monotonic()
        if is_idle or now_s >= self._next_s:
            self._next_s = now_s + TURN_S
            self._look()

    def close(self) -> None:
        """Bring the file up to date, and write it no more."""
        self._look()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _look(self) -> None:
        """Have the file written if rows have ended since the last look."""
        general = self.learner.general
        if self._file is None or general.num_ended == self._num_copied:
            return
        self._num_copied = general.num_ended
        self._copy()
        self._file.put(partial(self._text, general.snapshot(), self._copies))

    def _copy(self) -> None:
        """Copy what has changed, into a dictionary of its own: the other thread may still read the last."""
        before, self._copies = self._copies, {}
        for kind, counts in self.learner.kinds.items():
            if counts.num_ended:
                known = before.get(kind, counts)
                is_kept = known is not counts and known.num_ended == counts.num_ended
                self._copies[kind] = known if is_kept else counts.snapshot()

    def _text(self, general: LengthCounts, kinds: Mapping[str, LengthCounts]) -> str:
        """The file's text; only kinds that have changed are turned into JSON."""
        before = self._texts
        self._texts = {copy: before.get(copy) or json.dumps(copy.as_dict()) for copy in kinds.values()}
        texts = {kind: self._texts[copy] for kind, copy in kinds.items()}
        return text_of(json.dumps(general.as_dict()), texts)
