"""The stage: sources are trained once, into the registry, and the artifact is always restored from a commit of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap, MegacppError, SpecError, TokenizerDrift
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.tokens.specials import FIXED_IDS
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.root.layout import REGISTRY, seen_cache_path, tokenizer_path
from megacpp_assets.storage.root.locks import LOCKS_DIRECTORY
from megacpp_assets.tokenizer import stage
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.lock import pin_of
from megacpp_assets.tokenizer.registry import read_committed, registered_commits
from megacpp_assets.tokenizer.stage import TokenizerSpec, run, target
from tests.tokenizer.conftest import RECIPE, REPO, native_sources, publish_raw, statistics_of


def test_the_artifact_and_the_registry_hold_the_same_tokenizer(published: Artifact) -> None:
    pin = pin_of(published)
    data = published.file("tokenizer.json").read_bytes()
    assert read_committed(published.root, pin.commit, "tokenizer.json") == data
    assert registered_commits(published.root) == [pin.commit]
    assert Encoder.load(published.directory).vocabulary_size == RECIPE.vocabulary_size


def test_another_folder_and_more_workers_give_the_same_bytes_and_commit(
    published: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEGACPP_WORKERS", "3")
    root = tmp_path / "a longer folder name"
    publish_raw(root, {**native_sources(), "README.md": b"not selected"})
    again = run(TokenizerSpec(root, "demo_v1", (REPO, REPO), RECIPE))
    assert again.manifest.to_bytes() == published.manifest.to_bytes()


def test_a_second_run_rewrites_nothing(published: Artifact) -> None:
    def times() -> dict[Path, int]:
        notes = {published.root / seen_cache_path(), published.root / LOCKS_DIRECTORY}
        files = (file for file in published.root.rglob("*") if file.is_file() and notes.isdisjoint(file.parents))
        return {file: file.stat().st_mtime_ns for file in files}

    before = times()
    run(TokenizerSpec(published.root, "demo_v1", (REPO,), RECIPE))
    after = times()
    assert after == before


def _lost_whole(registry: Path) -> None:
    shutil.rmtree(registry)


def _lost_objects(registry: Path) -> None:
    shutil.rmtree(registry / "objects")


@pytest.mark.parametrize("lose", [_lost_whole, _lost_objects])
def test_an_unpinned_tokenizer_that_the_registry_lost_is_trained_again(
    published: Artifact, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    root = Path(shutil.copytree(published.root, tmp_path / "data"))
    lose(root / REGISTRY)
    artifact = run(TokenizerSpec(root, "demo_v1", (REPO,), RECIPE))
    assert _bytes(artifact) == _bytes(published)
    assert read_committed(root, pin_of(published).commit, "tokenizer.json")


def test_an_unpinned_tokenizer_is_restored_instead_of_trained_again(published: Artifact, pinned: TokenizerSpec) -> None:
    shutil.rmtree(pinned.root / tokenizer_path("demo_v1"))
    assert _bytes(run(replace(pinned, pin=None))) == _bytes(published)


def test_pinning_the_trained_tokenizer_keeps_its_artifact_current(published: Artifact, pinned: TokenizerSpec) -> None:
    assert target(pinned) == target(replace(pinned, pin=None))
    assert target(pinned).config["commit"] == pin_of(published).commit


@pytest.fixture
def pinned(published: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenizerSpec:
    """The published tokenizer as the pinned one of a copy of its root, where nothing can be trained."""
    root = Path(shutil.copytree(published.root, tmp_path / "data"))
    monkeypatch.setenv("MEGACPP_TOKENIZER_DEVICE", "nonsense")
    return TokenizerSpec(root, "demo_v1", (REPO,), RECIPE, pin_of(published))


def _bytes(artifact: Artifact) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in artifact.directory.iterdir()}


def test_a_pinned_tokenizer_is_restored_byte_for_byte(published: Artifact, pinned: TokenizerSpec) -> None:
    shutil.rmtree(pinned.root / tokenizer_path("demo_v1"))
    assert _bytes(run(pinned)) == _bytes(published)


def test_another_recipe_does_not_touch_a_pinned_tokenizer(published: Artifact, pinned: TokenizerSpec) -> None:
    assert run(replace(pinned, recipe=replace(RECIPE, vocabulary_size=7800))).manifest == published.manifest


def test_another_stage_version_restores_a_pinned_tokenizer(
    published: Artifact, pinned: TokenizerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "VERSION", "another")
    restored = run(pinned)
    assert restored.manifest.fingerprint != published.manifest.fingerprint
    assert restored.manifest.files == published.manifest.files


def test_the_pinned_tokenizer_replaces_another_of_the_same_dataset(
    published: Artifact, pinned: TokenizerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.delenv("MEGACPP_TOKENIZER_DEVICE")
        other = pin_of(run(replace(pinned, pin=None, recipe=replace(RECIPE, vocabulary_size=7800))))
    assert other != pinned.pin
    assert _bytes(run(pinned)) == _bytes(published)
    assert pin_of(run(replace(pinned, pin=other))) == other


def _other_bytes(spec: TokenizerSpec) -> TokenizerSpec:
    assert spec.pin is not None
    return replace(spec, pin=replace(spec.pin, sha256="5" * 64))


def _other_commit(spec: TokenizerSpec) -> TokenizerSpec:
    assert spec.pin is not None
    return replace(spec, pin=replace(spec.pin, commit="c" * 40))


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [(_other_bytes, TokenizerDrift, "expected 5555"), (_other_commit, LineageGap, "commit cccc")],
)
def test_a_pin_that_cannot_be_restored_overwrites_nothing(
    pinned: TokenizerSpec,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[TokenizerSpec], TokenizerSpec],
    error: type[MegacppError],
    said: str,
) -> None:
    monkeypatch.setattr(stage, "VERSION", "another")
    before = _bytes(open_artifact(pinned.root, tokenizer_path("demo_v1")))
    with pytest.raises(error, match=f"{said}.*megacpp tokenizer train"):
        run(change(pinned))
    assert _bytes(open_artifact(pinned.root, tokenizer_path("demo_v1"))) == before


def test_statistics_count_the_selected_files_alone(published: Artifact) -> None:
    statistics = statistics_of(published)
    sources = native_sources()
    assert statistics.whole.files == len(sources)
    assert statistics.whole.bytes == sum(map(len, sources.values()))
    assert statistics.repos["demo@v1.0.0"] == statistics.whole
    assert statistics.round_trip_failures == 0
    assert sum(part.tokens for part in statistics.languages.values()) == statistics.whole.tokens


def test_a_run_reports_counting_then_merging_then_measuring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("megacpp_assets.tokenizer.train.BATCH_BYTES", 1)
    sources = native_sources()
    publish_raw(tmp_path, sources)
    heard: list[tuple[int, int]] = []
    recipe = TokenizerRecipe(vocabulary_size=FIXED_IDS + 4096)
    run(TokenizerSpec(tmp_path, "demo_v1", (REPO,), recipe), lambda done, total: heard.append((done, total)))
    files = len(sources)
    units = [done for done, _ in heard]
    merging = units[files:-files]
    assert {total for _, total in heard} == {3 * files}
    assert units[:files] == list(range(1, files + 1))
    assert len(merging) >= 3 and merging == sorted(merging) and files < merging[0] < merging[-1] == 2 * files
    assert units[-files:] == list(range(2 * files + 1, 3 * files + 1))


def test_a_repository_that_was_not_fetched_is_named(tmp_path: Path) -> None:
    with pytest.raises(LineageGap, match=r"cpp_raw/demo@v1\.0\.0"):
        run(TokenizerSpec(tmp_path, "demo_v1", (REPO,), RECIPE))


def test_an_empty_corpus_is_rejected(tmp_path: Path) -> None:
    publish_raw(tmp_path, {"a.cpp": b""}, RepoRef("empty", "v1"))
    with pytest.raises(SpecError, match="training text"):
        run(TokenizerSpec(tmp_path, "demo_v1", (RepoRef("empty", "v1"),), RECIPE))
