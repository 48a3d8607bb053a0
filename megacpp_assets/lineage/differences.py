"""Compares the manifests of two checkpoints and lists what differs, from sources to weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.contract.megatron_files import BIN, prefix_name
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.lineage.history import KnownManifest, ManifestHistory
from megacpp_assets.training.checkpoints.record import weights_sha256

NOTHING: Final = "none"
_REPOSITORY_KEYS: Final = frozenset({"repo", "ref", "commit", "license", "dataset", "name"})
_BEFORE: Final = " before: "
_PPM_PER_CENT: Final = 1e4
_MIXTURE_STAGES: Final = frozenset({"packed_rows", "megatron_bin_idx", "trained_checkpoint"})
_IDENTITY_KEYS: Final = frozenset(
    {"tokenizer_commit", "tokenizer_sha256", "megatron_prefix", "megatron_sha256", "commit"}
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact with the value `before` in one checkpoint and `after` in the other. A missing value is `none`."""

    what: str
    before: str
    after: str


def stage_number(stage: str) -> int:
    """Return the position of a stage on the way from sources to weights. A stage that `_FACTS` lacks is last."""
    return list(_FACTS).index(stage) if stage in _FACTS else len(_FACTS)


def differences(
    first: ManifestHistory, second: ManifestHistory, before: KnownManifest, after: KnownManifest
) -> list[Difference]:
    """Return each fact that differs: pins and their files, tokenizer, code versions, recipe keys, counts, and weights.

    An earlier phase that only one of the checkpoints resumes from contributes its weights alone. The two histories may
    belong to different data roots. Raises `LineageGap` if a manifest of a chain is missing.
    """
    one, two = facts_of(first, before), facts_of(second, after)
    keys = sorted([*one, *(key for key in two if key not in one)], key=lambda key: key[0])
    in_one_only = {_phase_before(what) for _, what in one} ^ {_phase_before(what) for _, what in two}
    compared = (key for key in keys if _phase_before(key[1]) not in in_one_only or key[1].endswith(": weights"))
    facts = ((what, one.get((stage, what), NOTHING), two.get((stage, what), NOTHING)) for stage, what in compared)
    return [Difference(*fact) for fact in facts if fact[1] != fact[2]]


def _phase_before(what: str) -> str:
    """Return the earlier phase that a fact describes; "" if it describes the checkpoint itself."""
    phase, found, _ = what.partition(_BEFORE)
    return phase if found else ""


def facts_of(history: ManifestHistory, checkpoint: KnownManifest) -> dict[tuple[int, str], str]:
    """Return what a checkpoint was made from and how, as text: (number of the stage, name of the fact) -> value.

    The names of facts about an earlier phase, which the checkpoint resumes from, begin with that phase.
    """
    chain = sorted(history.chain(checkpoint).values(), key=lambda made: (stage_number(made.stage), made.path))
    facts = {(stage_number(checkpoint.stage), "mixture and phase"): checkpoint.partition}
    for made in chain:
        manifest, number = history.read(made), stage_number(made.stage)
        is_earlier_phase = made.stage in _MIXTURE_STAGES and made.partition != checkpoint.partition
        phase = f"phase {made.partition.rpartition('/')[2]}{_BEFORE}" if is_earlier_phase else ""
        facts |= {(number, phase + what): _word(value) for what, value in _FACTS.get(made.stage, _counts)(manifest)}
        if manifest.version:
            facts[number, f"{phase}{made.stage}: code version"] = manifest.version
    return facts


Facts = Iterator[tuple[str, Any]]


def _repository(manifest: Manifest) -> Facts:
    name = manifest.config["name"]
    yield f"repository {name}", f"{manifest.config['ref']} {manifest.config['commit']}"
    yield f"repository {name}: license", manifest.config["license"]
    yield f"repository {name}: source files", manifest.stats.get("source_files", NOTHING)
    yield f"repository {name}: removed files", manifest.stats.get("removed", 0)


