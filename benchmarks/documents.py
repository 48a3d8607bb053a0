"""What decides how documents are put together: bits per byte that a small model pays for the text that none trained on.

Each arm is a corpus of the same four repositories, made by the line itself, and a way to train on it: as many tokens in
rows of one length, the same tokenizer, the same seeds. Steps are those of the recipe for the corpus whose rows are
fullest, and in proportion more for the others. All are measured on the same text, held-out files and a whole repository
that nobody trained on, in the form of each corpus's documents; only bytes of roots count. With --work what was measured
is kept, and the same command goes on from there. `--set training.KEY=VALUE` makes another model, `--set
training.device=cuda` trains it on a GPU.

`--compile [SOURCE ...]` trains nothing. For each repository (URL@REF or PATH@REF; without any, fmt and googletest) and
each `--budget` it draws `--documents` documents and prints the share that libclang parses without an error, alone and
with the toolchain's headers only, then the share with each kind of error, and the context recall and the replication of
all documents. `--errors` also prints the messages.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from _arguments import positive, run
from _harness import Figure, report
from _results import Results
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract import megatron_files as files
from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.names import BASE_SPECIALIST, VALID_SPLIT
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.contract.recipe.text import load_recipe, recipe_toml
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import megatron_path, packed_path, tokenizer_path
from megacpp_assets.tokenizer.model import byte_lengths
from megacpp_assets.trained.stage import TrainedCheckpointSpec
from megacpp_assets.trained.stage import run as train
from megacpp_assets.training.processes.numerics import numerics

BENCH = "documents"
PHASE = "4k"
UNSEEN = "leveldb"
CATALOGUE = """\
[repo.fmt]
url = "https://github.com/fmtlib/fmt"
ref = "11.0.0"
license = "MIT"

[repo.googletest]
url = "https://github.com/google/googletest"
ref = "v1.15.0"
license = "BSD-3-Clause"

[repo.re2]
url = "https://github.com/google/re2"
ref = "2024-07-02"
license = "BSD-3-Clause"

[repo.leveldb]
url = "https://github.com/google/leveldb"
ref = "1.23"
license = "BSD-3-Clause"
"""
BASE = f"""\
dataset = "documents"
catalogue = "./catalogue.toml"
repos = ["fmt", "googletest", "re2", "leveldb"]
curriculum = ["{PHASE}"]

[semantic]
chars_per_token = 3.0

[holdout]
share = 0.1
repositories = ["{UNSEEN}"]

[tokenizer]
vocabulary_size = 12288

[training]
layers = 3
hidden = 64
heads = 2
learning_rate = 4e-3
warmup_steps = 10
threads = 1
"""
CORPORA: Mapping[str, Mapping[str, Any]] = {
    "file": {"strategy": "file", "replication": 1.0},
    "per_chunk": {"strategy": "per_chunk", "replication": 0.0, "body_depth": 5},
    "clustered": {"strategy": "clustered"},
}
"""The documents of each: whole files in path order, the seeds' form (every root with all that it uses, whole), and
clusters of roots as the default recipe has them."""
STRUCTURE = ("none", "core")
TEXTS = ("held-out files", "unseen repository")


@dataclass(frozen=True, slots=True)
class Arm:
    """Documents to train on, and what a token that is no root's weighs in the loss."""

    corpus: str
    context_loss: float = 1.0

    @property
    def name(self) -> str:
        """Its name in figures."""
        return self.corpus if self.context_loss == 1 else f"{self.corpus}, context weighs {self.context_loss:g}"


FIRST = (Arm("file"), Arm("per_chunk"), Arm("per_chunk", 0.0), Arm("clustered"))
THEN = (Arm("clustered", 0.0), Arm("clustered", 0.5))
ARMS = (*FIRST, *THEN)


@dataclass(frozen=True, slots=True)
class Trial:
    """One training of an arm."""

    arm: Arm
    structure: str
    seed: int

    def training(self, recipe: TrainingRecipe, steps: int) -> TrainingRecipe:
        """Its part of the recipe, for `steps`."""
        return replace(
            recipe,
            context_loss=self.arm.context_loss,
            structure_components=self.structure,
            seed=self.seed,
            steps=steps,
            save_every=steps,
        )


def steps_of(recipes: Mapping[str, Recipe], filled: Mapping[str, int]) -> dict[str, int]:
    """Steps of each corpus in which it gives as many tokens as the others, by how full its rows are."""
    fullest = max(filled.values())
    return {name: round(recipe.training.steps * fullest / filled[name]) for name, recipe in recipes.items()}


