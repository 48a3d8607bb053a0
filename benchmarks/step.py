"""A step of training on one core of a CPU, beside the step as it was before: seconds, and the losses that both reach.

2 layers, 128 wide, 8,192 ids, a row of 4,096 tokens: 1.5 million parameters. The rows are drawn, with a third of their
tokens in roots; `--data-root` trains on a mixture that was made and measures bits per byte of held-out roots too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _arguments import positive, run
from _cores import choose, hold
from _harness import RUNS, Figure, compare, report

from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.training.processes.numerics import numerics

BENCH = "step"
SETTINGS = ("layers=2", "hidden=128", "heads=2", "threads=1", "learning_rate=3e-3", "warmup_steps=10")
BEFORE = "all tokens scored, exponentials twice, products by MKL, new tensors filled"


def main(arguments: Sequence[str]) -> None:
    """Print a line for the seconds, one for the losses, and one for the bits per byte where there are data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs", type=positive, default=RUNS, help="measured steps of each side (default: %(default)s)"
    )
    parser.add_argument("--steps", type=positive, default=20, help="steps before losses are compared")
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--recipe", default="upstream", help="whose data these are (default: %(default)s)")
    parser.add_argument("--mixture", default="base/4k", help="SPECIALIST/PHASE (default: %(default)s)")
    parser.add_argument("--dataset", help="where it is not the recipe's own")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    options = parser.parse_args(arguments)
    hold(choose(1))
    recipe = load_recipe(options.recipe, [*(f"training.{each}" for each in SETTINGS), *options.settings])
    os.environ.update(numerics(1, recipe.training.instruction_set))  # read when torch is loaded
    from _plain_loss import PlainGPT

    from megacpp_assets.training.network.model import GPT

    batches, vocabulary, held_out = _data(options, recipe)
    ours = Training(GPT, recipe.training, vocabulary, batches)
    before = Training(PlainGPT, recipe.training, vocabulary, batches, fills=True)
    losses = [[side.step() for _ in range(options.steps)][-1] for side in (ours, before)]
    what = f"a step, {ours.parameters:,} parameters, a row of {batches(0).input_ids.shape[1]} tokens"
    report(Figure(BENCH, f"loss of step {options.steps}, {what}", "nats/token"), *losses, peer_name=BEFORE)
    if held_out is not None:
        bits = [side.bits(held_out) for side in (ours, before)]
        report(Figure(BENCH, f"held-out roots after {options.steps} steps", "bits/byte"), *bits, peer_name=BEFORE)
    compare(Figure(BENCH, what, "CPU-s"), ours.step, before.step, peer_name=BEFORE, runs=options.runs)


def _data(options: argparse.Namespace, recipe: Any) -> tuple[Callable[[int], Any], int, Any]:
    """The batch of each step, the ids of the tokenizer, and the held-out rows."""
    if options.data_root is None:
        import sys

        from training import VOCABULARY, rows_of

        sys.path.insert(0, str(Path(__file__).parents[1]))
        drawn = rows_of([400, 1.0])
        return (lambda step: drawn), VOCABULARY, None
    from masks import open_data

    from megacpp_assets.loader.order import rows_of_step

    training = recipe.training
    data = open_data(options.data_root, options.dataset or recipe.dataset, options.mixture, training.validation_rows)

    def batch(step: int) -> Any:
        return data.rows.batch(rows_of_step(len(data.rows), training.batch_rows, seed=training.seed, step=step))

    return batch, data.vocabulary, data.held_out


class Training:
    """A model on its way. `fills`: whether torch fills each new tensor before it is written."""

    def __init__(
        self, kind: type, recipe: Any, vocabulary: int, batches: Callable[[int], Any], *, fills: bool = False
    ) -> None:
        import torch

        from megacpp_assets.training.loop import configure_torch
        from megacpp_assets.training.network.size import model_config
        from megacpp_assets.training.optimizer import optimizer_for
        from megacpp_assets.training.processes.ranks import Ranks
        from megacpp_assets.training.stepper import TorchStepper

        configure_torch(recipe)
        self.fills = fills
        self.recipe, self.batches, self.ranks = recipe, batches, Ranks(0, 1, torch.device("cpu"))
        self.model = kind(model_config(recipe, vocabulary))
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        optimizer = optimizer_for(recipe, dict(self.model.named_parameters()))
        self.stepper, self.steps = TorchStepper(recipe, self.model, optimizer, self.ranks), 0

    def step(self) -> float:
        """The loss of one more step."""
        import torch

        from megacpp_assets.training.network.model import loss_weights

        torch.utils.deterministic.fill_uninitialized_memory = self.fills  # type: ignore[attr-defined]
        batch = self.batches(self.steps)
        weight = float(loss_weights(batch, self.recipe.context_loss).sum(dtype=np.float64))
        self.steps += 1
        return self.stepper.step([batch], weight, self.recipe.learning_rate) / weight

    def bits(self, held_out: Any) -> float:
        """Bits per byte of held-out roots."""
        from megacpp_assets.training.validation import validate

        return float(validate(self.model, held_out, self.ranks).as_stats()["validation_bits_per_byte"])


if __name__ == "__main__":
    run(main)
