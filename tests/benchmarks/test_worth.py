"""The experiment on arms: it resumes after a kill with the same figures, and its intervals are Student's."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch
import worth as bench
from _worth_plan import STARTS, Arm, Plan, read_plan
from _worth_run import TEXTS, Trainee, begun, open_data, run_key
from _worth_table import Cell, crossing, interval, t_quantile
from _worth_table import table as table_of

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.text import load_recipe, recipe_toml
from megacpp_assets.training.network.size import model_config
from tests.training.waiting import alive, wait_for
from tests.training.world import ROW_TOKENS, tiny_recipe, tiny_root

SET = ("layers=1", "hidden=16", "heads=2", "structure_bottleneck=8", "batch_rows=2", "threads=1", "warmup_steps=2")
ARMS = """\
recipe = "tiny.toml"
tokens = [256, 640]
seeds = [1, 2]
rows = 2
[[arm]]
name = "none"
settings = ["training.structure_components=none"]
[[arm]]
name = "core <1>"
[[arm]]
name = "gate"
start = "gate"
masks = false
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    tiny_root(tmp_path / "data")
    recipe = load_recipe("sample", ['dataset="tiny_v1"', *(f"training.{each}" for each in SET)])
    (tmp_path / "tiny.toml").write_text(recipe_toml(recipe))
    (tmp_path / "arms.toml").write_text(ARMS)
    return tmp_path


def command(world: Path) -> list[str]:
    return ["--arms", str(world / "arms.toml"), "--data-root", str(world / "data"), "--work", str(world / "work")]