def trials(seeds: int, wanted: Sequence[str] = (), structure: Sequence[str] = STRUCTURE) -> list[Trial]:
    """Those of the arms with the names `wanted`, or of all, seed by seed, so that what is there when it is stopped
    compares arms.
    """
    numbers = range(1, seeds + 1)
    kept = [[arm for arm in arms if not wanted or arm.name in wanted] for arms in (FIRST, THEN)]
    if wanted:
        kept = [[arm for arms in kept for arm in arms]]
    return [Trial(arm, kind, seed) for arms in kept for seed in numbers for arm in arms for kind in structure]


def corpus_recipes(folder: Path, settings: Sequence[str], corpora: Sequence[str] = tuple(CORPORA)) -> dict[str, Recipe]:
    """The recipe of each of `corpora`, with `settings` of the form KEY=VALUE; its catalogue is written to `folder`."""
    (folder / "catalogue.toml").write_text(CATALOGUE)
    (folder / "base.toml").write_text(BASE)
    base = load_recipe(str(folder / "base.toml"), settings)
    return {
        name: replace(base, dataset=f"documents_{name}", semantic=replace(base.semantic, **CORPORA[name]))
        for name in corpora
    }


def make_corpora(folder: Path, recipes: Mapping[str, Recipe]) -> None:
    """Run the line for each corpus, up to the files that a training reads; `SystemExit` where it fails."""
    for name, recipe in recipes.items():
        file = folder / f"{name}.toml"
        file.write_text(recipe_toml(recipe))
        command = [
            sys.executable, "-c", "from megacpp_assets.cli import main; main()", "run", "--recipe", str(file),
            "--specialists", BASE_SPECIALIST, "--until", "megatron_bin_idx", "--data-root", str(folder / "data"),
        ]  # fmt: skip
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode:
            raise SystemExit(f"the line of {recipe.dataset} failed, as it says above")


class Texts:
    """What is measured on: for each corpus some rows of its documents that validate, and whose text each token is."""

    def __init__(self, root: Path, recipes: Mapping[str, Recipe], most_rows: int) -> None:
        from megacpp_assets.loader.rows import open_rows

        self._mixture = Mixture(BASE_SPECIALIST, PHASE)
        tokenizers = {name: open_artifact(root, tokenizer_path(recipe.dataset)) for name, recipe in recipes.items()}
        if len({artifact.manifest.file(c.TOKENIZER_FILE).sha256 for artifact in tokenizers.values()}) != 1:
            raise SystemExit("the corpora have different tokenizers: their figures cannot be compared")
        self.lengths = byte_lengths(next(iter(tokenizers.values())).file(c.TOKENIZER_FILE).read_bytes())
        self._rows = {}
        for name, recipe in recipes.items():
            artifact = open_artifact(root, megatron_path(recipe.dataset, self._mixture))
            rows = open_rows(artifact, recipe.dataset, VALID_SPLIT)
            numbers = np.unique(np.linspace(0, len(rows) - 1, most_rows).astype(np.int64))
            self._rows[name] = rows, numbers, _groups(artifact, recipe.dataset)

    def bits(self, checkpoint: Artifact, training: TrainingRecipe) -> dict[str, dict[str, float]]:
        """Bits per byte by the form of the documents and by whose text it is."""
        import torch
        from _bits import measured_bits

        from megacpp_assets.training.checkpoints.checkpoint import restore
        from megacpp_assets.training.network.model import GPT
        from megacpp_assets.training.network.size import model_config
        from megacpp_assets.training.optimizer import AdamW

        torch.set_num_threads(training.threads)
        model = GPT(model_config(training, len(self.lengths))).to(training.device)
        restore(checkpoint, model, AdamW(dict(model.named_parameters()), 0.0))
        found = {name: measured_bits(model, *measured, self.lengths) for name, measured in self._rows.items()}
        return {
            form: {text: each.bits_per_byte for text, each in zip(TEXTS, by_text, strict=True)}
            for form, by_text in found.items()
        }


def _groups(artifact: Artifact, dataset: str) -> NDArray[np.int64]:
    """Which of TEXTS each token of the validation split belongs to."""
    documents = pq.read_table(artifact.file(files.prefix_name(dataset, VALID_SPLIT) + files.DOCUMENTS))
    unseen = np.array(documents[c.REPO].to_pylist()) == UNSEEN
    return np.repeat(unseen.astype(np.int64), documents[c.TOKENS].to_numpy())


