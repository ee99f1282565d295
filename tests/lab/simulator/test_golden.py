"""What every variant did before the event heap, and so has to do: latencies of two small traces."""

from __future__ import annotations

import pytest

from lab.simulator.run import simulate
from relserve.policies.scheduling.variants import make
from tests.lab.simulator.traces import bursty_trace, engine_for

TRACES = ((1, 1500), (2, 6000))  # seed, KV tokens
GUARDS = {"": {}, " patience": {"patience": 0.7}, " Eq. 13": {"starvation_s": 0.3}}

# Mean latency in seconds, end in seconds and preemptions, for each trace.
EXPECTED = {
    "fcfs": ((3.381642493, 22.604851036, 29), (3.824312587, 7.5314, 0)),
    "static": ((2.666886243, 22.924051036, 27), (2.597650087, 7.1904, 0)),
    "fcfs+pp": ((3.413311243, 22.725451036, 34), (3.987693837, 7.8194, 0)),
    "static+pp": ((2.707692493, 22.997151036, 34), (2.894518837, 7.6444, 0)),
    "dpu+pp": ((2.615336243, 22.696551036, 49), (2.888168837, 7.6644, 0)),
    "dpu+pp patience": ((2.882973743, 22.661751036, 32), (3.331193837, 7.6194, 0)),
    "dpu+pp Eq. 13": ((2.680111243, 23.033851036, 38), (2.913518837, 7.7244, 0)),
    "dpu+dp": ((3.517358493, 26.8942334, 21), (4.409525087, 17.474, 0)),
    "dpu+dp patience": ((3.743089743, 25.7967334, 18), (6.625550087, 12.626, 0)),
    "dpu+dp Eq. 13": ((3.666683856, 25.423351036, 25), (3.868006337, 10.269, 0)),
    "dpu+aba": ((2.595486243, 22.696551036, 46), (2.888168837, 7.6644, 0)),
    "dpu+aba patience": ((2.861398743, 22.661751036, 36), (3.957218837, 9.5494, 0)),
    "dpu+aba Eq. 13": ((2.660261243, 23.033851036, 35), (2.913518837, 7.7244, 0)),
    "dpu-exact+aba": ((2.595486243, 22.696551036, 46), (2.888168837, 7.6644, 0)),
    "dpu-exact+aba patience": ((2.861398743, 22.661751036, 36), (3.957218837, 9.5494, 0)),
    "dpu-exact+aba Eq. 13": ((2.660261243, 23.033851036, 35), (2.913518837, 7.7244, 0)),
    "dpu+marginal": ((2.676186243, 22.898351036, 11), (2.667356337, 7.3824, 0)),
    "dpu+marginal patience": ((3.452111243, 23.107351036, 11), (3.815868837, 7.1534, 0)),
    "dpu+marginal Eq. 13": ((2.693823743, 23.261951036, 10), (2.667356337, 7.3824, 0)),
}


@pytest.mark.cells(2)
@pytest.mark.parametrize("name", EXPECTED)
def test_every_variant_does_what_it_did(name: str) -> None:
    variant, guard = next((name.removesuffix(g), GUARDS[g]) for g in reversed(GUARDS) if name.endswith(g))
    for (seed, kv_tokens), (mean_s, end_s, num_preemptions) in zip(TRACES, EXPECTED[name], strict=True):
        outcome = simulate(bursty_trace(seed), engine_for(variant, kv_tokens), make(variant, **guard))
        assert outcome.mean_s == pytest.approx(mean_s, abs=2e-9)
        assert outcome.end_s == pytest.approx(end_s, abs=2e-9)
        assert outcome.num_preemptions == num_preemptions