def _curated(manifest: Manifest) -> Facts:
    yield from _keys("recipe curation", manifest.config)
    yield from _keys(f"curated files of {manifest.partition.partition('@')[0]}", manifest.stats)


def _commits(manifest: Manifest) -> Facts:
    yield from _keys("recipe history", manifest.config)
    yield from _keys(f"{manifest.stage} of {manifest.partition.partition('@')[0]}", manifest.stats)


def _documents(manifest: Manifest) -> Facts:
    yield from _keys("recipe semantic", manifest.config)
    name = manifest.partition.partition("@")[0]
    yield f"documents of {name}", manifest.stats.get("documents", NOTHING)
    yield f"characters of {name}", manifest.stats.get("characters", NOTHING)


def _tokenizer(manifest: Manifest) -> Facts:
    yield "tokenizer", manifest.stats.get("commit", NOTHING)
    yield from _keys("recipe tokenizer", manifest.config)


def _tokens(manifest: Manifest) -> Facts:
    yield f"tokens of {manifest.partition.partition('@')[0]}", manifest.stats.get("tokens", NOTHING)


def _rows(manifest: Manifest) -> Facts:
    yield from _keys("recipe mixture", {key: value for key, value in manifest.config.items() if key != "repos"})
    counts = {key: value for key, value in manifest.stats.items() if isinstance(value, int)}
    fill = counts.pop("utilisation_ppm", None)
    yield from _keys("rows", counts)
    yield "rows: row fill (%)", NOTHING if fill is None else round(fill / _PPM_PER_CENT, 2)


def _pair(manifest: Manifest) -> Facts:
    for split in SPLITS:
        names = {f"{prefix_name(str(manifest.config['dataset']), split)}{BIN}"}
        yield from ((f"Megatron {split}", entry.sha256) for entry in manifest.files if entry.name in names)


def _weights(manifest: Manifest) -> Facts:
    yield from _keys("recipe training", manifest.config["recipe"])
    yield "steps", manifest.stats.get("steps", NOTHING)
    yield "tokens trained on", manifest.stats.get("tokens", NOTHING)
    yield "parameters", manifest.stats.get("parameters", NOTHING)
    yield "bits per byte of held-out roots", manifest.stats.get("validation_bits_per_byte", NOTHING)
    yield "weights", weights_sha256(manifest) or NOTHING


def _nothing(_: Manifest) -> Facts:
    yield from ()


def _counts(manifest: Manifest) -> Facts:
    """Yield the facts of a stage without a function in `_FACTS`: its configuration and its statistics."""
    yield from _keys(f"{manifest.stage} of {manifest.partition}", {**manifest.config, **manifest.stats})


_FACTS: Final[Mapping[str, Callable[[Manifest], Facts]]] = {
    "pinned_repos": _repository,
    "curated_files": _curated,
    "commits": _commits,
    "semantic_jsonl": _documents,
    "commit_documents": _commits,
    "commit_windows": _commits,
    "resolved_windows": _commits,
    "tokenizer": _tokenizer,
    "tokenized_parquet": _tokens,
    "v6_enriched": _nothing,
    "packed_rows": _rows,
    "megatron_bin_idx": _pair,
    "trained_checkpoint": _weights,
}


def _keys(prefix: str, section: Mapping[str, Any]) -> Facts:
    """Yield the leaves of a nested section, each with a dotted name."""
    for key in sorted(section):
        value = section[key]
        if key in _REPOSITORY_KEYS or key in _IDENTITY_KEYS:
            continue
        if isinstance(value, Mapping):
            yield from ((f"{prefix}: {name}", leaf) for name, leaf in _leaves(key, value))
        else:
            yield f"{prefix}: {key}", value


def _leaves(path: str, section: Mapping[str, Any]) -> Facts:
    for key in sorted(section):
        value = section[key]
        if isinstance(value, Mapping):
            yield from _leaves(f"{path}.{key}", value)
        else:
            yield f"{path}.{key}", value


def _word(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_word, value)) or NOTHING
    return str(value)
