"""Rows on their way through llm filters: each asked only for the rows that can still matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from relserve.call.answer_types import Answer
from relserve.call.relquery import sampling_of
from relserve.policies.filter_order import STEP, FilterCounts, cheapest, next_block, sample_size, spread
from relserve.policies.model.linear import CostModel
from relserve.session.prompt_price import expected_work, price
from relserve_duckdb.rehearse.filter_shape import Filter
from relserve_duckdb.rehearse.input_scan import InputScan
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.memo import Wanted

Judge = Callable[[Filter, list[Any]], dict[Any, bool]]  # which of the distinct answers pass


class FilterRunner:
    """Asks the filters about the rows of a scan, the best filter first."""

    def __init__(self, state: ConnectionState, filters: Sequence[Filter], judge: Judge) -> None:
        self.run, self.pass_rates = state.run, state.pass_rates
        self.filters, self.judge = filters, judge
        self.verdicts: list[dict[str | None, bool]] = [{None: False} for _ in filters]
        self._num_asked = [0 for _ in filters]
        self._samplings = [sampling_of(each.function, each.options) for each in filters]
        self.scan: InputScan

    def use(self, scan: InputScan) -> None:
        """Go on with the rows of another scan; what was asked stays known."""
        self.scan = scan

    def decide_all(self) -> None:
        """Decide every row."""
        n = self.scan.num_rows
        sample = spread(n, sample_size(n, limited=False)) if self._needs_sample() else range(0)
        if sample:
            self._ask_all(sample, range(n))
            rest = [row for row in range(n) if row not in sample]
            step = spread(len(rest), len(sample) * STEP if len(rest) > len(sample) * STEP else 0)
            self._decide([rest[k] for k in step], expected=range(n))
        self._decide(range(n))

    def decide_until(self, need: int) -> bool:
        """Decide rows until so many pass; False when the rows end before, or some wait for a batch."""
        done = passed = 0
        while done < self.scan.num_rows:
            block = range(done, min(self.scan.num_rows, done + next_block(done, passed, need)))
            if self._needs_sample():
                self._ask_all(block[: sample_size(len(block), limited=True)], block)
            passed += len(self._decide(block, need - passed))
            done = block.stop
            if passed >= need:
                return True
            if self.run.waits_for_batch:
                break
        return False

    def skipped(self, i: int) -> set[str | None]:
        """Inputs of filter i that need no answer: another filter drops all their rows."""
        return self.scan.prompts(i) - self.verdicts[i].keys()

    @cached_property
    def _cost_models(self) -> list[CostModel | None]:
        """The calibrated cost model of each filter's model."""
        return [self.run.session.find_cost(each.options.model) for each in self.filters]

    def _needs_sample(self) -> bool:
        return len(self.filters) > 1 and not all(self._seen(i).is_sure for i in range(len(self.filters)))

    def _seen(self, i: int) -> FilterCounts:
        site = self.scan.sites[i]
        return self.pass_rates.setdefault(site, FilterCounts()) if site is not None else FilterCounts()

    def _ask_all(self, rows: Sequence[int], expected: Sequence[int]) -> None:
        for i in range(len(self.filters)):
            self._ask(i, rows, expected=expected)

    def _decide(
        self, rows: Sequence[int], need: int | None = None, expected: Sequence[int] = ()
    ) -> list[int]:
        """Ask what is needed to decide these rows; those that pass.

        Args:
            need: so many will do; requests that are then still on their way are aborted.
            expected: rows about which a filter may be asked in all, as far as known; none: no others.
        """
        left = list(self.scan.order)
        for i in left:
            rows = self._not_dropped(i, rows)
        while rows and left:
            best = left[0] if self._needs_sample() else self._best(left, rows)
            left.remove(best)
            self._ask(best, rows, None if left else need, expected)
            verdict, column = self.verdicts[best], self.scan.columns[best]
            rows = [row for row in rows if verdict.get(column[row])]
        return list(rows)

    def _best(self, left: Sequence[int], rows: Sequence[int]) -> int:
        costs = {i: self._cost(i, rows) for i in left}
        return cheapest(costs, {i: self._seen(i).share for i in left})

    def _not_dropped(self, i: int, rows: Sequence[int]) -> list[int]:
        verdict, column = self.verdicts[i], self.scan.columns[i]
        return [row for row in rows if verdict.get(column[row], True)]

    def _fresh(self, i: int, rows: Sequence[int]) -> Counter[str | None]:
        """Prompts without a verdict, with the number of rows of each."""
        verdict, column = self.verdicts[i], self.scan.columns[i]
        return Counter(column[row] for row in rows if column[row] not in verdict)

    def _cost(self, i: int, rows: Sequence[int]) -> float:
        """What asking filter i about these rows costs a row, in tokens read."""
        prompts = [prompt or "" for prompt in self._fresh(i, rows)]
        return price(expected_work(prompts, self._samplings[i]), self._cost_models[i]) / len(rows)

    def _ask(
        self, i: int, rows: Sequence[int], need: int | None = None, expected: Sequence[int] = ()
    ) -> None:
        """Ask filter i about these rows, or about some of them if `need` rows pass before.

        Args:
            expected: see `_decide`.
        """
        site, fresh = self.scan.sites[i], self._fresh(i, rows)
        if site is None or not fresh:
            return
        known, verdict, column = self.run.memo.known(site), self.verdicts[i], self.scan.columns[i]
        prompts = [prompt for prompt in fresh if prompt is not None and prompt not in known]
        if prompts:
            wanted = Wanted(site, prompts, [fresh[p] for p in prompts], 0, self.scan.rows_of(i, prompts))
            num_sure = sum(verdict.get(column[row], False) for row in rows)
            enough = None if need is None else partial(self._are_enough, i, fresh, prompts, need - num_sure)
            announced = self._num_asked[i] + len(self._fresh(i, expected)) if expected else None
            self._num_asked[i] += len(prompts)
            self.run.remember(wanted, enough, announced)
        answered = [prompt for prompt in fresh if prompt in known]
        passes = self.judge(self.filters[i], [known[prompt] for prompt in answered])
        verdict.update((prompt, passes[known[prompt]]) for prompt in answered)
        num_passed = sum(fresh[prompt] for prompt in answered if verdict[prompt])
        self._seen(i).add(sum(fresh[prompt] for prompt in answered), num_passed)

    def _are_enough(
        self,
        i: int,
        num_rows: Counter[str | None],
        prompts: Sequence[str | None],
        need: int,
        answers: Sequence[Answer | None],
    ) -> bool:
        """Whether the rows of the answers that have come pass in sufficient number."""
        came = [(p, each.value) for p, each in zip(prompts, answers, strict=True) if each is not None]
        passes = self.judge(self.filters[i], [value for _, value in came])
        return sum(num_rows[prompt] for prompt, value in came if passes[value]) >= need
