"""What bytes and FLOPs allow on GPUs, held against the numbers of the research note."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.modules import later

roofline = later("lab.kernels.roofline")


def bound_us(name: str, layer: roofline.RooflineLayer | None = None) -> float:
    """Of OPT 13B's layer, on an A100."""
    (work,) = (each for each in roofline.works(layer or roofline.OPT_13B) if each.name == name)
    return float(1e6 * work.bound_s(roofline.GPUS[0]))


def test_a_token_of_opt_13b_costs_what_the_note_says() -> None:
    """0.62 us a token over keys and values, 21 to 31 times that by projecting again: all 40 layers, A100."""
    cached = roofline.OPT_13B.requests * roofline.OPT_13B.tokens
    assert 40 * bound_us("keys and values") / cached == pytest.approx(0.62, abs=0.01)
    assert 21 <= bound_us("reproject: projections") / bound_us("keys and values") <= 31.5


def test_one_read_costs_more_than_its_bytes_for_its_parts_wait() -> None:
    page = (Path(__file__).parents[3] / "docs" / "kernels.md").read_text(encoding="utf-8")
    for gpu in roofline.GPUS:
        of = {work.name: work.bound_s(gpu) for work in roofline.works(roofline.OPT_13B)}
        waits_s = roofline.one_read_s(roofline.OPT_13B, gpu)
        assert of["absorbed: X read once"] < waits_s < of["absorbed: scores"] + of["absorbed: weighted sums"]
        assert f"{1e6 * waits_s:.1f} us" in page


def test_absorbed_reads_x_twice_and_is_bound_by_bandwidth() -> None:
    both = bound_us("absorbed: scores") + bound_us("absorbed: weighted sums")
    assert 1.0 <= both / bound_us("keys and values") <= 1.1


def test_twice_the_tokens_cost_twice_the_bytes_of_x() -> None:
    longer = roofline.OPT_13B._replace(tokens=2 * roofline.OPT_13B.tokens)
    assert bound_us("keys and values", longer) == pytest.approx(2 * bound_us("keys and values"))


def test_x_is_stored_at_half_the_bytes() -> None:
    assert bound_us("store X") == pytest.approx(bound_us("store keys and values") / 2)


def test_the_page_on_kernels_has_the_table() -> None:
    page = (Path(__file__).parents[3] / "docs" / "kernels.md").read_text(encoding="utf-8")
    for work in roofline.works(roofline.OPT_13B):
        bounds = " | ".join(f"{1e6 * work.bound_s(gpu):.1f}" for gpu in roofline.GPUS)
        assert f"| {work.name} | {work.num_bytes / 1e6:.1f} | {work.flops / 1e9:.1f} | {bounds} |" in page
