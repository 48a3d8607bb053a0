"""`megacpp audit` in its forms on a data root of many materializations: CPU seconds of the whole command.

The manifests and Dagster's events are made up, no data file is there: `--quick` and the questions backwards read none.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
from _arguments import positive
from _harness import Figure, report

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, LockFile
from megacpp_assets.contract.manifest import FileEntry, InputRef, Manifest
from megacpp_assets.defs.home.event_log import event_log
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.defs.keys import key_of
from megacpp_assets.defs.showing.paths import MANIFEST_METADATA, home_of
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY

BENCH = "lineage"
MATERIALIZATIONS = 10_000
RUNS = 5
DATASET = "corpus"
COMMIT = "c" * 40
READS = 8
"""Repositories that a mixture reads."""
_REPOSITORY_STAGES = (("semantic_jsonl", "jsonl"), ("tokenized_parquet", "parquet"), ("v6_enriched", "enriched"))
_MIXTURE_STAGES = (("packed_rows", "packed"), ("megatron_bin_idx", "megatron"))


def main(arguments: Sequence[str]) -> None:
    """Print a line for the first question to a root, and one for each form after it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("materializations", nargs="?", type=positive, default=MATERIALIZATIONS, help="%(default)s")
    count = parser.parse_args(arguments).materializations
    with tempfile.TemporaryDirectory() as folder:
        root = Root(Path(folder))
        root.fill(count)
        checkpoint = root.checkpoints[-1]
        forms = {
            "--repo, the first question of all": ["--repo", root.repositories[0]],
            "--repo": ["--repo", root.repositories[0]],
            "--tokenizer": ["--tokenizer", COMMIT],
            "--diff": ["--diff", root.checkpoints[0], checkpoint],
            "--quick": ["--quick", checkpoint],
        }
        for name, words in forms.items():
            runs = 1 if "first" in name else RUNS
            seconds = sorted(_cpu_seconds(root.path, words) for _ in range(runs))[runs // 2]
            report(Figure(BENCH, f"audit {name}, {root.count} materializations", "CPU-s"), seconds, runs=runs)


@dataclass
class Root:
    """A data root to be filled with manifests, and events of them."""

    path: Path
    count: int = 0
    repositories: list[str] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    _events: list[tuple[str, str, str]] = field(default_factory=list)

    def fill(self, count: int) -> None:
        """Four manifests for each repository, three for each mixture of eight of them, one in five a mixture's."""
        (self.path / LOCKS_DIRECTORY).mkdir()
        repositories = max(READS, count * 4 // 5 // 4)
        raw = [self._made("pinned_repos", f"r{n}@v1", f"cpp_raw/r{n}@v1") for n in range(repositories)]
        self.repositories = [f"r{n}@v1" for n in range(repositories)]
        tokenizer = self._made("tokenizer", DATASET, f"tokenizer/{DATASET}", *raw[:READS])
        enriched = [self._repository(name, raw[n], tokenizer) for n, name in enumerate(self.repositories)]
        for n in range((count - self.count) // 3):
            self._mixture(f"s{n}/4k", [enriched[(n + k) % repositories] for k in range(READS)], tokenizer)
        lock = LockFile(DATASET, {DATASET: CorpusLock(DATASET, "")})
        (self.path / "corpus.lock").write_bytes(lock.to_bytes())
        _record(self.path, self._events)

    def _repository(self, name: str, raw: InputRef, tokenizer: InputRef) -> InputRef:
        last = raw
        for stage, folder in _REPOSITORY_STAGES:
            also = [tokenizer] if stage == "tokenized_parquet" else []
            last = self._made(stage, name, f"{folder}/{DATASET}/{name}", last, *also)
        return last

    def _mixture(self, name: str, enriched: list[InputRef], tokenizer: InputRef) -> None:
        inputs = enriched
        for stage, folder in _MIXTURE_STAGES:
            inputs = [self._made(stage, name, f"{folder}/{DATASET}/{name}", *inputs)]
        path = f"checkpoints/{DATASET}/{name}/step_00000020"
        self._made("trained_checkpoint", name, path, *inputs, tokenizer)
        self.checkpoints.append(path)

    def _made(self, stage: str, partition: str, path: str, *inputs: InputRef) -> InputRef:
        config = {"name": partition.partition("@")[0], "ref": "v1", "commit": COMMIT, "license": "MIT", "recipe": {}}
        stats = {"commit": COMMIT, "steps": 20, **{f"fact_{n}": n for n in range(20)}}
        manifest = Manifest(
            stage, partition, "0" * 64, {**config, "dataset": DATASET}, inputs, self._files(stage), stats, "1"
        )
        folder = self.path / path
        folder.mkdir(parents=True)
        (folder / MANIFEST_FILE).write_bytes(manifest.to_bytes())
        (folder / COMPLETE_FILE).write_text(f"{manifest.sha256}\n")
        self._events.append((stage, partition, manifest.sha256))
        self.count += 1
        return InputRef(path, manifest.sha256)

    @staticmethod
    def _files(stage: str) -> tuple[FileEntry, ...]:
        return (FileEntry(f"{DATASET}_train.bin", 0, "0" * 64),) if stage == "megatron_bin_idx" else ()


def _record(root: Path, events: Sequence[tuple[str, str, str]]) -> None:
    """Write `events` into Dagster's log: one by Dagster, which takes 15 ms, the others after its pattern."""
    sample = "0123456789abcdef" * 4
    key, _ = key_of(DATASET, "tokenizer", DATASET)
    with open_instance(root) as instance:
        event_metadata = {MANIFEST_METADATA: sample, "figures": "1234567890 " * 2000}
        instance.report_runless_asset_event(dg.AssetMaterialization(key, metadata=event_metadata))
    with sqlite3.connect(home_of(root) / "history" / "runs" / "index.db") as connection:
        event, when = connection.execute("SELECT event, timestamp FROM event_logs").fetchone()
        connection.executemany(
            "INSERT INTO event_logs (run_id, event, dagster_event_type, timestamp, asset_key, partition) "
            "VALUES ('', ?, 'ASSET_MATERIALIZATION', ?, ?, ?)",
            _rows(events, event, sample, when),
        )
    with event_log(root) as recorded:
        stage, partition, sha256 = events[-1]
        assert recorded.has((DATASET, stage, partition), sha256)


def _rows(
    events: Sequence[tuple[str, str, str]], event: str, sample: str, when: str
) -> Iterator[tuple[str, str, str, str | None]]:
    for stage, partition, sha256 in events:
        key, shown = key_of(DATASET, stage, partition)
        yield event.replace(sample, sha256), when, json.dumps(key.path), shown


def _cpu_seconds(root: Path, words: Sequence[str]) -> float:
    """User and system seconds of `megacpp audit WORDS`, what it started included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", "from megacpp_assets.cli import main; main()", "audit", *words]
    done = subprocess.run([*command, "--data-root", str(root)], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "Traceback" in done.stderr or done.stderr.startswith("error"):
        raise SystemExit(done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
