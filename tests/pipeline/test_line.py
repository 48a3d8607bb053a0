"""The whole line on a part of the sample: complete, idempotent, reproducible, crash-proof, audited."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from golden import GOLDEN, STAGES, golden_of, same_versions
from kill_anywhere import Campaign, killed_when
from roots import SMALL, SMALL_DATASET, data_hashes, megacpp, megacpp_here, run_small, succeed

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.lineage.tokens import Place, origin_of
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import seen_cache_path
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY

pytestmark = pytest.mark.line
DATASET = SMALL_DATASET
CHECKPOINT = f"checkpoints/{DATASET}/small_cpp/4k/step_00000004"


@pytest.fixture(scope="session")
def root(small_line: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root in which the small line has run."""
    directory = tmp_path_factory.mktemp("line") / "data"
    shutil.copytree(small_line, directory, symlinks=True)
    run_small(directory)
    return directory


def test_every_checkpoint_is_audited_and_verified(root: Path) -> None:
    done = megacpp_here(root, "audit", str(root / CHECKPOINT), "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0, report["problems"]
    assert report["verified"] is True
    assert [repo["name"] for repo in report["repos"]] == ["sample-format", "sample-kernel"]
    assert report["steps"] == 4
    assert len(report["tokenizer"]["commit"]) == 40


def test_the_tokenizer_shows_what_it_does_to_each_category_of_each_repository(root: Path) -> None:
    shown = megacpp_here(root, "tokenizer", "show", "--dataset", DATASET).stdout
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in shown.splitlines() if line.startswith("|")}
    assert [name.strip() for name in rows["repository"]][:2] == ["other", "preamble"]
    for repository in ("sample-format@v1.0.0", "sample-kernel@v1.0.0"):
        assert len(rows[repository]) == 9
        assert 1 < float(rows[repository][3]) < 20


def times(root: Path) -> dict[Path, int]:
    """When each file was last written, but for the notes of what was read and of who held a lock last."""
    notes = {root / seen_cache_path(), root / LOCKS_DIRECTORY}
    files = (path for path in root.rglob("*") if path.is_file() and notes.isdisjoint(path.parents))
    return {path: path.stat().st_mtime_ns for path in files}


def test_a_second_run_does_nothing_and_changes_no_file(root: Path) -> None:
    before = times(root)
    assert "Nothing to do" in succeed(root, "run", *SMALL)
    assert "Nothing to do" in succeed(root, "run", *SMALL, "--verify")
    assert times(root) == before