def test_lines_table_and_curves_show_each_arm_and_a_second_call_trains_nothing(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.main(command(world))
    printed = capsys.readouterr().out
    lines = [json.loads(line) for line in printed.splitlines()]
    measured = [line for line in lines if line["unit"] == "bits/byte"]
    assert len(measured) == 6 and all(line["runs"] == 2 for line in measured)
    assert [bool(line.get("less_95")) for line in measured] == [line["peer_name"] is not None for line in measured]
    table, picture = (world / "work" / "worth.md").read_text(), (world / "work" / "worth.svg").read_text()
    assert table.count("| core <1> |") == 2 and "core &lt;1>" in picture and picture.count("<polyline") == 3
    results = (world / "work" / "results.jsonl").read_bytes()
    bench.main(command(world))
    assert capsys.readouterr().out == printed and (world / "work" / "results.jsonl").read_bytes() == results


def test_a_run_that_was_stopped_resumes_with_the_same_weights(world: Path) -> None:
    plan = read_plan(world / "arms.toml")
    data, arm = open_data(world / "data", plan, plan.arms[1]), plan.arms[1]
    whole, stopped, resumed = (Trainee(plan, arm, 3, data) for _ in range(3))
    assert whole.step_tokens == 2 * ROW_TOKENS
    whole.advance(640, world / "whole.pt")
    stopped.advance(256, world / "part.pt")
    resumed.advance(640, world / "part.pt")
    assert whole.steps == resumed.steps == 5
    for name, value in whole.average.items():
        assert torch.equal(value, resumed.average[name])
    assert whole.measured() == resumed.measured() != stopped.measured()


def test_no_process_outlives_a_killed_benchmark(world: Path) -> None:
    (world / "arms.toml").write_text(ARMS.replace("tokens = [256, 640]", "tokens = [128_000_000]"))
    program = subprocess.Popen([sys.executable, bench.__file__, *command(world)])
    try:
        wait_for(lambda: list((world / "work" / "runs").glob("*.pt")))
        below = [child.pid for child in psutil.Process(program.pid).children(recursive=True)]
    finally:
        program.kill()
        program.wait()
    assert below, "a worker trains"
    wait_for(lambda: not any(alive(pid) for pid in below))


def test_each_dataset_that_an_arm_is_measured_on_has_texts_of_its_own(world: Path) -> None:
    plan = read_plan(world / "arms.toml")
    alone, named = (open_data(world / "data", replace(plan, measured_on=on), plan.arms[0]) for on in ((), ("tiny_v1",)))
    assert named.key == alone.key and [text.names for text in named.held_out] == [TEXTS]
    twice = replace(plan, measured_on=("tiny_v1", "tiny_v1"))
    assert [text.names[0] for text in open_data(world / "data", twice, plan.arms[0]).held_out] == [
        f"{TEXTS[0]} of tiny_v1"
    ]


@pytest.mark.campaign
def test_a_run_that_diverges_is_named_and_the_others_are_measured(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = (world / "arms.toml").read_text()
    broken = 'name = "core <1>"\nsettings = ["training.learning_rate=1e38"]'
    (world / "arms.toml").write_text(arms.replace('name = "core <1>"', broken).replace("[1, 2]", "[1]"))
    bench.main(command(world))
    printed = capsys.readouterr()
    assert "gradient of core <1>, seed 1, step" in printed.err and "lower training.learning_rate" in printed.err
    names = [json.loads(line)["figure"] for line in printed.out.splitlines()]
    assert sum("none" in name for name in names) >= 2 and not any("core <1>" in name for name in names)


def test_data_that_were_not_made_are_named_with_what_makes_them(world: Path) -> None:
    plan, nothing = read_plan(world / "arms.toml"), world / "nothing"
    with pytest.raises(SpecError, match=rf"{nothing}/tokenizer/.*made before.*first lines of {world}/tiny.toml"):
        open_data(nothing, plan, plan.arms[0])
    with pytest.raises(SpecError, match=rf"run megacpp run --recipe upstream .* --data-root {nothing}"):
        open_data(nothing, replace(plan, recipe="upstream"), plan.arms[0])


def test_arms_of_one_seed_share_what_both_have_and_a_gate_adds_nothing_at_first() -> None:
    plain, core = (model_config(tiny_recipe(structure_components=each), 100) for each in ("none", "core"))
    models = {start: begun(core, 7, start) for start in STARTS}
    shared = begun(plain, 7, "norm").state_dict()
    for model in models.values():
        assert all(torch.equal(model.state_dict()[name], value) for name, value in shared.items())
    tables = [model.structure.table for model in models.values() if model.structure is not None]
    norm, unit, token, _ = tables
    assert torch.allclose(token, unit * 0.02)
    assert torch.allclose(norm, unit * unit.shape[1] ** -0.5)
    assert models["gate"].structure is not None and not models["gate"].structure.scale.any()
    assert models["gate"].structure.up.any()


def test_the_average_weighs_late_steps_more(world: Path) -> None:
    plan = read_plan(world / "arms.toml")
    trainee = Trainee(plan, plan.arms[0], 1, open_data(world / "data", plan, plan.arms[0]))
    seen = []
    for step in range(1, 4):
        trainee.advance(step * trainee.step_tokens, world / "state.pt")
        seen.append(trainee.model.norm.detach().clone())
    weights = [1.0]
    for step in (2, 3):
        share = 9 / (step + 8)
        weights = [weight * (1 - share) for weight in weights] + [share]
    expected = sum(weight * value for weight, value in zip(weights, seen, strict=True))
    assert torch.allclose(trainee.average["norm"], torch.as_tensor(expected), atol=1e-6)


def test_a_rate_that_decays_reaches_zero_at_each_length_and_the_last_weights_are_the_average(world: Path) -> None:
    plan = replace(read_plan(world / "arms.toml"), decay=0.5)
    trainee = Trainee(plan, plan.arms[0], 1, open_data(world / "data", plan, plan.arms[0]))
    rates: list[float] = []
    step = trainee.optimizer.step
    trainee.optimizer.step = lambda rate: (rates.append(rate), step(rate))[1]  # type: ignore[method-assign]
    trainee.advance(8 * trainee.step_tokens, world / "state.pt")
    rate = trainee.recipe.learning_rate
    assert rates == pytest.approx([rate * share for share in (0.5, 1, 1, 1, 1, 0.75, 0.5, 0.25)])
    assert all(torch.equal(trainee.average[name], value) for name, value in trainee.model.named_parameters())
    found = trainee.measured()
    assert found["average"] == found["last"]
    short, long = (run_key(plan, plan.arms[0], 1, "data", tokens) for tokens in plan.tokens)
    assert short != long
    assert len({run_key(replace(plan, decay=0), plan.arms[0], 1, "data", tokens) for tokens in plan.tokens}) == 1


@pytest.mark.parametrize(("freedom", "value"), [(1, 12.7062), (3, 3.1824), (7, 2.3646), (30, 2.0423)])
def test_quantiles_are_those_of_the_tables_of_students_t(freedom: int, value: float) -> None:
    assert t_quantile(freedom) == pytest.approx(value, abs=1e-4)


def test_an_interval_excludes_zero_only_if_both_ends_have_one_sign() -> None:
    assert interval([-0.03, -0.02, -0.04, -0.03]).excludes_zero
    assert not interval([-0.03, 0.02, -0.04, 0.03]).excludes_zero
    assert not interval([-0.03]).excludes_zero, "one value has no interval"


def test_one_seed_has_a_mean_and_no_spread() -> None:
    one = interval([2.5])
    row = table_of([Cell("a", "t", 100, one, one, one)], "b").splitlines()[-1]
    assert row == "| t | 100 | a | 1 | 2.5000 | unknown, unknown | +2.5000 (undecided) |"


def test_a_crossing_is_found_on_the_line_of_differences_over_the_logarithm_of_tokens() -> None:
    one = interval([0.0, 0.0])
    made = [Cell("a", "t", tokens, one, one, interval([less, less])) for tokens, less in ((100, 0.2), (1000, 0.1))]
    assert crossing(made, "a", "t") == pytest.approx(10_000)
    assert crossing(made[:1], "a", "t") is None
    away = [Cell("a", "t", tokens, one, one, interval([less, less])) for tokens, less in ((100, 0.1), (1000, 0.2))]
    assert crossing(away, "a", "t") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tokens = [256, 640]", "tokens = [640, 256]"),
        ("seeds = [1, 2]", "seeds = [1, 1]"),
        ("seeds = [1, 2]", ""),
        ('name = "gate"', 'name = "none"'),
        ('start = "gate"', 'start = "zero"'),
        ("masks = false", "mask = false"),
        ("rows = 2", "decay = 1.5"),
        ("rows = 2", "row = 2"),
        ("rows = 2", "rows ="),
    ],
)
def test_a_malformed_arms_file_is_rejected(world: Path, old: str, new: str) -> None:
    (world / "arms.toml").write_text(ARMS.replace(old, new))
    with pytest.raises(SpecError):
        read_plan(world / "arms.toml")


def test_an_order_of_its_own_is_the_same_for_all_seeds() -> None:
    free, fixed = (Plan((Arm("a"),), (1,), (1, 2), order=order) for order in (-1, 5))
    assert [plan.order_of(seed) for plan in (free, fixed) for seed in (1, 2)] == [1, 2, 5, 5]
    assert math.isnan(interval([1.0]).half)
