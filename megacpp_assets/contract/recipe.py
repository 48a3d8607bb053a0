"""A recipe: everything that a person may choose about a corpus, as frozen values; `recipe_text.py` reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import BASE_SPECIALIST
from megacpp_assets.contract.partition import require_label
from megacpp_assets.contract.recipe_rows import (
    DATASET_NAME,
    MegatronRecipe,
    PackingRecipe,
    PhaseRecipe,
    standard_phases,
)
from megacpp_assets.contract.sources.urls import shown_url
from megacpp_assets.contract.specials import FIXED_IDS, VOCABULARY_SIZE

DUPLICATES = ("ignore", "report", "drop_exact", "drop_near")
POLICIES = ("manual", "when_checked")
DEVICES = ("cpu", "cuda")
DTYPES = ("float32", "bfloat16")
SCHEDULES = ("cosine", "wsd")
_SECRET = re.compile(r"passw|token|credential|(?:api|access|private|secret)_?key", re.IGNORECASE)
"""Keys of settings whose values are secrets; a `secret` may be the name of one that a cluster keeps."""
OPTIMIZERS = ("adamw", "muon")
STRATEGIES = ("clustered", "file", "per_chunk")
_LEAST_STEPS = 4


@dataclass(frozen=True, slots=True)
class SourcesRecipe:
    """Limits of stage 1 on one repository with its submodules; no real one comes near. They decide no byte.

    `entries`, `path_bytes` and `path_depth` (folders and name) are of its trees, `blob_bytes` of one file,
    `total_bytes` of all files, and of what git may write to one file; `memory_bytes` (address space) and `cpu_seconds`
    are of each process, `wall_seconds` of the whole stage.
    """

    entries: int = 2_000_000
    path_bytes: int = 4096
    path_depth: int = 256
    blob_bytes: int = 1 << 30
    total_bytes: int = 64 << 30
    submodules: int = 1000
    memory_bytes: int = 8 << 30
    cpu_seconds: int = 3600
    wall_seconds: int = 4 * 3600

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if type(value) is not int or value < 1:
                raise SpecError(f"sources.{name}", expected="a whole number of at least 1", found=repr(value))


@dataclass(frozen=True, slots=True)
class SemanticRecipe:
    """Documents and limits of stage 2: what stands in a document, largest file in bytes.

    `strategy` says which roots share a document: each has its own (`per_chunk`), those of a `file`, or those that use
    each other (`clustered`). Around them stand declarations of what they use up to `dependency_depth` edges away, with
    bodies up to `body_depth`; the text of a document is at most `replication` times that of its roots (0: no cap).
    A budget is filled as if a token were `chars_per_token` characters: a small vocabulary has shorter ones, and a
    document that is too long after all is split where tokens are counted, its second part without its context.

    So many as `parsed_documents`, drawn by their ids, are parsed by themselves, and the coverage report says which
    share lacks no name of the repository.

    `configure` asks a tree's own cmake, in a sandbox, for the compile database that the tree does not hold.

    A file may take `file_cpu_seconds` of CPU time over all its tries; all files together `repository_cpu_seconds` and
    `unit_cpu_seconds` for each of them, and `wall_per_cpu` times as much by the clock. What is over its budget is
    recorded and left out; over `failed_files_per_cent` of such files, or of others that failed, stop the run.
    """

    strategy: str = "clustered"
    dependency_depth: int = 5
    body_depth: int = 1
    replication: float = 1.5
    chars_per_token: float = 4.0
    file_bytes: int = 1_000_000
    parsed_documents: int = 20
    configure: bool = False
    file_cpu_seconds: int = 120
    repository_cpu_seconds: int = 3600
    unit_cpu_seconds: int = 10
    wall_per_cpu: int = 10
    failed_files_per_cent: float = 5.0

    def __post_init__(self) -> None:
        least = {"file_cpu_seconds": 4, "repository_cpu_seconds": 1, "unit_cpu_seconds": 0, "wall_per_cpu": 1}
        least |= {"parsed_documents": 0}
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise SpecError(f"semantic.{name}", expected=f"at least {bound}", found=getattr(self, name))
        if self.strategy not in STRATEGIES:
            raise SpecError("semantic.strategy", expected=" or ".join(STRATEGIES), found=repr(self.strategy))
        if not (self.replication == 0 or 1 <= self.replication <= 100):
            raise SpecError("semantic.replication", expected="1 to 100, or 0 for no cap", found=self.replication)
        if not 1 <= self.chars_per_token <= 16:
            raise SpecError("semantic.chars_per_token", expected="1 to 16", found=self.chars_per_token)
        if not 0 <= self.failed_files_per_cent <= 100:
            raise SpecError("semantic.failed_files_per_cent", expected="0 to 100", found=self.failed_files_per_cent)


NEAR_COPY = 0.7


@dataclass(frozen=True, slots=True)
class HoldoutRecipe:
    """What validates: a `share` of each repository's files, by a hash of repository, path and `salt`, and all files of
    whole `repositories`. Definitions of other files of whose tokens a part of `near_copy` is a held-out definition's,
    in runs, do not train."""

    share: float = 0.05
    repositories: tuple[str, ...] = ()
    salt: str = ""
    near_copy: float = NEAR_COPY

    def __post_init__(self) -> None:
        for name, least in (("share", 0.0), ("near_copy", 0.1)):
            value = getattr(self, name)
            if not least <= value <= 1:
                raise SpecError(f"holdout.{name}", expected=f"{least:g} to 1", found=value)


@dataclass(frozen=True, slots=True)
class TokenizerRecipe:
    """Vocabulary size in ids (fixed band included) and the whitespace recipe of the splitter."""

    vocabulary_size: int = VOCABULARY_SIZE
    whitespace: str = "operators_carry_spaces"

    def __post_init__(self) -> None:
        if self.vocabulary_size < FIXED_IDS:
            raise SpecError("tokenizer.vocabulary_size", expected=f"at least {FIXED_IDS}", found=self.vocabulary_size)


@dataclass(frozen=True, slots=True)
class MixtureRecipe:
    """Times that a specialist which the catalogue defines takes its own repository; `seed` of the packing.

    `duplicates` says what becomes of training documents that another repository has too: they are not looked for
    (`ignore`), told in clusters (`report`), and left out as well, if the same (`drop_exact`) or nearly (`drop_near`, by
    `holdout.near_copy`). The first repository by name keeps its own.
    """

    own_weight: float = 4.0
    seed: int = 42
    duplicates: str = "ignore"

    def __post_init__(self) -> None:
        _require_weight("mixture.own_weight", self.own_weight)
        if self.duplicates not in DUPLICATES:
            raise SpecError("mixture.duplicates", expected=" or ".join(DUPLICATES), found=repr(self.duplicates))


@dataclass(frozen=True, slots=True)
class PromotionRecipe:
    """When mixtures take another reference of a repository: `policy` is `manual` (somebody says so) or `when_checked`
    (by itself, once it is made and nothing speaks against it).

    Against the reference that they read so far it may have `least_share` to `most_share` times the documents, tokens
    and bytes, `category_shift` of its tokens in other categories, and another number of bytes per token by a part of
    `bytes_per_token_shift`. A file that could not be indexed is in `failed_units`, as `NAME:PATH`, with the reason why
    it may be lacking.
    """

    policy: str = "manual"
    least_share: float = 0.5
    most_share: float = 3.0
    category_shift: float = 0.15
    bytes_per_token_shift: float = 0.15
    failed_units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bounds = {"least_share": (0.0, 1.0), "most_share": (1.0, math.inf)}
        bounds |= {"category_shift": (0.0, 1.0), "bytes_per_token_shift": (0.0, math.inf)}
        for name, (least, most) in bounds.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise SpecError(f"promotion.{name}", expected=f"{least:g} to {most:g}", found=value)
        if self.policy not in POLICIES:
            raise SpecError("promotion.policy", expected=" or ".join(POLICIES), found=repr(self.policy))
        for unit, reason in self.failed_units.items():
            if ":" not in unit or not reason.strip():
                where = f"promotion.failed_units.{unit!r}"
                raise SpecError(where, expected="NAME:PATH and a reason", found=repr(reason))


_LEAST: Final = {
    0: ("kv_heads", "rope_base", "softcap", "validation_rows", "ngram_heads", "state_space_every"),
    1: ("layers", "heads", "save_every", "batch_rows", "accumulate", "threads", "processes", "state_space_size"),
    2: ("ngram_table",),
}
"""Fields of a training recipe by their least value."""


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

    A step sees `batch_rows` rows, `accumulate` equal parts of them one after the other, and is
    AdamW's, or `muon`'s for the matrices of the blocks. Its learning rate warms up for
    `warmup_steps`, then falls as a cosine, or (`wsd`) stays, and falls in a line over the last `decay_share` of steps.

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
    device: str = "cpu"
    processes: int = 1
    structure_components: str = "core"
    structure_bottleneck: int = 64
    ngram_heads: int = 0
    ngram_table: int = 500_000
    state_space_every: int = 0
    state_space_size: int = 64
    fast_convolution: bool = False
    context_loss: float = 1.0
    validation_rows: int = 16
    from_previous_phase: bool = True

    def __post_init__(self) -> None:
        _require("steps", self.steps >= _LEAST_STEPS, f"at least {_LEAST_STEPS}, or no loss can fall", self.steps)
        for least, names in _LEAST.items():
            for name in names:
                _require(name, getattr(self, name) >= least, f"at least {least}", getattr(self, name))
        for name, known in (("device", DEVICES), ("dtype", DTYPES), ("schedule", SCHEDULES), ("optimizer", OPTIMIZERS)):
            _require(name, getattr(self, name) in known, " or ".join(known), getattr(self, name))
        groups = self.kv_heads == 0 or self.heads % self.kv_heads == 0
        _require("kv_heads", groups, f"a divisor of the {self.heads} heads, or 0", self.kv_heads)
        _require("decay_share", 0 < self.decay_share <= 1, "over 0, to 1", self.decay_share)
        pairs = self.hidden >= 1 and self.hidden % (2 * self.heads) == 0
        _require("hidden", pairs, f"a multiple of 2 x {self.heads} heads", self.hidden)
        _require("context_loss", 0 <= self.context_loss <= 1, "0 to 1", self.context_loss)
        shares = self.batch_rows % (self.processes * self.accumulate) == 0
        parts = f"a multiple of {self.processes} processes x {self.accumulate} parts"
        _require("batch_rows", shares, parts, self.batch_rows)


@dataclass(frozen=True, slots=True)
class LaunchRecipe:
    """Where training runs. It decides no byte, and no manifest names it.

    `launcher` is the name of a file of `training/launchers/`, with `settings` of its own. A job whose machine was taken
    away is started `attempts` times in all; one that shows no sign of life for `silence_seconds` is given up, and so is
    an API that gives no answer for as long. It is looked at every `look_seconds` at least.

    `exchange` is the URI of a folder or of a place in a bucket that this machine and the job can both reach; a job
    there stops when nobody has renewed its lease for `lease_seconds`.
    """

    launcher: str = "local"
    attempts: int = 4
    silence_seconds: int = 1800
    look_seconds: float = 1.0
    exchange: str = ""
    lease_seconds: int = 300
    settings: Mapping[str, str | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in (("attempts", 1), ("silence_seconds", 1), ("look_seconds", 0.01), ("lease_seconds", 1)):
            value = getattr(self, name)
            if not value >= least:
                raise SpecError(f"launch.{name}", expected=f"at least {least}", found=value)
        if shown_url(self.exchange) != self.exchange:
            _refuse_secret("exchange", "a URI without credentials", shown_url(self.exchange))
        for name in self.settings:
            if _SECRET.search(name):
                _refuse_secret(f"settings.{name}", "no secret", "a key of that name")


def _refuse_secret(name: str, expected: str, found: str) -> None:
    do = "leave it out and export it where the job runs: a recipe is kept whole in the data root, and shown"
    raise SpecError(f"launch.{name}", expected=expected, found=found, do=do)


def _require(name: str, holds: bool, expected: str, found: object) -> None:
    if not holds:
        raise SpecError(f"training.{name}", expected=expected, found=found)


@dataclass(frozen=True, slots=True)
class Recipe:
    """All of it. `dataset` names the corpus; `catalogue` is a shipped one (`sample`, `upstream`) or the path of a file.

    `repos` are `NAME` or `NAME@REF` of that catalogue, `curriculum` those of its `phases` that a run builds by default.
    `specialists` says of each how often it takes the documents of which repository; others are taken once. Those that
    the catalogue's repositories define are there too, unless one of that name stands here.
    `stand_ins` says of a repository which others' headers its sources are parsed with, as if they were installed.
    """

    dataset: str
    catalogue: str
    repos: tuple[str, ...]
    curriculum: tuple[str, ...]
    phases: Mapping[str, PhaseRecipe] = field(default_factory=standard_phases)
    specialists: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    stand_ins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: SourcesRecipe = field(default_factory=SourcesRecipe)
    semantic: SemanticRecipe = field(default_factory=SemanticRecipe)
    holdout: HoldoutRecipe = field(default_factory=HoldoutRecipe)
    tokenizer: TokenizerRecipe = field(default_factory=TokenizerRecipe)
    mixture: MixtureRecipe = field(default_factory=MixtureRecipe)
    packing: PackingRecipe = field(default_factory=PackingRecipe)
    megatron: MegatronRecipe = field(default_factory=MegatronRecipe)
    promotion: PromotionRecipe = field(default_factory=PromotionRecipe)
    training: TrainingRecipe = field(default_factory=TrainingRecipe)
    launch: LaunchRecipe = field(default_factory=LaunchRecipe)

    def __post_init__(self) -> None:
        if not DATASET_NAME.fullmatch(self.dataset):
            raise SpecError("dataset", expected="1 to 100 letters, digits and '_'", found=repr(self.dataset))
        for name, value in (("repos", self.repos), ("curriculum", self.curriculum)):
            if not value or len(set(value)) < len(value):
                raise SpecError(name, expected="at least one, each once", found=", ".join(value) or "none")
        for phase in self.curriculum:
            self._require_phase("curriculum", phase)
        _require_phases(self.phases, longer=self.packing.overflow != "refuse")
        names = {text.partition("@")[0] for text in self.repos}
        _require_specialists(self.specialists, names)
        _require_stand_ins(self.stand_ins, names)

    @property
    def budgets(self) -> tuple[int, ...]:
        """The `document_tokens` of the curriculum's phases, each once, ascending: documents are made for each."""
        return tuple(sorted({self.phases[name].document_tokens for name in self.curriculum}))

    def token_limit(self, budget: int) -> int:
        """The most tokens of a document of `budget`: where longer ones are split, as its shortest row."""
        if self.packing.overflow != "split":
            return budget
        phases = (self.phases[name] for name in self.curriculum)
        return min(budget, *(phase.row_tokens for phase in phases if phase.document_tokens == budget))

    def phase(self, name: str) -> PhaseRecipe:
        """The phase of that name; `SpecError` with those there are, or if nobody makes documents for its budget."""
        self._require_phase("phase", name)
        phase = self.phases[name]
        if phase.document_tokens not in self.budgets:
            raise SpecError(
                f"phases.{name}.document_tokens",
                expected=f"the budget of a phase of the curriculum: {', '.join(map(str, self.budgets))}",
                found=phase.document_tokens,
                do=f"add {name} to the recipe's curriculum",
            )
        return phase

    def phase_before(self, name: str) -> str:
        """The phase of the curriculum from whose weights the phase `name` starts; "" where it starts from the seed."""
        if not self.training.from_previous_phase or name not in self.curriculum[1:]:
            return ""
        return self.curriculum[self.curriculum.index(name) - 1]

    def _require_phase(self, where: str, name: str) -> None:
        if name not in self.phases:
            do = f"add [phases.{name}] with its row_tokens to the recipe"
            raise SpecError(where, expected=f"one of {', '.join(self.phases)}", found=repr(name), do=do)


