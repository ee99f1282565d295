"""In which ways the pairs of a join can be asked, and what each is likely to take.

Block sizes follow Trummer's block join (arXiv 2510.08489): a prompt reads rows of both sides and writes the
pairs that match, and both have to fit. With `s1` and `s2` tokens a left and a right row, a share `m` of pairs
that match and `s3` tokens to write one, a block of l and r rows fits `t` tokens if

    l s1 + r s2 + l r m s3 <= t

and has most pairs where l s1 = r s2 = u, the root of 2 u + u^2 m s3 / (s1 s2) = t. The share is measured
while blocks are asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from relserve.policies.joining.bicliques import Biclique

PAIR_TOKENS = 7  # to write a pair of numbers
VERDICT_TOKENS = 2  # to write yes or no
REQUEST_TOKENS = 50  # what a prompt takes besides its tokens: a chat's frame, a place in a step, a round trip
WRITTEN_PRICE = 8.0  # of a token that the model writes, in tokens that it reads
INSTRUCTION_TOKENS = 60  # of a block's prompt, besides the question and the rows
MOST_LABELS = 100  # of which one prompt asks which ones fit
BLOCK_TOKENS = (4000, 1000, 250)  # of the rows in a block, in the sizes that are tried
WRITTEN_TOKENS = 512  # of the pairs that a block's prompt should expect to write
CANDIDATE_SHARES = (0.03, 0.08, 0.2)  # of the rows of the other side that are candidates of a row
LEAST_SAVED = 1.5  # pairs for each prompt; a plan that saves less is none


@dataclass(frozen=True)
class JoinSizes:
    """What is known of a join before it is asked.

    Attributes:
        groups: its pairs.
        left_tokens, right_tokens: of a row, on average.
        question_tokens: of the template.
        match_share: of the pairs that match, as far as is known.
    """

    groups: Sequence[Biclique]
    left_tokens: float
    right_tokens: float
    question_tokens: float
    match_share: float = 0.0

    @property
    def num_pairs(self) -> int:
        return sum(group.num_pairs for group in self.groups)


class JoinPlan(NamedTuple):
    """One way to ask the pairs.

    Attributes:
        name: 'pairs', 'classify', 'blocks' or 'candidates'.
        num_lefts, num_rights: most rows of each side in a prompt.
        share: of each row's partners that are asked as pairs, the nearest ones first; of candidates alone.
        num_prompts: that will be sent.
        cost: in tokens that the model reads.
        tokens: of the rows in a block; of blocks alone.
    """

    name: str
    num_lefts: int
    num_rights: int
    share: float
    num_prompts: int
    cost: float
    tokens: int = 0

    @property
    def told(self) -> str:
        """In words, e.g. `blocks of 20 x 60`."""
        if self.name == "candidates":
            return f"candidates, the nearest {self.share:.0%}"
        if self.name == "classify":
            return f"classify among {max(self.num_lefts, self.num_rights)}"
        return f"blocks of {self.num_lefts} x {self.num_rights}" if self.name == "blocks" else self.name


def pairs_plan(sizes: JoinSizes) -> JoinPlan:
    """Each pair asked by itself."""
    read = REQUEST_TOKENS + sizes.question_tokens + sizes.left_tokens + sizes.right_tokens
    return JoinPlan(
        "pairs", 1, 1, 1.0, sizes.num_pairs, sizes.num_pairs * (read + VERDICT_TOKENS * WRITTEN_PRICE)
    )


def plans(strategy: str, sizes: JoinSizes) -> list[JoinPlan]:
    """The plans of a strategy that save enough, the cheapest first; 'auto' has those of all."""
    found = {plan.told: plan for plan in _all_plans(strategy, sizes)}
    pairs = pairs_plan(sizes)
    worth = [plan for plan in found.values() if plan.num_prompts * LEAST_SAVED <= pairs.num_prompts]
    return sorted(worth, key=lambda plan: plan.cost)


def resized(plan: JoinPlan, sizes: JoinSizes) -> JoinPlan:
    """The plan for what is known by now of the share of pairs that match."""
    return _blocks(sizes, plan.tokens) if plan.name == "blocks" else plan


def _all_plans(strategy: str, sizes: JoinSizes) -> list[JoinPlan]:
    found = []
    if strategy in ("classify", "auto"):
        found.append(_classify(sizes))
    if strategy in ("blocks", "auto"):
        found += [_blocks(sizes, tokens) for tokens in BLOCK_TOKENS]
    if strategy in ("candidates", "auto"):
        found += [_candidates(sizes, share) for share in CANDIDATE_SHARES]
    return found


def _classify(sizes: JoinSizes) -> JoinPlan:
    """One row a prompt, with as many of the fewer rows of the other side as fit."""
    lefts = len({row for group in sizes.groups for row in group.lefts})
    rights = len({row for group in sizes.groups for row in group.rights})
    if lefts < rights:
        most = max(2, min(lefts, MOST_LABELS, int(BLOCK_TOKENS[0] / max(1.0, sizes.left_tokens))))
        return _tiled("classify", sizes, most, 1)
    most = max(2, min(rights, MOST_LABELS, int(BLOCK_TOKENS[0] / max(1.0, sizes.right_tokens))))
    return _tiled("classify", sizes, 1, most)


def _blocks(sizes: JoinSizes, tokens: int) -> JoinPlan:
    left, right = max(1.0, sizes.left_tokens), max(1.0, sizes.right_tokens)
    most_lefts = max((len(group.lefts) for group in sizes.groups), default=1)
    most_rights = max((len(group.rights) for group in sizes.groups), default=1)
    a_pair = sizes.match_share * PAIR_TOKENS
    curb = a_pair / (left * right)
    even = tokens / 2 if not curb else (math.sqrt(1 + tokens * curb) - 1) / curb
    num_lefts = max(1, min(most_lefts, int(even / left)))
    num_rights = max(1, min(most_rights, int(_rest(tokens, num_lefts, left, a_pair) / right)))
    num_lefts = max(1, min(most_lefts, int(_rest(tokens, num_rights, right, a_pair) / left)))
    if a_pair:  # more pairs than can be written do not help
        most = max(1, int(WRITTEN_TOKENS / a_pair))
        num_lefts = max(1, min(num_lefts, most // num_rights)) if most >= num_rights else 1
        num_rights = min(num_rights, most)
    return _tiled("blocks", sizes, num_lefts, num_rights)._replace(tokens=tokens)


def _rest(tokens: float, num: int, size: float, a_pair: float) -> float:
    """Tokens for the other side, with so many rows of this one."""
    return (tokens - num * size) / (1 + num * a_pair)


def _tiled(name: str, sizes: JoinSizes, num_lefts: int, num_rights: int) -> JoinPlan:
    num_prompts, read = 0, 0.0
    for group in sizes.groups:
        over, across = math.ceil(len(group.lefts) / num_lefts), math.ceil(len(group.rights) / num_rights)
        num_prompts += over * across
        read += across * len(group.lefts) * sizes.left_tokens + over * len(group.rights) * sizes.right_tokens
    read += num_prompts * (REQUEST_TOKENS + INSTRUCTION_TOKENS + sizes.question_tokens)
    written = PAIR_TOKENS * (num_prompts + sizes.match_share * sizes.num_pairs)
    return JoinPlan(name, num_lefts, num_rights, 1.0, num_prompts, read + WRITTEN_PRICE * written)


def _candidates(sizes: JoinSizes, share: float) -> JoinPlan:
    num = sum(len(group.lefts) * math.ceil(share * len(group.rights)) for group in sizes.groups)
    pairs = pairs_plan(sizes)
    return JoinPlan("candidates", 1, 1, share, num, pairs.cost * num / max(1, pairs.num_prompts))
