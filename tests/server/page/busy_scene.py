"""A busy server made up for looking at the page: it moves, and no two panels contradict each other."""

from __future__ import annotations

import math
import os
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from relserve.call.relquery import Usage
from relserve.errors import Failure, FailureKind
from relserve.machine.engine_status import EngineStatus, RelStatus
from relserve.server.page.facts import ConnectedClient
from relserve.session.history import ErrorRecord, QueryRecord
from tests.server.page.page_facts import WrittenFacts

MODEL = "Qwen/Qwen3-8B"
PROMPT, REPLY = 180, 24  # tokens of a row


class Asked(NamedTuple):
    """One relQuery of the scene: who asks what, from when on, and rows done in a second."""

    user: str
    function: str
    template: str
    rows: int
    begins_s: float
    rows_per_s: float
    failing: float = 0.0


ASKED = [
    Asked(
        "etl", "llm_classify", "Which team should handle this ticket? {subject}: {body}", 5000, 40, 6.1, 0.004
    ),
    Asked("superset", "llm_filter", "Is this review about delivery? {review}", 800, 330, 9.0),
    Asked("ann", "llm_extract", "Name the product and the fault: {body}", 240, 560, 3.0, 0.06),
    Asked("superset", "llm_classify", "Sentiment of this review: {review}", 1200, 560, 6.0),
    Asked("bob", "llm", "Sum up in five words: {note}", 12, 600, 0.7),
    Asked("grafana", "llm_score", "How urgent is this ticket, 1 to 5? {subject}", 50, 604, 3.0),
    Asked("ann", "llm", "Translate into French: {subject}", 30, 609, 2.0),
]
CLIENTS = [
    (
        "etl",
        "dbt",
        "10.0.4.17:52114",
        "SELECT id, llm_classify('Which team should handle this ticket? {subject}: {bo..",
    ),
    (
        "superset",
        "Apache Superset",
        "10.0.4.20:40022",
        "SELECT sentiment, count(*) FROM reviews_by_sentiment GROUP BY 1",
    ),
    (
        "superset",
        "Apache Superset",
        "10.0.4.20:40030",
        "SELECT day, count(*) FROM reviews WHERE llm_filter(..",
    ),
    (
        "ann",
        "psql",
        "127.0.0.1:60412",
        "SELECT id, llm_extract('Name the product and the fault: {body}', body) FROM tickets",
    ),
    ("ann", "DBeaver 25.2 - SQLEditor", "10.0.4.31:61822", "SELECT * FROM tickets LIMIT 200"),
    (
        "grafana",
        "grafana",
        "10.0.4.22:33810",
        "SELECT bucket, avg(urgency) FROM urgency GROUP BY bucket ORDER BY bucket",
    ),
    ("bob", "", "10.0.4.9:50001", "BEGIN"),
    ("metabase", "Metabase v0.61 [app]", "10.0.4.25:44100", "SELECT 1"),
]
STATES = ["active", "active", "active", "active", "idle", "active", "idle in transaction", "idle"]


@dataclass
class BusyScene(WrittenFacts):
    """What is going on at `now_s` of the scene's clock."""

    now_s: float = 0.0
    chance: random.Random = field(default_factory=lambda: random.Random(15))

    def move(self, now_s: float) -> None:
        """Let the scene's clock go on."""
        passed, self.now_s = now_s - self.now_s, now_s
        wall = datetime.now(timezone.utc)
        self.queries_now = [
            (each.user, self._record(i, each, wall)) for i, each in enumerate(ASKED) if each.begins_s <= now_s
        ]
        self.engines_now = [self._engine(wall)]
        self.clients_now = [
            ConnectedClient(7101 + i, *client[:3], state, wall - timedelta(seconds=3.2 + 17 * i), client[3])
            for i, (client, state) in enumerate(zip(CLIENTS, STATES, strict=True))
        ]
        self.errors_now = [each for each in self._errors(wall) if each[1].at <= wall]
        for _ in range(int(passed * (9 + 5 * math.sin(now_s / 40)) + self.chance.random())):
            self.counters.statement_ended(self.chance.lognormvariate(-5.6, 0.9), rows=20)

    def _done(self, asked: Asked) -> float:
        """Rows done by now; a little unsteady, and slower while others are ahead."""
        ran_s = self.now_s - asked.begins_s
        ripple = 2.5 * math.sin(ran_s / 9) + 4 * math.sin(ran_s / 31)
        return min(max(ran_s * asked.rows_per_s * 0.92 + ripple, 0.0), asked.rows)

    def _record(self, number: int, asked: Asked, wall: datetime) -> QueryRecord:
        done = int(self._done(asked))
        is_done = done >= asked.rows
        return QueryRecord(
            f"rel-4242-9c1f00-{number + 1}", asked.function, asked.template, MODEL, asked.rows, asked.rows,
            num_done=done, num_rows_done=done, num_failed=int(done * asked.failing),
            num_cached=asked.rows // 6 if asked.user == "superset" else 0,
            state="done" if is_done else "running",
            seconds=asked.rows / asked.rows_per_s if is_done else None,
            started=wall - timedelta(seconds=self.now_s - asked.begins_s),
            usage=Usage(done * PROMPT, done * 90, done * REPLY),
        )  # fmt: skip

    def _engine(self, wall: datetime) -> EngineStatus:
        running = [
            (i, each, self._done(each))
            for i, each in enumerate(ASKED)
            if each.begins_s <= self.now_s and self._done(each) < each.rows
        ]
        running.sort(key=lambda each: (each[1].rows - each[2]) / each[1].rows_per_s)
        rels = [
            RelStatus(
                f"rel-4242-9c1f00-{i + 1}", each.rows, int(done), 0,
                "waiting" if done < 1 else "tail running" if done > 0.85 * each.rows else "core running",
                left := (each.rows - done) / each.rows_per_s / 2, left, self.now_s - each.begins_s,
            )
            for i, each, done in running
        ]  # fmt: skip
        waiting = sum(int(each.rows - done) for _, each, done in running)
        return EngineStatus(
            os.getpid(), None, MODEL, "dpu+marginal", wall.timestamp(),
            min(48, waiting), max(waiting - 48, 0),
            min(0.94, 0.3 + 0.11 * len(running) + 0.05 * math.sin(self.now_s / 12)), len(rels), rels,
        )  # fmt: skip

    def _errors(self, wall: datetime) -> list[tuple[str, ErrorRecord]]:
        said = [
            ("etl", 1, "over_context", "the prompt has 9,120 tokens; the model's context has 8,192", 3, 120),
            ("etl", 1, "unparsable", "'Team Blue' is none of billing, delivery, returns, other", 15, 44),
            ("ann", 3, "unparsable", "no value for fault, which must be text", 2, 9),
        ]
        return [
            (user, ErrorRecord(f"rel-4242-9c1f00-{rel}", ASKED[rel - 1].function,
                               Failure(FailureKind(kind), why), "", rows, 1, wall - timedelta(seconds=ago)))
            for user, rel, kind, why, rows, ago in said
        ]  # fmt: skip
