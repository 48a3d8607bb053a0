"""The model, its training, and where that runs: sections of a recipe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.sources.urls import shown_url

CPU: Final = "cpu"
CUDA: Final = "cuda"
TPU: Final = "tpu"
DEVICES = (CPU, CUDA, TPU)
DTYPES = ("float32", "bfloat16")
SCHEDULES = ("cosine", "wsd")
_SECRET = re.compile(r"passw|token|credential|(?:api|access|private|secret)_?key", re.IGNORECASE)
"""Keys of settings whose values are secrets; a `secret` may be the name of one that a cluster keeps."""
OPTIMIZERS = ("adamw", "muon")
DDP: Final = "ddp"
FSDP: Final = "fsdp"
PARALLEL: Final = (DDP, FSDP)
PLACEMENT: Final = ("processes", "parallel", "elastic")
"""Fields that say over what a model is spread, and by which rounding only results differ."""
_LEAST_STEPS = 4
_LEAST: Final = {
    0: ("kv_heads", "rope_base", "softcap", "validation_rows", "ngram_heads", "state_space_every", "tree_steps"),
    1: ("layers", "heads", "save_every", "batch_rows", "accumulate", "threads", "processes", "state_space_size"),
    2: ("ngram_table",),
}
"""Fields of a training recipe by their least value."""
_KNOWN: Final = {
    "device": DEVICES,
    "dtype": DTYPES,
    "schedule": SCHEDULES,
    "optimizer": OPTIMIZERS,
    "parallel": PARALLEL,
}
"""Fields of a training recipe by the words that they may hold."""
_ON_TPU: Final = {
    "processes": 1,
    "parallel": DDP,
    "optimizer": "adamw",
    "state_space_every": 0,
    "relation_bias": False,
    "tree_steps": 0,
}
"""Fields whose other values have no form for TPUs."""


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """The model (GPT), its optimiser and the run. `threads` is fixed because it decides the bits of a CPU run.

    Of the `heads` of attention, groups share one of `kv_heads` keys and values (0: each has its own). Scores are held
    within +-`softcap` by a tanh (0: they are not). Positions turn by RoPE of base `rope_base`; 0 is 10,000 for rows of
    4,096 tokens, and in proportion more for longer ones. `dtype` is that of the matrix products: weights, moments and
    the sums of the loss are float32. A `compiled` model is one graph for all batches: slow to start, faster after.

    `ngram_heads` tables of `ngram_table` vectors for pairs of tokens, and as many for triples, are added to the
    embedding (0: none). Every `state_space_every`-th block mixes tokens by a state of `state_space_size` numbers a
    channel in place of attention (0: none does); a `fast_convolution` in it lets up to three tokens of the document
    before through.

    Of chunks that call each other, share a type or a level, or are preamble and code, `relation_bias` learns for each
    relation and head how much more or less they attend to each other. `tree_steps` messages (0: none) of
    `structure_bottleneck` channels tell a chunk what related chunks before it hold. A `platform_embedding` adds to each
    token the vectors of the platforms that its document is for.

    A step sees `batch_rows` rows, `accumulate` equal parts of them one after the other, and is
    AdamW's, or `muon`'s for the matrices of the blocks. Its learning rate warms up for
    `warmup_steps`, then falls as a cosine, or (`wsd`) stays, and falls in a line over the last `decay_share` of steps.

    On TPUs (`device`) XLA compiles each step, whether `compiled` or not; the one process uses all TPUs of its machine,
    and each part of a batch has as many rows for each.

    Each of several `processes` holds the whole model (`ddp`), or a part of its weights, gradients and moments (`fsdp`),
    as `parallel` says. An `elastic` run goes on from a checkpoint of other processes, with the same global batches in
    the same order; the manifests of its checkpoints then name those that it went on from.

    A token that a document brings along for its roots weighs `context_loss` in the loss; a root's weighs 1. Each saved
    checkpoint is measured on at most `validation_rows` rows of the held-out files. A phase of the curriculum begins
    with the weights that the one before it ended with; if `from_previous_phase` is false, with those of the seed.
    """

    layers: int = 4
    hidden: int = 256
    heads: int = 4
    kv_heads: int = 0
    rope_base: float = 0.0
    softcap: float = 0.0
    dtype: str = "float32"
    compiled: bool = False
    steps: int = 100
    save_every: int = 50
    batch_rows: int = 1
    accumulate: int = 1
    optimizer: str = "adamw"
    schedule: str = "cosine"
    decay_share: float = 0.2
    learning_rate: float = 1e-3
    warmup_steps: int = 5
    weight_decay: float = 0.1
    gradient_clip: float = 1.0
    seed: int = 1234
    threads: int = 2
    device: str = CPU
    processes: int = 1
    parallel: str = "ddp"
    elastic: bool = False
    structure_components: str = "core"
    structure_bottleneck: int = 64
    ngram_heads: int = 0
    ngram_table: int = 500_000
    state_space_every: int = 0
    state_space_size: int = 64
    fast_convolution: bool = False
    relation_bias: bool = False
    tree_steps: int = 0
    platform_embedding: bool = False
    context_loss: float = 0.0
    validation_rows: int = 16
    from_previous_phase: bool = True

    @property
    def needs_chunks(self) -> bool:
        """Whether the model knows of chunks and how they relate, and not of tokens alone."""
        return self.relation_bias or self.tree_steps > 0

    def __post_init__(self) -> None:
        _require("steps", self.steps >= _LEAST_STEPS, f"at least {_LEAST_STEPS}, or no loss can fall", self.steps)
        for least, names in _LEAST.items():
            for name in names:
                _require(name, getattr(self, name) >= least, f"at least {least}", getattr(self, name))
        for name, known in _KNOWN.items():
            _require(name, getattr(self, name) in known, " or ".join(known), getattr(self, name))
        groups = self.kv_heads == 0 or self.heads % self.kv_heads == 0
        _require("kv_heads", groups, f"a divisor of the {self.heads} heads, or 0", self.kv_heads)
        _require("decay_share", 0 < self.decay_share <= 1, "over 0, to 1", self.decay_share)
        pairs = self.hidden >= 1 and self.hidden % (2 * self.heads) == 0
        _require("hidden", pairs, f"a multiple of 2 x {self.heads} heads", self.hidden)
        biased = not self.relation_bias or self.state_space_every != 1
        _require("relation_bias", biased, "false where every block mixes by a state and none attends", True)
        plain = self.parallel != FSDP or (self.optimizer == "adamw" and not self.compiled)
        _require("parallel", plain, "ddp where the optimizer is muon or the model is compiled", self.parallel)
        _require("context_loss", 0 <= self.context_loss <= 1, "0 to 1", self.context_loss)
        shares = self.batch_rows % (self.processes * self.accumulate) == 0
        parts = f"a multiple of {self.processes} processes x {self.accumulate} parts"
        _require("batch_rows", shares, parts, self.batch_rows)
        if self.device == TPU:
            for name, only in _ON_TPU.items():
                found = getattr(self, name)
                _require(name, found == only, f"{only} where training.device is tpu", found)


@dataclass(frozen=True, slots=True)
class LaunchRecipe:
    """Where training runs. It decides no byte, and no manifest names it.

    `launcher` is the name of a file of `launch/launchers/`, with `settings` of its own. A job whose machine was taken
    away is started `attempts` times in all; one that shows no sign of life for `silence_seconds` is given up, and so is
    an API that gives no answer for as long. It is looked at every `look_seconds` at least.

    `exchange` is the URI of a folder or of a place in a bucket that this machine and the job can both reach; a job
    there stops when nobody has renewed its lease for `lease_seconds`.

    The processes of the training run on `nodes` machines, as many on each.

    With `tensorboard` the metrics that come of it are also written as event files, below `tensorboard/` of the root;
    with the share of `peak_teraflops` that the model's operations are, where it says what a process's device can do a
    second in the recipe's dtype (989 for an H200 and bfloat16).
    """

    launcher: str = "local"
    attempts: int = 4
    silence_seconds: int = 1800
    look_seconds: float = 1.0
    exchange: str = ""
    lease_seconds: int = 300
    nodes: int = 1
    tensorboard: bool = False
    peak_teraflops: float = 0.0
    settings: Mapping[str, str | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in (
            ("attempts", 1),
            ("silence_seconds", 1),
            ("look_seconds", 0.01),
            ("lease_seconds", 1),
            ("nodes", 1),
            ("peak_teraflops", 0),
        ):
            value = getattr(self, name)
            if not value >= least:
                raise SpecError(f"launch.{name}", expected=f"at least {least}", found=value)
        if shown_url(self.exchange) != self.exchange:
            _refuse_secret("exchange", "a URI without credentials", shown_url(self.exchange))
        for name, setting in self.settings.items():
            if _SECRET.search(name):
                _refuse_secret(f"settings.{name}", "no secret", "a key of that name")
            # A line break would begin a second line of a batch script, a manifest or a startup script.
            if isinstance(setting, str) and not setting.isprintable():
                expected = "printable characters only, no line break"
                raise SpecError(f"launch.settings.{name}", expected=expected, found=repr(setting))


def _refuse_secret(name: str, expected: str, found: str) -> None:
    do = "leave it out and export it where the job runs: a recipe is kept whole in the data root, and shown"
    raise SpecError(f"launch.{name}", expected=expected, found=found, do=do)


def _require(name: str, holds: bool, expected: str, found: object) -> None:
    if not holds:
        raise SpecError(f"training.{name}", expected=expected, found=found)
