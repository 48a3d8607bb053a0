"""A forecast adds up partitions; on many cores the longest partition is the limit (Amdahl)."""

from __future__ import annotations

from pytest import approx

from megacpp_assets.estimate.forecast import StageForecast, forecast
from megacpp_assets.estimate.rates import Rate, Rates
from megacpp_assets.estimate.sizes import Size


def _rate(cpu: tuple[float, ...], serial: tuple[float, ...], tokens: tuple[float, ...] = ()) -> Rate:
    width = len(cpu)
    nothing = (0.0,) * width
    return Rate(cpu, serial, nothing, (0.0, 0.0, 1e6, 1e6)[-width:], tokens or nothing, 3, "2026-11-25", 0.1, 0.2)


_SIZES = [Size("a@v1", 10, 1e6, 0), Size("b@v1", 20, 0, 3e6)]
_RATES = Rates(
    "a machine",
    {
        "semantic_jsonl": _rate((1.0, 2.0, 10.0, 30.0), (1.0, 0.0, 5.0, 5.0)),
        "v6_enriched": _rate((0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 1.0, 1.0), tokens=(0.0, 0.0, 400_000.0, 400_000.0)),
        "packed_rows": _rate((0.5, 2.0), (0.5, 2.0)),
    },
)


def test_a_stage_is_the_sum_of_its_repositories() -> None:
    (stage,) = forecast(_SIZES, 1, _RATES, ["semantic_jsonl"]).stages
    assert stage.cpu_seconds == approx((1 + 20 + 10) + (1 + 40 + 90))
    assert stage.serial_seconds == approx((1 + 5) + (1 + 15))
    assert stage.stored_bytes == approx(4e6)


def test_each_mixture_reads_the_tokens_of_all_repositories() -> None:
    found = forecast(_SIZES, 3, _RATES, ["v6_enriched", "packed_rows"])
    assert found.tokens == approx(1_600_000)
    assert found.stages[1].cpu_seconds == approx(3 * (0.5 + 2 * 1.6))


def test_a_stage_that_was_never_measured_is_named() -> None:
    assert forecast(_SIZES, 1, _RATES, ["semantic_jsonl", "tokenizer"]).unknown == ("tokenizer",)


def test_no_number_of_cores_is_faster_than_the_longest_partition() -> None:
    stage = StageForecast("semantic_jsonl", ((10.0, 90.0), (1.0, 1.0)), 0, 0, _RATES.stages["semantic_jsonl"])
    assert stage.elapsed_seconds(1) == approx(102)
    assert stage.elapsed_seconds(2) == approx(10 + 45)
    assert stage.elapsed_seconds(90, machines=2) == approx(11)
    assert stage.elapsed_seconds(10**6) == approx(10, rel=1e-3)
