"""A small data root of manifests without data: three repositories, a tokenizer and mixtures, through every stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY
from megacpp_assets.training.checkpoints.record import StepMetrics

DATASET = "corpus"
RECIPE = {"steps": 20, "learning_rate": 0.1}


_LOSSES = "".join(StepMetrics(step, 3.0 / step, 64).to_line() for step in range(1, 21))

CURATED: Final = {
    "files": 7,
    "files_dropped": 2,
    "dropped_by_reason": {"licence": 2},
    "finds": 3,
    "finds_replaced": 1,
    "files_with_benchmarks": 0,
    "benchmark_places": 0,
    "benchmark_places_masked": 0,
    "shared_copies_found": 0,
    "shared_copies_outdated": 0,
    "files_scored": 5,
    "files_by_score": {"below the least score": 2, "not below the least score": 3},
}
INDEXED: Final = {
    "documents": 3,
    "skipped": {"denied symbol": 1},
    "files_by_parser_rule": {"many_parse_errors": 1, "few_calls_resolved": 0},
}
SCORED: Final = {"scorer": ["score"], "scorer_files": ["5f" * 32]}


class World:
    """Publishes artifacts below `root`; each is made from those of the paths it is given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / LOCKS_DIRECTORY).mkdir(parents=True)

    def repository(self, key: str, commit: str = "", tokenizer: str = "") -> str:
        """The stages of a repository; the path of its enriched parquet, or without a tokenizer of its objects."""
        name, _, ref = key.partition("@")
        pin = {"name": name, "ref": ref, "commit": commit or f"commit-of-{key}", "license": "MIT"}
        last = self.publish("pinned_repos", key, f"cpp_raw/{key}", config=pin, stats={"source_files": 7})
        if tokenizer:
            curated = self.publish("curated_files", key, f"curated/{DATASET}/{key}", last, config=SCORED, stats=CURATED)
            last = self.publish("semantic_jsonl", key, f"jsonl/{DATASET}/{key}", last, curated, stats=INDEXED)
            last = self.publish("tokenized_parquet", key, f"parquet/{DATASET}/{key}", last, tokenizer)
            last = self.publish("v6_enriched", key, f"enriched/{DATASET}/{key}", last)
        return last

    def tokenizer(self, commit: str, *raw: str, dataset: str = DATASET) -> str:
        """The tokenizer of that commit, trained on repositories."""
        stats, files = {"commit": commit, "vocabulary_size": 300}, {"tokenizer.json": b"{}"}
        return self.publish("tokenizer", dataset, f"tokenizer/{dataset}", *raw, stats=stats, files=files)

    def checkpoint(
        self,
        name: str,
        tokenizer: str,
        *enriched: str,
        recipe: Mapping[str, Any] = RECIPE,
        weights: bytes = b"w",
        goes_on_from: Sequence[str] = (),
        **stats: Any,
    ) -> str:
        """A mixture of repositories from its rows to its checkpoint, whose path is returned."""
        keys = [path.rpartition("/")[2] for path in enriched]
        counts = {"rows": len(enriched), "documents": 3 * len(enriched), "tokens": 30 * len(enriched)}
        counts["utilisation_ppm"] = 812_500 + 62_500 * len(enriched)
        of_each = {"documents_per_repo": dict.fromkeys(keys, 3), "tokens_per_repo": dict.fromkeys(keys, 30)}
        rows = self.publish(
            "packed_rows", name, f"packed/{DATASET}/{name}", *enriched,
            config={"row_tokens": 64}, stats={**counts, **of_each}, files={"train_00000.parquet": name.encode()},
        )  # fmt: skip
        pair = self.publish(
            "megatron_bin_idx", name, f"megatron/{DATASET}/{name}", rows, config={"dataset": DATASET},
            files={f"{DATASET}_train.bin": " ".join(enriched).encode()},
        )  # fmt: skip
        return self.publish(
            "trained_checkpoint", name, f"checkpoints/{DATASET}/{name}/step_00000020", pair, tokenizer, *goes_on_from,
            config={"recipe": recipe, "tokenizer_commit": "a" * 40}, stats={"steps": 20, **stats},
            files={"model_00000.safetensors": weights, "metrics.jsonl": _LOSSES.encode()},
        )  # fmt: skip

    def publish(
        self,
        stage: str,
        partition: str,
        path: str,
        *inputs: str,
        config: Mapping[str, Any] | None = None,
        stats: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> str:
        """One artifact; its path."""

        def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
            for name, data in (files or {}).items():
                publication.write(name, data)
            return stats or {}

        work = {"files": {name: data.decode() for name, data in (files or {}).items()}, "stats": dict(stats or {})}
        target = Target(self.root, path, stage, partition, "1", {**(config or {}), "work": work}, inputs)
        return publish(target, produce).path


def corpus(root: Path) -> World:
    """Two mixtures over three repositories; the tokenizer is of two of them, and `beside` is read by no mixture."""
    world = World(root)
    raw = [world.repository(key) for key in ("fmt@11.0.0", "absl@1")]
    tokenizer = world.tokenizer("a" * 40, *raw)
    enriched = {key: world.repository(key, tokenizer=tokenizer) for key in ("fmt@11.0.0", "folly@2", "beside@3")}
    world.checkpoint("base/4k", tokenizer, enriched["fmt@11.0.0"], enriched["folly@2"])
    world.checkpoint("small/4k", tokenizer, enriched["folly@2"])
    return world
