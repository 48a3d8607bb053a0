"""One run of an arm from one seed: training that resumes after a kill, and bits per byte of held-out roots.

Without a decay the learning rate is constant after the warm-up, one run is measured at every length, and both the
averaged weights and the last ones are measured. Parameters that two arms share begin with the same values.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq
import torch
from _bits import BitsPerByte, measured_bits
from _worth_plan import Arm, Plan
from masks import unmasked
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.names import VALID_SPLIT
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.loader.order import rows_of_step
from megacpp_assets.loader.rows import PackedRows, open_rows
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import megatron_path, tokenizer_path
from megacpp_assets.tokenizer.model import byte_lengths
from megacpp_assets.training.loop import configure_torch
from megacpp_assets.training.network.block import INITIAL_STD
from megacpp_assets.training.network.model import GPT, ModelConfig, loss_weights, model_input
from megacpp_assets.training.network.ngrams import NgramConfig
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.network.structure import StructureConfig
from megacpp_assets.training.optimizer import optimizer_for

TEXTS: Final = ("held-out files", "unseen repositories")
SAVE_EVERY: Final = 25
"""Steps between saved states: a killed run repeats fewer than these."""


@dataclass(frozen=True, slots=True)
class HeldOutText:
    """Rows to measure on, the text in `names` that each token of the split belongs to, and the bytes of each id."""

    names: tuple[str, ...]
    rows: PackedRows
    numbers: NDArray[np.int64]
    text_of: NDArray[np.int64]
    lengths: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Data:
    """Rows that an arm trains on, the texts that all are measured on, and what names both."""

    rows: PackedRows
    held_out: tuple[HeldOutText, ...]
    key: str


def recipe_of(plan: Plan, arm: Arm) -> Recipe:
    """The recipe of `arm`."""
    recipe = load_recipe(plan.recipe, [*plan.settings, *arm.settings])
    return replace(recipe, dataset=arm.dataset or recipe.dataset)


def open_data(root: Path, plan: Plan, arm: Arm) -> Data:
    """What `arm` reads; all are measured on the text as the documents of `plan.measured_on` have it, else as the first
    arm's have it. `SpecError` if data are missing, `SystemExit` if a tokenizer differs."""
    mixture, first, recipe = Mixture(*plan.mixture.split("/")), recipe_of(plan, plan.arms[0]), recipe_of(plan, arm)
    datasets = plan.measured_on or (first.dataset,)
    tokenizers = {
        name: _opened(root, tokenizer_path(name), plan) for name in dict.fromkeys((recipe.dataset, *datasets))
    }
    if len({each.manifest.file(c.TOKENIZER_FILE).sha256 for each in tokenizers.values()}) != 1:
        raise SystemExit(f"{', '.join(tokenizers)} have different tokenizers: figures cannot be compared")
    lengths = byte_lengths(tokenizers[recipe.dataset].file(c.TOKENIZER_FILE).read_bytes())
    trained = Mixture(*arm.mixture.split("/")) if arm.mixture else mixture
    training = _opened(root, megatron_path(recipe.dataset, trained), plan)
    measured = {name: _opened(root, megatron_path(name, mixture), plan) for name in datasets}
    unseen = first.holdout.repositories
    held_out = tuple(_held_out(artifact, name, plan, unseen, lengths) for name, artifact in measured.items())
    sealed = [training.manifest.sha256, *(each.manifest.sha256 for each in measured.values())]
    key = sha256_bytes(canonical_json([*sealed, plan.rows]))
    return Data(open_rows(training, recipe.dataset), held_out, key)


def _opened(root: Path, path: str, plan: Plan) -> Artifact:
    """The artifact at `path`; `SpecError` with the command that makes it if it is missing."""
    try:
        return open_artifact(root, path)
    except LineageGap as error:
        do = f"run megacpp run --recipe {plan.recipe} --until megatron_bin_idx --data-root {root}"
        if plan.recipe.endswith(".toml"):
            do = f"run the commands in the first lines of {plan.recipe} and of the arms file"
        expected = f"the data that the arms train on, made before in the data root {root}"
        raise SpecError(f"{root}/{path}", expected=expected, found="no such artifact", do=do) from error


