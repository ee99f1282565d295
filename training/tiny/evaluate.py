"""Accuracy of an exported model: `python -m training.tiny.evaluate [--model DIR] [--rows N] [--real]`."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import LlamaForCausalLM

from relserve.tiny import MODEL_DIR
from training.tiny.corpus.heldout import EvalGroup, heldout
from training.tiny.prompts import chat, choices_line, score_line
from training.tiny.real_rows import amazon_sentiment, beer_sentiment
from training.tiny.tokenizer import load_tokenizer

TASKS = ("sentiment", "yes_no", "category", "rating", "extraction", "summary")
_BATCH_ROWS = 64


class ChoiceModel:
    """A loaded checkpoint that answers greedily, constrained to choices where there are any."""

    def __init__(self, folder: Path = MODEL_DIR) -> None:
        self.tokenizer = load_tokenizer(folder)
        self.model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def answer(self, group: EvalGroup, max_new_tokens: int = 48) -> list[str]:
        """Answer each row of a group."""
        slot = "{" + group.column + "}"
        choices = group.choices
        lead = choices_line(choices) if choices else score_line(*group.bounds) if group.bounds else ""
        prompts = [chat(lead + group.template.replace(slot, value)) for value in group.columns[group.column]]
        if group.bounds:
            choices = tuple(str(number) for number in range(group.bounds[0], group.bounds[1] + 1))
        return self.complete(prompts, choices, max_new_tokens)

    @torch.inference_mode()
    def complete(self, prompts: Sequence[str], choices: Sequence[str], max_new_tokens: int) -> list[str]:
        """Continue prompts greedily under the grammar of `choices` (none: free)."""
        answers: list[str] = []
        for start in range(0, len(prompts), _BATCH_ROWS):
            answers += self._complete_batch(prompts[start : start + _BATCH_ROWS], choices, max_new_tokens)
        return answers

    def _complete_batch(
        self, prompts: Sequence[str], choices: Sequence[str], max_new_tokens: int
    ) -> list[str]:
        encoded = self.tokenizer(
            list(prompts), add_special_tokens=False, padding=True, padding_side="left", return_tensors="pt"
        )
        encoded.pop("token_type_ids", None)
        width = encoded.input_ids.shape[1]
        allowed = self._grammar(choices, width) if choices else None
        out = self.model.generate(
            **encoded,
            max_new_tokens=max_new_tokens,
            do_sample=False,
            prefix_allowed_tokens_fn=allowed,
            pad_token_id=0,
        )
        return self.tokenizer.batch_decode(out[:, width:], skip_special_tokens=True)

    def _grammar(self, choices: Sequence[str], width: int):
        """Allow any tokens whose text spells a choice, as vLLM's structured outputs do."""
        texts = [self.tokenizer.decode([token]) for token in range(len(self.tokenizer))]
        special, end = set(self.tokenizer.all_special_ids), self.tokenizer.eos_token_id
        known: dict[str, list[int]] = {}

        def allowed(_: int, ids: torch.Tensor) -> list[int]:
            done = self.tokenizer.decode(ids[width:], skip_special_tokens=True)
            if end in ids[width:].tolist():
                return [0]
            if done not in known:
                rests = [choice[len(done) :] for choice in choices if choice.startswith(done)]
                fits = [
                    t
                    for t, text in enumerate(texts)
                    if text and t not in special and any(r.startswith(text) for r in rests)
                ]
                known[done] = fits + ([end] if "" in rests else [])
            return known[done]

        return allowed


def is_right(group: EvalGroup, answer: str, expected: str) -> bool:
    """Compare an answer: scores within one step of five, anything else exactly."""
    if group.bounds:
        step = max(1.0, (group.bounds[1] - group.bounds[0]) / 4)
        return answer.isdigit() and abs(int(answer) - int(expected)) <= step
    return answer.strip() == expected


def accuracy(model: ChoiceModel, groups: Sequence[EvalGroup]) -> float:
    """Share of right answers."""
    right = total = 0
    for group in groups:
        for got, expected in zip(model.answer(group), group.expected, strict=True):
            right += is_right(group, got, expected)
            total += 1
    return right / max(1, total)


def held_out_table(model: ChoiceModel, num_rows: int, tasks: Sequence[str] = TASKS) -> dict[str, float]:
    """Accuracy per task, with phrasings of training and (`/unseen`) with others."""
    found = {}
    for task in tasks:
        for unseen in (False, True):
            name = f"{task}/unseen" if unseen else task
            found[name] = round(accuracy(model, heldout(task, num_rows, 7, unseen)), 4)
            print(f"{name:24s} {found[name]:.3f}", flush=True)
    return found


def real_table(model: ChoiceModel, num_rows: int) -> dict[str, float]:
    """Sentiment accuracy on real reviews, where the data folder is present."""
    found = {}
    for name, load in (("amazon", amazon_sentiment), ("beer", beer_sentiment)):
        group = load(num_rows)
        if group is None:
            print(f"{name}: skipped, no data folder (set RELSERVE_DATA)")
            continue
        answers = model.answer(group)
        for label in group.choices:
            hits = [
                got == label
                for got, expected in zip(answers, group.expected, strict=True)
                if expected == label
            ]
            found[f"{name}/{label}"] = round(sum(hits) / max(1, len(hits)), 4)
            print(f"{name + '/' + label:24s} {found[f'{name}/{label}']:.3f}  of {len(hits)}")
        found[name] = round(
            sum(a == b for a, b in zip(answers, group.expected, strict=True)) / len(answers), 4
        )
        print(f"{name:24s} {found[name]:.3f}  of {len(answers)}", flush=True)
    return found


def main() -> None:
    """Parse the command line, print a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=MODEL_DIR)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    parser.add_argument(
        "--real", action="store_true", help="also measure on the real tables in RELSERVE_DATA"
    )
    args = parser.parse_args()
    model = ChoiceModel(args.model)
    found = held_out_table(model, args.rows, args.tasks)
    if args.real:
        found |= real_table(model, args.rows)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
