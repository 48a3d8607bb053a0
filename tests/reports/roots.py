"""Faults to plant in a data root with two references of one repository, two mixtures and their checkpoints."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.manifest import FileEntry, Manifest
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import RECEIPTS
from tests.quality.planting import Row, rewrite, seal

DATASET = "mine"
TEXT, DRIVERS = "text@v1.0.0", "drivers@v1.0.0"
TOKENIZED = f"parquet/{DATASET}/{TEXT}"
ENRICHED = f"enriched/{DATASET}/{DRIVERS}"
PACKED = f"packed/{DATASET}/base/8k"
CURATED = f"curated/{DATASET}/{TEXT}"
UNSEALED = f"megatron/{DATASET}/low_level/8k"
CHECKPOINT = f"checkpoints/{DATASET}/base/8k/step_00000006"
OTHER_TOKENIZER = "f" * 40


def plant(root: Path) -> None:
    """One fault for each test of the project that looks across artifacts."""
    _copy_a_text_to_the_other_side(open_artifact(root, TOKENIZED))
    rewrite(open_artifact(root, ENRICHED), f"4096/{c.parquet_shard(0)}", _lose_a_token)
    packed = open_artifact(root, PACKED)
    rewrite(packed, packed.files(".parquet", "train_00000_")[0].name, _misname_a_document)
    (root / UNSEALED / c.COMPLETE_FILE).unlink()
    _fail_a_check(root)
    _drop_a_file_without_a_reason(open_artifact(root, CURATED))
    publish_a_checkpoint_of_another_tokenizer(root, CHECKPOINT)


def _copy_a_text_to_the_other_side(artifact: Artifact) -> None:
    texts: list[str] = []
    rewrite(artifact, f"4096/{c.VAL_SHARD}", lambda rows: texts.append(rows[0][c.TEXT]))
    rewrite(
        open_artifact(artifact.root, artifact.path),
        f"4096/{c.parquet_shard(0)}",
        lambda rows: rows[0].update({c.TEXT: texts[0]}),
    )


def _lose_a_token(rows: list[Row]) -> None:
    rows[0][c.TOKEN_STRUCTURE_IDS_COLUMN] = rows[0][c.TOKEN_STRUCTURE_IDS_COLUMN][:-1]


def _misname_a_document(rows: list[Row]) -> None:
    rows[0][c.SOURCE_DOC_IDS][0] = "a stranger"


def _fail_a_check(root: Path) -> None:
    """Of exactly the artifact that lies there: another's receipt is not read."""
    artifact = open_artifact(root, f"jsonl/{DATASET}/{DRIVERS}")
    file = root / RECEIPTS / f"{artifact.path}.json"
    receipt = json.loads(file.read_text())
    assert receipt["manifest_sha256"] == artifact.manifest.sha256
    receipt["checks"][0] |= {"passed": False, "found": "a planted fault", "blocking": True}
    file.write_text(json.dumps(receipt))


def _drop_a_file_without_a_reason(artifact: Artifact) -> None:
    manifest = artifact.manifest
    seal(replace(artifact, manifest=replace(manifest, stats={**manifest.stats, "files_dropped": 1})))


def publish_a_checkpoint_of_another_tokenizer(root: Path, path: str) -> None:
    """Two steps whose loss rises, and no weights."""
    folder = root / path
    folder.mkdir(parents=True)
    metrics = folder / "metrics.jsonl"
    metrics.write_text('{"step": 1, "loss": 9.0, "tokens": 4000}\n{"step": 2, "loss": 9.5, "tokens": 4000}\n')
    manifest = Manifest(
        stage="trained_checkpoint",
        partition="/".join(path.split("/")[2:4]),
        fingerprint="0" * 64,
        config={"step": 2, "tokenizer_commit": OTHER_TOKENIZER},
        inputs=(),
        files=(FileEntry(metrics.name, metrics.stat().st_size, sha256_file(metrics), 2),),
        stats={"parameters": 1},
    )
    (folder / c.MANIFEST_FILE).write_bytes(manifest.to_bytes())
    (folder / c.COMPLETE_FILE).write_text(f"{manifest.sha256}\n")
