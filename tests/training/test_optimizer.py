"""Our AdamW and Muon against torch's classes, and the learning-rate schedule."""

from __future__ import annotations

import itertools

import pytest
import torch

from megacpp_assets.training.optimizer import AdamW, Muon, optimizer_for
from megacpp_assets.training.schedule import is_saved, learning_rate
from tests.training.world import tiny_recipe


def test_steps_equal_those_of_torchs_own_class() -> None:
    torch.manual_seed(0)
    start = {"matrix": torch.randn(5, 3), "vector": torch.randn(4)}
    ours = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}
    theirs = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}
    optimizer = AdamW(ours, weight_decay=0.1)
    reference = torch.optim.AdamW(
        [{"params": [theirs["matrix"]], "weight_decay": 0.1}, {"params": [theirs["vector"]], "weight_decay": 0.0}],
        lr=0.01, betas=(0.9, 0.95), eps=1e-8, fused=True,
    )  # fmt: skip
    for _ in range(5):
        for name, tensor in start.items():
            gradient = torch.randn(tensor.shape)
            ours[name].grad, theirs[name].grad = gradient.clone(), gradient.clone()
        optimizer.step(0.01)
        reference.step()
    assert all(torch.equal(ours[name], theirs[name]) for name in start)
    assert torch.equal(optimizer.state()["exp_avg.matrix"], reference.state[theirs["matrix"]]["exp_avg"])
    assert torch.equal(optimizer.state()["exp_avg_sq.vector"], reference.state[theirs["vector"]]["exp_avg_sq"])


def test_muon_steps_the_matrices_of_blocks_and_adamw_the_rest() -> None:
    torch.manual_seed(0)
    start = {"blocks.0.qkv": torch.randn(6, 4), "blocks.0.norm": torch.randn(4), "embedding": torch.randn(5, 4)}
    ours = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}
    theirs = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}
    optimizer = Muon(ours, weight_decay=0.1)
    matrix = torch.optim.Muon(
        [theirs["blocks.0.qkv"]], lr=0.01, weight_decay=0.1, momentum=0.95, adjust_lr_fn="match_rms_adamw"
    )
    rest = AdamW({name: each for name, each in theirs.items() if name != "blocks.0.qkv"}, weight_decay=0.1)
    for _ in range(4):
        for name, tensor in start.items():
            gradient = torch.randn(tensor.shape)
            ours[name].grad, theirs[name].grad = gradient.clone(), gradient.clone()
        optimizer.step(0.01)
        matrix.step()
        rest.step(0.01)
    assert all(torch.equal(ours[name], theirs[name]) for name in start)
    assert optimizer.steps == 4 and "momentum.blocks.0.qkv" in optimizer.state()
    optimizer.clear()
    assert all(parameter.grad is None for parameter in ours.values())


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_the_structure_embedding_learns_at_its_share_of_the_rate(name: str) -> None:
    start = {"structure.table": torch.ones(3, 2), "structure.scale": torch.ones(2), "embedding": torch.ones(3, 2)}
    parameters = {name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}
    recipe = tiny_recipe(optimizer=name, structure_learning_rate=0.25, weight_decay=0.0)
    optimizer = optimizer_for(recipe, parameters)
    for parameter in parameters.values():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step(0.1)  # the first step of AdamW is as long as the rate
    moved = {name: float((start[name] - parameter).detach().mean()) for name, parameter in parameters.items()}
    assert moved == pytest.approx({"structure.table": 0.025, "structure.scale": 0.025, "embedding": 0.1})


def test_the_rate_warms_up_and_then_falls_to_a_tenth() -> None:
    recipe = tiny_recipe(steps=100, warmup_steps=10, learning_rate=1.0)
    rates = [learning_rate(recipe, step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1) and rates[9] == rates[10] == pytest.approx(1.0)
    assert all(a > b for a, b in itertools.pairwise(rates[10:]))
    assert rates[-1] == pytest.approx(0.1, abs=0.01)


def test_multiples_and_the_last_step_are_saved() -> None:
    recipe = tiny_recipe(steps=10, save_every=4)
    assert [step for step in range(12) if is_saved(recipe, step)] == [4, 8, 10]