def _require_phases(phases: Mapping[str, PhaseRecipe], *, longer: bool) -> None:
    for name, phase in phases.items():
        require_label(f"phases.{name}", name)
        if problem := phase.problem(longer=longer):
            key, expected, found = problem
            raise SpecError(f"phases.{name}.{key}", expected=expected, found=found)


def _require_specialists(specialists: Mapping[str, Mapping[str, float]], repos: Iterable[str]) -> None:
    for name, weights in specialists.items():
        require_label(f"specialists.{name}", name)
        if name == BASE_SPECIALIST or not weights:
            expected = f"repositories and their weights, and another name than {BASE_SPECIALIST}"
            raise SpecError(f"specialists.{name}", expected=expected, found=dict(weights) or "no repository")
        for repo, weight in weights.items():
            if repo not in repos:
                expected = f"one of the recipe's repositories: {', '.join(sorted(repos))}"
                raise SpecError(f"specialists.{name}.{repo}", expected=expected, found=repr(repo))
            _require_weight(f"specialists.{name}.{repo}", weight)


def _require_stand_ins(stand_ins: Mapping[str, tuple[str, ...]], repos: set[str]) -> None:
    for name, others in stand_ins.items():
        expected = f"repositories of the recipe, each once: {', '.join(sorted(repos - {name}))}"
        if name not in repos or not others or len(set(others)) < len(others) or not set(others) <= repos - {name}:
            raise SpecError(f"stand_ins.{name}", expected=expected, found=", ".join(others) or "none")


def _require_weight(key: str, weight: float) -> None:
    if not (math.isfinite(weight) and weight > 0):
        raise SpecError(key, expected="a positive finite number", found=weight)


def as_config(section: Any) -> dict[str, Any]:
    """A recipe section as manifest configuration."""
    return asdict(section)