def measure(
    folder: Path, recipes: Mapping[str, Recipe], planned: Sequence[Trial], rows: int
) -> Iterator[dict[str, Any]]:
    """Train and measure what is not known yet; a line for each trial, in order."""
    root, results = folder / "data", Results(folder / "results.jsonl")
    texts, steps = Texts(root, recipes, rows), steps_of(recipes, _filled(root, recipes))
    for number, trial in enumerate(planned, 1):
        recipe = recipes[trial.arm.corpus]
        training = trial.training(recipe.training, steps[trial.arm.corpus])
        spec = TrainedCheckpointSpec(root, recipe.dataset, Mixture(BASE_SPECIALIST, PHASE), training)
        data = open_artifact(root, megatron_path(recipe.dataset, spec.mixture)).manifest.sha256
        key = sha256_bytes(canonical_json([asdict(training), data, rows]))
        line = results.get(key)
        if line is None:
            checkpoint = train(spec)
            found = {"bits": texts.bits(checkpoint, training), "tokens": checkpoint.manifest.stats["tokens"]}
            line = results.add({"key": key, "trial": asdict(trial), "arm": trial.arm.name, **found})
        print(f"{number} of {len(planned)}: {line}", file=sys.stderr, flush=True)
        yield line


def _filled(root: Path, recipes: Mapping[str, Recipe]) -> dict[str, int]:
    """Of each corpus the tokens in a million places of its rows."""
    mixture = Mixture(BASE_SPECIALIST, PHASE)
    packed = {name: open_artifact(root, packed_path(recipe.dataset, mixture)) for name, recipe in recipes.items()}
    return {name: int(artifact.manifest.stats["utilisation_ppm"]) for name, artifact in packed.items()}


def tell(lines: Sequence[dict[str, Any]]) -> None:
    """Print mean and spread of every arm over the seeds, for each text and form of documents, beside plain files; and
    by how much an arm is behind plain files of the same seed, with the spread of that.
    """
    forms, kinds = lines[0]["bits"], dict.fromkeys(line["trial"]["structure"] for line in lines)
    for structure, form, text in product(kinds, forms, TEXTS):
        found = [line for line in lines if line["trial"]["structure"] == structure]
        by_arm: dict[str, dict[int, float]] = {line["arm"]: {} for line in found}
        for line in found:
            by_arm[line["arm"]][line["trial"]["seed"]] = line["bits"][form][text]
        plain = by_arm.get("file", {})
        for name, bits in by_arm.items():
            what = f"{text} as {form} documents, structure {structure}, {name}"
            _tell(what, list(bits.values()), statistics.fmean(plain.values()) if plain else None)
            if plain and name != "file":
                _tell(
                    f"{what}, less file of the same seed", [bits[seed] - plain[seed] for seed in bits if seed in plain]
                )


def _tell(what: str, values: Sequence[float], plain: float | None = None) -> None:
    spread = statistics.stdev(values) if len(values) > 1 else math.nan
    figure = Figure(BENCH, what, "bits/byte")
    report(figure, statistics.fmean(values), plain, peer_name="file", runs=len(values), spread=spread)


def main(arguments: Sequence[str]) -> None:
    """Print every line; an error of ours where a setting is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="keep corpora and results here, and go on from them")
    parser.add_argument("--seeds", type=positive, default=3)
    parser.add_argument("--rows", type=positive, default=16, help="of each form of documents, to measure on")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--arm", dest="arms", action="append", choices=[arm.name for arm in ARMS], help="default: all")
    parser.add_argument("--structure", choices=STRUCTURE, help="default: each")
    parser.add_argument("--compile", action="store_true", help="the share of documents that compile")
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help="repositories of --compile")
    parser.add_argument("--documents", type=positive, default=60, help="documents that --compile draws")
    parser.add_argument("--budget", dest="budgets", type=positive, action="append", help="of --compile; default: 4096")
    parser.add_argument("--errors", action="store_true", help="print the messages of --compile")
    options = parser.parse_args(arguments)
    if options.sources and not options.compile:
        parser.error("a SOURCE is for --compile")
    if options.compile:
        from _compile import report_compiling

        report_compiling(options)
        return
    planned = trials(options.seeds, options.arms or (), [options.structure] if options.structure else STRUCTURE)
    with tempfile.TemporaryDirectory() as scratch:
        folder: Path = (options.work or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        recipes = corpus_recipes(folder, options.settings, list(dict.fromkeys(each.arm.corpus for each in planned)))
        make_corpora(folder, recipes)
        tell(list(measure(folder, recipes, planned, options.rows)))


if __name__ == "__main__":
    import os

    os.environ.update(numerics(1))  # read when torch is loaded
    run(main)
