"""The model and its training: a section of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.key import key, require_allowed
from megacpp_assets.contract.recipe.ranges import ANY_WHOLE, above, at_least, between

CPU: Final = "cpu"
CUDA: Final = "cuda"
TPU: Final = "tpu"
DEVICES = (CPU, CUDA, TPU)
DTYPES = ("float32", "bfloat16")
SCHEDULES = ("cosine", "wsd")
OPTIMIZERS = ("adamw", "muon")
DDP: Final = "ddp"
FSDP: Final = "fsdp"
PARALLEL: Final = (DDP, FSDP)
NO_SCHEDULER: Final = "none"
SCHEDULERS: Final = (NO_SCHEDULER, "dp_balanced")
AUTO: Final = "auto"
VARLEN: Final = "varlen"
DENSE: Final = "dense"
MAX_DENSE_TOKENS: Final = 8192
"""The longest row for which a mask of all pairs is built (docs/contracts.md: 4 GB per sample at 64K)."""
ATTENTION: Final = (AUTO, VARLEN, DENSE)
AVX2: Final = "avx2"
AVX512: Final = "avx512"
INSTRUCTION_SETS: Final = (AVX2, AVX512)
MEGATRON_READER: Final = "megatron"
READERS: Final = ("rows", MEGATRON_READER)
STRUCTURE_COMPONENTS: Final = ("structure", "dep_level", "ast_depth", "sibling_index", "ast_node_type")
"""The channels of the structure embedding, in canonical order."""
_COMPONENT_SETS: Final = ("none", "core", "all")
PLACEMENT: Final = ("processes", "parallel", "elastic")
"""Fields that say over what a model is spread, and by which rounding only results differ."""
TREE_STEPS: Final = 3
"""Steps of message passing where a flag or a phase turns it on."""
_LEAST_STEPS = 4
"""With fewer steps no loss can fall."""
_ON_TPU: Final = {
    "processes": 1,
    "parallel": DDP,
    "optimizer": "adamw",
    "scheduler": NO_SCHEDULER,
    "reader": READERS[0],
    "attention": AUTO,
}
"""Fields whose other values have no form for TPUs. A scheduler moves documents between processes, and a TPU run has one
process. The number of its parts differs between steps, and each number would be another graph."""
_VARLEN: Final = {"softcap": 0.0, "relation_bias": False, "compiled": False}
"""Fields whose other values a varlen kernel has no form for: it adds nothing to scores, and its shapes vary."""
_FLEX_CHANNELS: Final = 16
"""Fewest channels of a head for which FlexAttention's CUDA kernel is compiled (torch 2.11)."""
_READ_BY_MEGATRON: Final = {
    "structure_components": "none",
    "context_loss": 1.0,
    "relation_bias": False,
    "tree_steps": 0,
    "platform_embedding": False,
    "scheduler": NO_SCHEDULER,
}
"""Fields whose other values need more than tokens, which are all that megatron-core reads."""


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """The model (a GPT), its optimizer and the run.

    A step is a function of the seed: a resumed run gives the bits of an uninterrupted one.
    """

    layers: int = key(4, "Transformer blocks.", allowed=at_least(1), unit="blocks")
    hidden: int = key(
        256,
        "Width of the model. FlexAttention (CUDA) needs at least 16 x heads.",
        allowed=at_least(1, also="a multiple of 2 x heads"),
        unit="channels",
    )
    heads: int = key(4, "Attention heads.", allowed=at_least(1), unit="heads")
    kv_heads: int = key(
        0,
        "Heads of keys and values (grouped attention); 0 is one for each head.",
        allowed=at_least(0, also="a divisor of heads, or 0"),
        unit="heads",
    )
    rope_base: float = key(
        0.0,
        "Base of the rotary positions; 0 stands for 10,000 x row tokens / 4,096, at least 10,000.",
        allowed=at_least(0),
    )
    softcap: float = key(
        0.0, "Attention scores are limited to +-softcap by a tanh; 0 sets no limit.", allowed=at_least(0)
    )
    dtype: str = key("float32", "Type of matrix products; weights, moments and loss sums are float32.", allowed=DTYPES)
    attention: str = key(
        AUTO,
        'How attention stays within documents. "auto": one document after another on a CPU, FlexAttention on '
        'CUDA. "varlen": a varlen kernel. "dense": a dense mask, for rows of at most 8,192 tokens.',
        allowed=ATTENTION,
    )
    compiled: bool = key(
        False,
        "Compile the model with torch.compile into one graph for all batches. The training starts later.",
        allowed="true or false",
    )
    steps: int = key(100, "Optimizer steps of each phase.", allowed=at_least(_LEAST_STEPS), unit="steps")
    save_every: int = key(50, "Steps between checkpoints.", allowed=at_least(1), unit="steps")
    batch_rows: int = key(
        1, "Rows of a step.", allowed=at_least(1, also="a multiple of processes x accumulate"), unit="rows"
    )
    accumulate: int = key(
        1,
        "Gradient accumulation: number of equal parts of a batch, which are computed one after another. With a "
        "scheduler, the batch is read in these parts and then divided into microbatches of one row.",
        allowed=at_least(1),
        unit="parts",
    )
    reader: str = key(
        READERS[0],
        "Train on packed rows, or on the samples that megatron-core's datasets cut from the same files.",
        allowed=READERS,
    )
    scheduler: str = key(
        NO_SCHEDULER,
        '"dp_balanced" moves the documents of a batch between processes, so that all have about the same number '
        'of tokens. "none" trains on rows as they are packed.',
        allowed=SCHEDULERS,
    )
    optimizer: str = key("adamw", "AdamW, or Muon for the matrices of the blocks.", allowed=OPTIMIZERS)
    schedule: str = key(
        "cosine",
        "Learning rate after the warm-up: cosine decay, or constant with a linear decay at the end.",
        allowed=SCHEDULES,
    )
    decay_share: float = key(0.2, 'Share of the steps in which a "wsd" schedule decays.', allowed=above(0, 1))
    learning_rate: float = key(1e-3, "Highest learning rate.", allowed=at_least(0))
    warmup_steps: int = key(5, "Steps of the linear warm-up.", allowed=at_least(0), unit="steps")
    weight_decay: float = key(0.1, "Weight decay of the matrices.", allowed=at_least(0))
    gradient_clip: float = key(1.0, "Largest norm of the gradient.", allowed=above(0))
    seed: int = key(1234, "Seed of the weights and of the order of rows.", allowed=ANY_WHOLE)
    threads: int = key(
        2,
        "CPU threads. Their number decides rounding on a CPU, so it is part of the identity of the checkpoint.",
        allowed=at_least(1),
        unit="threads",
    )
    instruction_set: str = key(
        AVX2,
        "Vector instructions of a CPU. They decide rounding, so they are part of the identity of the checkpoint. "
        '"avx512" makes a step faster on a processor that has it.',
        allowed=INSTRUCTION_SETS,
    )
    device: str = key(CPU, "Where the model runs.", allowed=DEVICES)
    processes: int = key(
        1, "Processes of the training.", allowed=at_least(1, also="a multiple of launch.nodes"), unit="processes"
    )
    parallel: str = key(
        "ddp",
        'Each process holds the whole model ("ddp"), or a part of the weights, gradients and moments ("fsdp"). '
        "Muon and compiled models need ddp.",
        allowed=PARALLEL,
    )
    elastic: bool = key(
        False,
        "Allow a resume from a checkpoint of another number of processes, with the same global batches.",
        allowed="true or false",
    )
    structure_components: str = key(
        "core",
        "Structure channels of the embedding. With 0.6 M parameters under Muon they help at first and are worth "
        'nothing later: "core" changed bits per byte on held-out files by -0.029 ± 0.012 after 1.2 M tokens and by '
        "+0.010 ± 0.013 after 4.9 M, and on other libraries by -0.026 ± 0.015 and +0.004 ± 0.011 (negative is better).",
        allowed=f'"none", "core", "all", or some of {", ".join(STRUCTURE_COMPONENTS)}, joined by commas',
    )
    structure_bottleneck: int = key(
        64, "Width of the structure embedding before it is projected.", allowed=at_least(1), unit="channels"
    )
    structure_learning_rate: float = key(
        0.02,
        "Learning rate of the structure embedding, as a share of learning_rate. At 1.0 it learns faster at first, and "
        "after 4.9 M tokens costs 0.042 to 0.067 bits per byte.",
        allowed=above(0, 1),
    )
    ngram_heads: int = key(
        0,
        "Hash tables for pairs and triples of tokens; 0 adds none. Their worth is not measured.",
        allowed=at_least(0),
        unit="tables",
    )
    ngram_table: int = key(500_000, "Vectors of each n-gram table.", allowed=at_least(2), unit="vectors")
    state_space_every: int = key(
        0, "Every n-th block is a Mamba-2 block in place of attention; 0 is none.", allowed=at_least(0), unit="blocks"
    )
    state_space_size: int = key(
        64, "Size of the state of each channel of a Mamba-2 block.", allowed=at_least(1), unit="numbers"
    )
    fast_convolution: bool = key(
        True,
        "On CUDA without a scheduler, let the convolution of a Mamba-2 block read up to three tokens of the previous "
        "document. Elsewhere it never does.",
        allowed="true or false",
    )
    relation_bias: bool = key(
        False,
        "Learn an attention bias for each relation of chunks and each head. Its worth is not measured.",
        allowed="true or false",
    )
    tree_steps: int = key(
        0,
        "Steps of message passing between related chunks; 0 is none. Their worth is not measured.",
        allowed=at_least(0),
        unit="steps",
    )
    platform_embedding: bool = key(
        False,
        "Add embeddings of the platforms that a document is for. Their worth is not measured.",
        allowed="true or false",
    )
    context_loss: float = key(
        1.0,
        "Weight of context tokens in the loss. Root tokens have weight 1. With 0.6 M parameters, weight 0 changed bits "
        "per byte of roots by +0.052 to +0.108 after 4.9 M tokens, and by -0.024 after 0.24 M (negative is better).",
        allowed=between(0, 1),
    )
    validation_rows: int = key(
        16, "Largest number of held-out rows on which a checkpoint is measured.", allowed=at_least(0), unit="rows"
    )
    from_previous_phase: bool = key(
        True, "Start a phase with the weights of the phase before it in the curriculum.", allowed="true or false"
    )

    def structure_aware(self) -> TrainingRecipe:
        """Return the recipe of a phase that is structure-aware: with relation bias, at least `TREE_STEPS` steps of
        messages between chunks, and all channels where the recipe has "core"."""
        components = "all" if self.structure_components == "core" else self.structure_components
        steps = self.tree_steps or TREE_STEPS
        return replace(self, relation_bias=True, tree_steps=steps, structure_components=components)

    @property
    def needs_group(self) -> bool:
        """Whether processes form a group of torch.distributed. Schedulers and megatron-core ask for one of one too."""
        return self.processes > 1 or self.scheduler != NO_SCHEDULER or self.reader == MEGATRON_READER

    @property
    def convolves_across_documents(self) -> bool:
        """Whether the convolution of a Mamba-2 block ignores where documents begin. Under a scheduler, which decides
        what stands before a document, losses would depend on the number of processes."""
        return self.fast_convolution and self.device == CUDA and self.scheduler == NO_SCHEDULER

    @property
    def needs_chunks(self) -> bool:
        """Whether the model knows of chunks and how they relate, and not of tokens alone."""
        return self.relation_bias or self.tree_steps > 0

    def __post_init__(self) -> None:
        require_allowed(self, "training")
        groups = self.kv_heads == 0 or self.heads % self.kv_heads == 0
        _require("kv_heads", groups, f"a divisor of the {self.heads} heads, or 0", self.kv_heads)
        pairs = self.hidden % (2 * self.heads) == 0
        _require("hidden", pairs, f"a multiple of 2 x {self.heads} heads", self.hidden)
        flex = self.device == CUDA and self.attention == AUTO
        wide = not flex or self.hidden >= _FLEX_CHANNELS * self.heads
        needed = f"at least {_FLEX_CHANNELS} x {self.heads} heads for FlexAttention on CUDA, or attention = dense"
        _require("hidden", wide, needed, self.hidden)
        biased = not self.relation_bias or self.state_space_every != 1
        _require("relation_bias", biased, "false where every block mixes by a state and none attends", True)
        plain = self.parallel != FSDP or (self.optimizer == "adamw" and not self.compiled)
        _require("parallel", plain, "ddp where the optimizer is muon or the model is compiled", self.parallel)
        named = {part.strip() for part in self.structure_components.split(",")}
        known = self.structure_components in _COMPONENT_SETS or named <= set(STRUCTURE_COMPONENTS)
        channels = f"none, core, all, or some of {', '.join(STRUCTURE_COMPONENTS)}, joined by commas"
        _require("structure_components", known, channels, repr(self.structure_components))
        shares = self.batch_rows % (self.processes * self.accumulate) == 0
        parts = f"a multiple of {self.processes} processes x {self.accumulate} parts"
        _require("batch_rows", shares, parts, self.batch_rows)
        if self.device == TPU:
            self._require_only(_ON_TPU, "training.device is tpu")
        if self.attention == VARLEN:
            self._require_only(_VARLEN, "training.attention is varlen")
        if self.reader == MEGATRON_READER:
            self._require_only(_READ_BY_MEGATRON, "training.reader is megatron")

    def _require_only(self, values: Mapping[str, object], case: str) -> None:
        for name, only in values.items():
            found = getattr(self, name)
            _require(name, found == only, f"{str(only).lower()} where {case}", found)


def _require(name: str, holds: bool, expected: str, found: object) -> None:
    if not holds:
        raise SpecError(f"training.{name}", expected=expected, found=found)
