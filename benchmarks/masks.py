"""What document masks and structure are worth: bits per byte of held-out roots, after as many steps on the same rows.

Trains three models on the rows of a mixture that was made (`megacpp run --until megatron_bin_idx`): as its recipe says;
without masks, so that a row is one document whose tokens see all before them; and without structure. All see the same
batches in the same order, the first two begin with the same weights, and all are measured document by document, as a
model is used. A line has the medians over the seeds, each seed's own stand on stderr. `--set training.KEY=VALUE` makes
another model or another length.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from _arguments import positive, run
from _harness import Figure, report

from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, RowBatch, open_rows
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root.layout import megatron_path, tokenizer_path
from megacpp_assets.training.loop import configure_torch
from megacpp_assets.training.network.model import GPT, loss_weights, model_input
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.optimizer import optimizer_for
from megacpp_assets.training.processes.ranks import Ranks
from megacpp_assets.training.schedule import learning_rate
from megacpp_assets.training.validation import ValidationRows, open_held_out, validate

BENCH = "masks"


@dataclass(frozen=True, slots=True)
class Arm:
    """A way to train."""

    name: str
    masked: bool = True
    structure: bool = True


ARMS = (Arm("document masks, structure"), Arm("no masks", masked=False), Arm("no structure", structure=False))


@dataclass(frozen=True, slots=True)
class Data:
    """Rows to train on, those that are held out, and the ids of the tokenizer."""

    rows: PackedRows
    held_out: ValidationRows
    vocabulary: int


def main(arguments: Sequence[str]) -> None:
    """Print a line for what masks are worth, and one for structure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-root", type=Path, default=Path("data"))
    parser.add_argument(
        "--recipe", default="sample", help="whose mixture it is, and what is trained (default: %(default)s)"
    )
    parser.add_argument("--mixture", default="base/4k", help="SPECIALIST/PHASE (default: %(default)s)")
    parser.add_argument("--dataset", help="where it is not the recipe's own: what `megacpp lock show` names")
    parser.add_argument("--seeds", type=positive, default=3, help="runs of each arm (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="settings")
    options = parser.parse_args(arguments)
    recipe = load_recipe(options.recipe, options.settings)
    data = open_data(
        options.data_root, options.dataset or recipe.dataset, options.mixture, recipe.training.validation_rows
    )
    found: dict[str, list[float]] = {arm.name: [] for arm in ARMS}
    for seed in range(1, options.seeds + 1):
        for arm in ARMS:
            found[arm.name].append(bits(arm, replace(recipe.training, seed=seed), data))
            print(f"seed {seed}, {arm.name}: {found[arm.name][-1]:.4f} bits a byte", file=sys.stderr, flush=True)
    whole, *others = (statistics.median(found[arm.name]) for arm in ARMS)
    what = f"held-out roots of {options.mixture}, {recipe.training.steps} steps"
    for arm, other in zip(ARMS[1:], others, strict=True):
        report(Figure(BENCH, what, "bits/byte"), whole, other, peer_name=arm.name, runs=options.seeds)


def open_data(root: Path, dataset: str, mixture: str, most_rows: int) -> Data:
    """What the mixture's training reads; `SystemExit` where nothing of it is held out."""
    specialist, _, phase = mixture.partition("/")
    megatron = open_artifact(root, megatron_path(dataset, Mixture(specialist, phase)))
    tokenizer = open_artifact(root, tokenizer_path(dataset))
    held_out = open_held_out(megatron, tokenizer, dataset, most_rows)
    if held_out is None:
        raise SystemExit(f"{mixture} of {dataset} has no held-out rows to measure on")
    return Data(open_rows(megatron, dataset), held_out, int(tokenizer.manifest.stats["vocabulary_size"]))


def bits(arm: Arm, recipe: TrainingRecipe, data: Data) -> float:
    """Bits per byte after the recipe's steps."""
    recipe = replace(recipe, structure_components=recipe.structure_components if arm.structure else "none")
    configure_torch(recipe)
    device = torch.device(recipe.device)
    model = GPT(model_config(recipe, data.vocabulary, data.rows.row_tokens)).to(device)
    optimizer = optimizer_for(recipe, dict(model.named_parameters()))
    for step in range(recipe.steps):
        rows = rows_of_step(len(data.rows), recipe.batch_rows, seed=recipe.seed, step=step)
        batch = data.rows.batch(rows)
        given = model_input(batch if arm.masked else unmasked(batch), device, recipe.context_loss, recipe.softcap)
        weight = max(1.0, float(loss_weights(batch, recipe.context_loss).sum(dtype=np.float64)))
        (model(given) / weight).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.gradient_clip)
        optimizer.step(learning_rate(recipe, step))
        optimizer.clear()
    stats = validate(model, data.held_out, Ranks(0, 1, device)).as_stats()
    return float(stats["validation_bits_per_byte"])


def unmasked(batch: RowBatch) -> RowBatch:
    """The same rows, each one document: what is predicted stays, a document's last token still has no target."""
    return replace(batch, doc_ids=np.zeros_like(batch.doc_ids))


if __name__ == "__main__":
    run(main)