def test_flipped_bits_are_named_and_what_they_are_in_is_made_again_with_the_same_bytes(
    root: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "data"
    shutil.copytree(root, copy)
    before = data_hashes(copy)
    damaged = [
        f"jsonl/{DATASET}/sample-kernel@v1.0.0/4096/shard_00000.jsonl.zst",
        f"megatron/{DATASET}/small_cpp/4k/{DATASET}_train.bin",
    ]
    for name in damaged:
        stat, data = (copy / name).stat(), bytearray((copy / name).read_bytes())
        data[len(data) // 2] ^= 1
        (copy / name).write_bytes(data)
        os.utime(copy / name, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    done = megacpp(copy, "run", *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [f"damaged and made again: {name}; expected sha256" in done.stderr for name in damaged] == [True, True]
    assert "verified: false" not in done.stdout
    assert data_hashes(copy) == before
    assert "Nothing to do" in succeed(copy, "run", *SMALL)


@pytest.mark.parametrize(
    ("last", "undisturbed"),
    [("megatron_bin_idx", "small_line"), pytest.param("trained_checkpoint", "root", marks=pytest.mark.campaign)],
)
def test_a_killed_run_in_another_folder_with_another_number_of_workers_ends_with_the_same_bytes(
    last: str, undisturbed: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """`kill_anywhere.py` does so at twenty moments."""
    other, until = tmp_path / "a-much-longer-path" / "to-another-root" / "data", ("--until", last)
    assert killed_when(other, (*SMALL, *until), lambda: any(other.glob(f"parquet/*/*/{COMPLETE_FILE}")), workers=1)
    assert not list(other.glob("packed/**/*.parquet"))
    run_small(other, until, workers=1)
    assert data_hashes(other) == data_hashes(request.getfixturevalue(undisturbed))


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES])
def test_the_bytes_of_a_stage_change_with_its_version_only(root: Path, stage: str) -> None:
    """Else what others made with the old code would pass for current; see `golden.py` for what to do."""
    golden, found = json.loads(GOLDEN.read_text()), golden_of(root)
    assert golden.keys() == found.keys()
    assert found[stage] == golden[stage], "raise the stage's VERSION, then: python tests/pipeline/golden.py --write"


def test_other_bytes_are_accepted_with_another_version_of_their_stage_or_of_an_earlier_one() -> None:
    before = {"a": {"version": "1", "sha256": "x"}, "b": {"version": "1", "sha256": "y"}}
    other = {"version": "1", "sha256": "z"}
    assert same_versions(before, before) == []
    assert same_versions(before, before | {"b": other}) == ["b"]
    assert same_versions(before, before | {"b": other | {"version": "2"}}) == []
    assert same_versions(before, {"a": {"version": "2", "sha256": "x"}, "b": other}) == []


def test_what_was_made_but_not_yet_recorded_when_a_run_died_is_recorded_by_the_next(root: Path, tmp_path: Path) -> None:
    """A kill may come between a step's receipt and its event in Dagster's log."""
    copy = tmp_path / "data"
    shutil.copytree(root, copy)
    before = data_hashes(copy)
    shutil.rmtree(copy / "dagster")
    assert megacpp_here(copy, "audit", str(copy / CHECKPOINT)).returncode == 1
    assert "which lacked them: 17 steps" in succeed(copy, "run", *SMALL)
    assert megacpp_here(copy, "audit", str(copy / CHECKPOINT)).returncode == 0
    assert data_hashes(copy) == before
    assert "Nothing to do" in succeed(copy, "run", *SMALL)


@pytest.mark.parametrize(("hits", "passes"), [(0, False), (19, False), (20, True)])
def test_a_campaign_without_all_its_kills_proves_nothing(hits: int, passes: bool) -> None:
    assert Campaign(20, hits, []).passed is passes
    assert not Campaign(20, hits, ["kill at 1.0 s: a file"]).passed


def test_a_run_that_ended_before_its_kill_is_no_hit(tmp_path: Path) -> None:
    assert killed_when(tmp_path, ["--help"], lambda: False) is False
    assert killed_when(tmp_path, ["--help"], lambda: True) is True


def test_a_moved_tag_stops_the_run_with_both_commits(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "data"
    shutil.copytree(root, copy)
    lock = copy / "corpus.lock"
    text = lock.read_text()
    pins = text[text.index(".repo.") :]
    commit = next(line for line in pins.splitlines() if line.startswith("commit = ")).split('"')[1]
    lock.write_text(text.replace(commit, "0" * 40, 1))
    done = megacpp_here(copy, "run", *SMALL)
    assert done.returncode == 1
    assert commit in done.stderr + done.stdout
    assert "0" * 40 in done.stderr + done.stdout


def _victims(root: Path) -> list[str]:
    """Files of the chain behind the checkpoint, one of each kind."""
    megatron = f"megatron/{DATASET}/small_cpp/4k"
    names = [
        f"{CHECKPOINT}/model_00000.safetensors",
        f"{CHECKPOINT}/{MANIFEST_FILE}",
        f"{CHECKPOINT}/{COMPLETE_FILE}",
        f"{megatron}/{DATASET}_train.bin",
        f"{megatron}/{DATASET}_train.idx",
        open_artifact(root, f"packed/{DATASET}/small_cpp/4k")
        .files(".parquet", "train_00000_")[0]
        .relative_to(root)
        .as_posix(),
        f"enriched/{DATASET}/sample-format@v1.0.0/4096/shard_00000.parquet",
        f"parquet/{DATASET}/sample-kernel@v1.0.0/4096/shard_00000.parquet",
        f"tokenizer/{DATASET}/tokenizer.json",
        f"tokenizer/{DATASET}/tokenizer.lock",
        f"jsonl/{DATASET}/sample-kernel@v1.0.0/4096/shard_00000.jsonl.zst",
    ]
    raw = open_artifact(root, "cpp_raw/sample-format@v1.0.0").manifest
    return [*names, next(f"cpp_raw/sample-format@v1.0.0/{entry.name}" for entry in raw.files if ".pack" in entry.name)]


def _audited_with(root: Path, name: str, data: bytes | None) -> None:
    """The audit names `name` while it holds `data`, or is missing where that is None."""
    path = root / name
    whole = path.read_bytes()
    path.unlink() if data is None else path.write_bytes(data)
    try:
        done = megacpp_here(root, "audit", str(root / CHECKPOINT), "--json")
    finally:
        path.write_bytes(whole)
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert report["verified"] is False
    assert name in [problem["file"] for problem in report["problems"]]


@pytest.mark.parametrize("index", range(12))
def test_one_flipped_byte_anywhere_in_the_chain_is_named(root: Path, index: int) -> None:
    name = _victims(root)[index]
    whole = (root / name).read_bytes()
    middle = len(whole) // 2
    _audited_with(root, name, whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])


@pytest.mark.parametrize("name", [f"tokenizer/{DATASET}/tokenizer.lock", "corpus.lock"])
@pytest.mark.parametrize("data", [b"no lock", None])
def test_a_lock_that_cannot_be_read_is_named(root: Path, name: str, data: bytes | None) -> None:
    _audited_with(root, name, data)


def _places(packed: Artifact, split: str) -> Iterator[Place]:
    """Every 397th token of the rows of a split, and the first and last of each row."""
    first = 0
    for file in packed.files(".parquet", f"{split}_"):
        for row, length in enumerate(pq.read_table(file, columns=[c.VALID_TOKEN_COUNT]).column(0).to_pylist(), first):
            yield from (Place(split, row, column) for column in {*range(0, length, 397), length - 1})
        first += pq.read_metadata(file).num_rows


@pytest.mark.parametrize("split", ["train", "valid"])
def test_a_token_of_the_rows_is_traced_to_the_very_bytes_of_its_source(root: Path, split: str) -> None:
    packed = open_artifact(root, f"packed/{SMALL_DATASET}/base/4k")
    traced = [origin_of(packed, place) for place in _places(packed, split)]
    placed = [origin for origin in traced if origin.file]
    assert len(placed) > len(traced) / 2 and {"root", "context"} <= {origin.role for origin in traced}
    for origin in placed:
        git_dir = root / "cpp_raw" / origin.repository / "repo.git"
        command = ["git", "--git-dir", str(git_dir), "cat-file", "blob", f"{origin.commit}:{origin.file}"]
        data = subprocess.run(command, capture_output=True, check=True).stdout
        assert data[origin.byte_start :].startswith(origin.text[:1].encode())
        assert data[: origin.byte_start].count(b"\n") + 1 == origin.line


def test_a_token_in_the_padding_or_outside_the_rows_is_rejected(root: Path) -> None:
    packed = open_artifact(root, f"packed/{SMALL_DATASET}/base/4k")
    for place in (Place("train", 0, 4096), Place("train", 1 << 40, 0), Place("valid", 1 << 40, 0)):
        with pytest.raises(SpecError, match=r"--token .*; expected a (row|column) below \d+"):
            origin_of(packed, place)


def test_a_moved_root_is_audited_from_any_folder_and_answers_questions(root: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(root, tmp_path / "moved"))
    forms = (
        ["base/4k"],
        ["base/4k", "--quick"],
        ["--repo", "sample-kernel"],
        ["--diff", "base/4k", "small_cpp/4k"],
        ["base/4k", "--token", "0:5"],
    )
    for words in forms:
        done = megacpp_here(tmp_path, "audit", *words, "--data-root", str(moved))
        assert done.returncode == 0, (words, done.stdout + done.stderr)
        assert not [line for line in done.stdout.splitlines() if line.endswith(" ")], "each name has a value"
    assert data_hashes(moved) == data_hashes(root)
