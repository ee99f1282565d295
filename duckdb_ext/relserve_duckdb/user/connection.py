"""A DuckDB connection with the llm functions: behaves like one, and asks each statement's rows at once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

import duckdb

from relserve.session.session import Session
from relserve_duckdb.describe.describer import Describer
from relserve_duckdb.describe.description import Description
from relserve_duckdb.explain.explainer import Explainer
from relserve_duckdb.explain.explanation import Explanation
from relserve_duckdb.late.rewriter import LateCalls
from relserve_duckdb.questions.answer import Text2SqlAnswer
from relserve_duckdb.questions.asker import Asker, Pipeline
from relserve_duckdb.questions.expander import Expander
from relserve_duckdb.questions.queries import Queries
from relserve_duckdb.rehearse.reading import Reading
from relserve_duckdb.rehearse.rehearsal_builder import RehearsalBuilder
from relserve_duckdb.text.call_limits import AGGREGATE
from relserve_duckdb.text.indirect_calls import IndirectCalls
from relserve_duckdb.text.question_calls import TEXT2SQL
from relserve_duckdb.udf.client import Client, Variables
from relserve_duckdb.udf.connection_state import Changes, ConnectionState
from relserve_duckdb.udf.handlers import Unread
from relserve_duckdb.udf.macros import NAMES, Functions
from relserve_duckdb.user.cursors import Cursors
from relserve_duckdb.user.error_mapping import own_errors
from relserve_duckdb.user.methods import CHAINED, EARLIER, FETCHES, RELATIONS
from relserve_duckdb.user.relation import Relation, reading_of, unwrapped
from relserve_duckdb.user.result_owner import ResultOwner
from relserve_duckdb.user.runner import Runner
from relserve_duckdb.user.stream import ResultStream, open_stream
from relserve_duckdb.user.variables import is_one_shot


class Connection:
    """A `duckdb.DuckDBPyConnection` that knows llm(), as a proxy (DuckDB's class cannot be subclassed).

    Args:
        client: who runs the statements: brings variables and interrupts, gets progress and warnings.
        prefetch, memo, pipeline, is_new: see `attach`.
        parent: the connection that this is a cursor of.

    Attributes:
        raw: DuckDB's own connection; the functions work there too, without prefetch.
        session: what answers.
    """

    def __init__(
        self,
        raw: duckdb.DuckDBPyConnection,
        session: Session,
        client: Client,
        prefetch: bool,
        memo: bool = True,
        parent: Connection | None = None,
        pipeline: Pipeline | None = None,
        is_new: bool = False,
    ) -> None:
        self.raw = raw
        self.session = session
        changes: Changes = parent._state.changes if parent else Changes()
        self._asker: Asker = Asker(raw, session, parent._asker.pipeline if parent else pipeline)
        self._state: ConnectionState = ConnectionState(session, client, changes, memo, Queries(self._asker))
        self._asks = False  # whether the open result may make llm calls
        self._lock, self._result_owner = threading.RLock(), ResultOwner()
        self._functions: Functions = Functions(raw, self._state, parent._functions if parent else None)
        calls: IndirectCalls = parent._indirect_calls if parent else IndirectCalls(raw, is_new, NAMES)
        self._indirect_calls: IndirectCalls = calls
        self._cursors: Cursors = parent._cursors if parent else Cursors()
        state, ahead = self._state, prefetch and memo
        rehearsals = RehearsalBuilder(raw, state, self._functions, calls)
        expander = Expander(raw, state, self._asker)
        late = LateCalls(raw, state, calls, rehearsals.one_shot_in, ahead)
        self._explainer = Explainer(raw, state, calls, rehearsals, expander, late)
        self._describer = Describer(raw, state, calls, expander)
        self._runner = Runner(raw, state, calls, rehearsals, self._explainer, expander, late, ahead)

    @property
    def last_sql(self) -> str | None:
        """The statement that ran last in place of one with text2sql(); None: none has yet."""
        return self._asker.last_sql

    @property
    def __relserve_raw__(self) -> duckdb.DuckDBPyConnection:
        return self.raw

    def execute(self, query: Any, parameters: Any = None) -> Connection:
        """As `DuckDBPyConnection.execute`."""
        variables = self.variables(sys._getframe(1))
        with self._lock:
            self._result_owner.take()
            self._leave_result()
            if self.asks_nothing(query) and not self._indirect_calls.is_changed_by(self.raw, query):
                self._asks = False
                self._state.start_statement()
                with self.changing(query):
                    variables.call(self.raw.execute, query, parameters)
            else:  # statement by statement: learning what one of them made must not end the last one's result
                with self._asking():
                    self._runner.execute(variables, query, parameters)
        return self

    def executemany(self, query: Any, parameters: Any = None) -> Connection:
        """As `DuckDBPyConnection.executemany`; llm calls in it ask as each set of parameters comes."""
        variables = self.variables(sys._getframe(1))
        with self._lock, self._asking():
            self._result_owner.take()
            self._leave_result()
            self._runner.only_reads = False
            runnable = self._runner.runnable(query)
            self._runner.start(str(runnable))
            with self.changing(), self._runner.watching():
                variables.call(self.raw.executemany, runnable, parameters)
        return self

    def sql(self, query: Any, **kwargs: Any) -> Relation | None:
        """As `DuckDBPyConnection.sql`: a relation, which prefetches each time it reads rows."""
        return self._sql(self.variables(sys._getframe(1)), query, kwargs)

    query = from_query = sql

    def stream(self, query: str, parameters: Any = None, batch_rows: int = 2048) -> ResultStream | None:
        """One statement that only reads, as Arrow batches that come as they are made.

        Args:
            batch_rows: most rows of a batch.

        Returns:
            The open result; nothing else runs before its end or close. None: the text is only a comment.
        """
        kwargs = {"params": parameters} if parameters else {}
        relation: Any = self._sql(self.variables(sys._getframe(1)), query, kwargs)
        if relation is not None and self.asks_nothing(query):
            self._state.start_statement()
            relation = unwrapped(relation)  # the proxy would look for something to prefetch once more
        return None if relation is None else open_stream(relation, batch_rows, self._streaming)

    @contextmanager
    def _streaming(self) -> Iterator[None]:
        with self._lock, self._guarded():
            yield
        self._state.run.warn()

    def register(self, view_name: str, python_object: Any) -> Connection:
        """As `DuckDBPyConnection.register`."""
        thing = unwrapped(python_object)
        self.raw.register(view_name, thing)
        self._runner.rehearsals.registered(view_name, thing, is_one_shot(thing))
        return self

    def text2sql(self, question: str, **options: Any) -> Text2SqlAnswer:
        """The SQL that answers a question about this database, and its rows when they are asked for.

        Args:
            options: those of text2sql() in SQL, by their names; a deadline is a timedelta, or in seconds.

        Raises:
            Text2SqlError, OptionError: the question became no SQL, or an option is wrong.
        """
        with self._lock, self._asking():
            outcome = self._asker.answer(question, options, self._state.run.cancel)
        return Text2SqlAnswer(outcome, options, self.sql)

    def explain_llm(self, query: Any, parameters: Any = None, *, sample: int = 0) -> Explanation:
        """What the llm calls of a statement or relation would ask: rows, prompts, tokens, time.

        The part of the query without llm calls runs, to find out. Asks nothing but the sample.

        Args:
            query, parameters: one statement, as for `execute`, with or without EXPLAIN; or a relation.
            sample: prompts of each call that are asked after all, to tell how sure the model is.

        Returns:
            An object that prints as a table and has a `table` (Arrow) for programs.

        Raises:
            UsageError: several statements, or a call is wrong.
            ModelError, duckdb.Error: a call's model is not to be had; the statement is wrong.
        """
        variables = self.variables(sys._getframe(1))
        with self._lock, self._asking():
            if isinstance(query, Relation):
                return self._explainer.explain_relation(unwrapped(query), reading_of(query), sample)
            return self._runner.explain(variables, query, parameters, sample)

    def describe(self, query: str, parameter_types: Sequence[str | None] = ()) -> Description:
        """What one statement gives and takes, from DuckDB's bind: it does not run, and asks nothing.

        Args:
            parameter_types: DuckDB's types of its first parameters, None for those that are to be found.

        Raises:
            UsageError: several statements, or an llm call is wrong.
            duckdb.Error: the statement is wrong, or an unread result is open on this connection.
        """
        variables = self.variables(sys._getframe(1))
        with self._lock, self._guarded():
            return self._describer.describe(variables, query, parameter_types)

    def explained(self, relation: duckdb.DuckDBPyRelation, reading: Reading) -> str:
        """A relation's plan and what reading it would ask; "" where it makes no llm call."""
        with self._lock, self._asking():
            self._state.start_statement()
            return self._explainer.relation_text(relation, reading)

    def perform(self, relation: duckdb.DuckDBPyRelation, reading: Reading, run: Callable[[], Any]) -> Any:
        """Prefetch what a relation of this connection will ask, then run what reads it."""
        with self._lock, self._asking():
            return self._runner.perform(relation, reading, run)

    def runnable(self, query: str) -> str:
        """What to hand to DuckDB for a text that a relation is given."""
        lower = query.lower()
        return str(self._runner.runnable(query)) if AGGREGATE in lower or TEXT2SQL in lower else query

    def variables(self, frame: FrameType) -> Variables:
        """The variables that a text may name when it is run from this frame."""
        return self._state.client.variables(frame)

    def learn(self, made: str) -> None:
        """Learn what was made as by a statement that begins so."""
        self._indirect_calls.learn(self.raw, made)

    def changing(self, text: str = "") -> AbstractContextManager[None]:
        """What may change data runs inside; a text that only reads is no change."""
        return self._state.changing(text)

    def cursor(self) -> Connection:
        """A new connection to the same database, with the functions (TEMP macros are not shared)."""
        return self.cursor_for(self.session, self._state.client)

    duplicate = cursor

    def cursor_for(self, session: Session, client: Client) -> Connection:
        """A cursor for somebody else: asks through their session, which has a history of its own.

        Args:
            session: what answers, and what llm_queries() and llm_errors() show.
            client: who runs the cursor's statements.
        """
        raw, keeps_answers = self.raw.cursor(), self._state.keeps_answers
        new = Connection(raw, session, client, self._runner.prefetches, keeps_answers, self)
        self._cursors.add(new, new._functions)
        return new

    def interrupt(self) -> None:
        """Stop the running statement, from another thread; its requests are aborted in the engine."""
        self._state.run.cancel.set()
        self._runner.interrupt()

    def close(self) -> None:
        """Close; a result that is still streaming asks nothing more."""
        with suppress(duckdb.ConnectionException):  # closed before
            self.interrupt()
        with self._lock:
            # an unread result or an open transaction would keep the functions in the catalog
            for end in (self.raw.abort, self.raw.rollback):
                with suppress(duckdb.Error):
                    end()
            self._cursors.sweep()
            self._functions.close()
            self._state.run.close()
            self._runner.rehearsals.close()
            self.raw.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.raw)})

    def __getattr__(self, name: str) -> Any:
        if name == "raw":  # not there yet, as while being unpickled
            raise AttributeError(name)
        found = EARLIER[name](self.raw) if name in EARLIER else getattr(self.raw, name)
        if name in FETCHES:
            return partial(self._fetch, found)
        if name in RELATIONS:
            return partial(self._relation, found)
        return partial(self._chained, found) if name in CHAINED else found

    def _leave_result(self) -> None:
        """End a result that was read in part: DuckDB would make many more of its rows, and ask for them."""
        if self._asks and self._runner.only_reads:
            with self._state.handled_by(Unread()), suppress(duckdb.Error):
                self.raw.abort()

    def asks_nothing(self, query: Any) -> bool:
        """Whether a text can make no llm call, through a view or a macro either."""
        return isinstance(query, str) and not self._indirect_calls.mentions(query)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Something that may make llm calls runs inside."""
        self._asks = True
        self._state.begin()
        with self._guarded():
            yield
        self._state.run.warn()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """DuckDB is called inside, for something that may make llm calls."""
        with self._state.client.watching(self.interrupt), own_errors(self._state):
            yield

    def _sql(self, variables: Variables, query: Any, kwargs: dict[str, Any]) -> Relation | None:
        with self._lock:
            if self.asks_nothing(query) and not self._indirect_calls.is_changed_by(self.raw, query):
                with self.changing(query):
                    found = variables.call(self.raw.sql, query, **kwargs)
                reading = self._runner.reading_of(variables, query)
            else:
                with self._asking():
                    found, reading = self._runner.sql(variables, query, kwargs)
        return None if found is None else Relation(found, self, reading)

    def _fetch(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            self._result_owner.check()
            if not self._asks:
                return method(*args, **kwargs)
            with self._guarded(), self._runner.watching():
                found = self._runner.watched(method(*args, **kwargs))
            self._state.run.warn()
            return found

    def _chained(self, method: Any, *args: Any, **kwargs: Any) -> Connection:
        """A method that gives its connection back, to be chained: `con.begin().execute(..)`."""
        with self.changing():
            method(*args, **kwargs)
        return self

    def _relation(self, method: Any, *args: Any, **kwargs: Any) -> Relation:
        reading = Reading.ONCE if any(map(is_one_shot, (*args, *kwargs.values()))) else Reading.PREFETCH
        with self._lock:
            return Relation(method(*map(unwrapped, args), **kwargs), self, reading)