def _held_out(
    artifact: Artifact, dataset: str, plan: Plan, unseen: Sequence[str], lengths: NDArray[np.int64]
) -> HeldOutText:
    """Rows for each of `TEXTS`: files held out, and repositories that are `unseen` as a whole."""
    rows = open_rows(artifact, dataset, VALID_SPLIT)
    documents = pq.read_table(artifact.file(files.prefix_name(dataset, VALID_SPLIT) + files.DOCUMENTS))
    text = np.isin(documents[c.REPO].to_pylist(), unseen).astype(np.int64)
    text_of = np.repeat(text, documents[c.TOKENS].to_numpy())
    of = f" of {dataset}" if len(plan.measured_on) > 1 else ""
    numbers = _drawn(rows, text_of, plan.rows)
    return HeldOutText(tuple(f"{name}{of}" for name in TEXTS), rows, numbers, text_of, lengths)


def run_key(plan: Plan, arm: Arm, seed: int, data: str, tokens: int) -> str:
    """A name of all that decides a run of `arm` from `seed` on the data with the key `data`; of its length in `tokens`
    only where the learning rate decays."""
    training = asdict(replace(recipe_of(plan, arm).training, seed=seed))
    decay = [plan.decay, tokens] if plan.decay else []
    decided = [training, arm.masks, arm.start, data, plan.average, plan.order_of(seed), *decay]
    return sha256_bytes(canonical_json(decided))[:16]


def _drawn(rows: PackedRows, text_of: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most `most` rows that have tokens of each text, evenly drawn."""
    chosen = []
    for text in range(len(TEXTS)):
        with_it = [number for number in range(len(rows))
                   if (text_of[rows.starts[number] : rows.starts[number + 1]] == text).any()]  # fmt: skip
        if with_it:
            chosen.append(np.array(with_it)[np.linspace(0, len(with_it) - 1, most).astype(np.int64)])
    return np.unique(np.concatenate(chosen))


class Trainee:
    """A model of `arm` on its way, with its optimizer and the average of its weights."""

    def __init__(self, plan: Plan, arm: Arm, seed: int, data: Data) -> None:
        self.recipe: TrainingRecipe = replace(recipe_of(plan, arm).training, seed=seed)
        self.plan, self.arm, self.seed, self.data = plan, arm, seed, data
        configure_torch(self.recipe)
        config = model_config(self.recipe, len(data.held_out[0].lengths), data.rows.row_tokens)
        self.model = begun(config, seed, arm.start).to(self.recipe.device)
        self.optimizer = optimizer_for(self.recipe, dict(self.model.named_parameters()))
        self.average = {name: value.detach().clone() for name, value in self.model.named_parameters()}
        self.steps = 0

    @property
    def step_tokens(self) -> int:
        """Tokens of a step, padding included."""
        return self.recipe.batch_rows * self.data.rows.row_tokens

    def advance(self, tokens: int, state: Path) -> None:
        """Train until `tokens`, from the file `state` if it exists; it is written as the run goes on."""
        if state.exists():
            self._restore(torch.load(state, weights_only=True))
        last = round(tokens / self.step_tokens)
        while self.steps < last:
            self._step(last)
            if self.steps % SAVE_EVERY == 0 or self.steps == last:
                self._save(state)

    def _step(self, last: int) -> None:
        recipe, order = self.recipe, self.plan.order_of(self.seed)
        numbers = rows_of_step(len(self.data.rows), recipe.batch_rows, seed=order, step=self.steps)
        batches = [self.data.rows.batch(part) for part in np.split(numbers, recipe.accumulate)]
        weight = sum(float(loss_weights(batch, recipe.context_loss).sum(dtype=np.float64)) for batch in batches)
        for batch in batches:
            seen = batch if self.arm.masks else unmasked(batch)
            given = model_input(seen, torch.device(recipe.device), recipe.context_loss, recipe.softcap)
            (self.model(given) / max(1.0, weight)).backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), recipe.gradient_clip)
        if not torch.isfinite(norm):
            what = f"gradient of {self.arm.name}, seed {self.seed}, step {self.steps + 1}"
            raise SpecError(what, expected="finite numbers", found=float(norm), do="lower training.learning_rate")
        self.optimizer.step(self._rate(last))
        self.optimizer.clear()
        self.steps += 1
        share = 1.0 if self.plan.decay else (self.plan.average + 1) / (self.steps + self.plan.average)
        for name, value in self.model.named_parameters():
            self.average[name].lerp_(value.detach(), share)

    def _rate(self, last: int) -> float:
        """The learning rate of the next step of `last`: a linear warm-up, and a linear decay to 0 where the plan has
        one."""
        warm = (self.steps + 1) / max(1, self.recipe.warmup_steps)
        left = (last - self.steps) / max(1.0, self.plan.decay * last)
        return self.recipe.learning_rate * min(1.0, warm) * min(1.0, left)

    def measured(self) -> dict[str, dict[str, float]]:
        """Bits per byte of roots by text, of the average of the weights and of the last ones."""
        last = self._bits()
        if self.plan.decay:
            return {"average": last, "last": last}
        with _holding(self.model, self.average):
            return {"average": self._bits(), "last": last}

    def _bits(self) -> dict[str, float]:
        found: dict[str, BitsPerByte] = {}
        for text in self.data.held_out:
            bits = measured_bits(self.model, text.rows, text.numbers, text.text_of, text.lengths)
            found.update(zip(text.names, bits, strict=False))
        return {name: each.bits_per_byte for name, each in found.items() if each.bytes}

    def _save(self, file: Path) -> None:
        state = {
            "steps": self.steps,
            "model": self.model.state_dict(),
            "moments": self.optimizer.state(),
            "average": self.average,
        }
        torch.save(state, file.with_suffix(".new"))
        os.replace(file.with_suffix(".new"), file)

    def _restore(self, state: dict[str, Any]) -> None:
        self.steps = self.optimizer.steps = state["steps"]
        self.model.load_state_dict(state["model"])
        for kept, saved in ((self.optimizer.state(), state["moments"]), (self.average, state["average"])):
            for name, value in kept.items():
                value.copy_(saved[name])


def begun(config: ModelConfig, seed: int, start: str) -> GPT:
    """The model of `config` as `seed` makes it. What a model without structure, n-grams and chunks has too begins with
    the same values in all: a generator that drew other tables first would give other weights to the rest."""
    torch.manual_seed(seed)
    plain = replace(config, structure=StructureConfig(()), ngrams=NgramConfig(), relation_bias=False, tree_steps=0)
    shared = GPT(plain).state_dict()
    model = GPT(config)
    model.load_state_dict(shared, strict=False)
    if model.structure is not None:
        with torch.no_grad():
            if start == "gate":
                model.structure.scale.zero_()
                model.structure.up.normal_(std=INITIAL_STD)
            else:
                deviation = {"norm": config.structure.bottleneck_dim**-0.5, "unit": 1.0, "token": INITIAL_STD}[start]
                model.structure.table.mul_(deviation * config.structure.bottleneck_dim**0.5)
    return model


@contextmanager
def _holding(model: GPT, values: dict[str, torch.Tensor]) -> Iterator[None]:
    """`model` with other `values` of its parameters."""
    own = {name: value.detach().clone() for name, value in model.named_parameters()}
    model.load_state_dict(values, strict=False)
    yield
    model.load_state_dict(own, strict=False)
