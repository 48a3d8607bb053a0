"""The history of a data root: what was made of what, also after it was replaced; rebuilt when its cache is gone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.lineage.differences import differences
from megacpp_assets.lineage.history import ManifestHistory, read_history
from megacpp_assets.lineage.queries import IN_INPUTS, IN_ROWS, IN_TOKENIZER, built_with, known_checkpoint, that_saw
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root.history import kept_manifests
from megacpp_assets.storage.root.layout import HISTORY
from tests.lineage.world import DATASET, World, corpus

BASE, SMALL = (f"checkpoints/{DATASET}/{name}/4k/step_00000020" for name in ("base", "small"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return corpus(tmp_path / "data")


def _saw(root: Path, repository: str) -> dict[str, str]:
    return {use.path: use.how for use in that_saw(read_history(root), repository).uses}


def test_every_checkpoint_that_saw_a_repository_is_found_and_how(world: World) -> None:
    assert _saw(world.root, "folly@2") == {BASE: IN_ROWS, SMALL: IN_ROWS}
    assert _saw(world.root, "fmt@11.0.0") == {BASE: IN_ROWS, SMALL: IN_TOKENIZER}
    assert _saw(world.root, "fmt") == {BASE: IN_ROWS, SMALL: IN_TOKENIZER}
    assert _saw(world.root, "absl") == {BASE: IN_TOKENIZER, SMALL: IN_TOKENIZER}
    assert _saw(world.root, "beside@3") == {}


def test_everything_built_with_a_tokenizer_is_found_by_the_first_digits_of_its_commit(world: World) -> None:
    found = [use.path for use in built_with(read_history(world.root), "aaaa").uses]
    repositories = ("beside@3", "fmt@11.0.0", "folly@2")
    assert found == [
        *(f"{folder}/{DATASET}/{key}" for folder in ("parquet", "enriched") for key in repositories),
        *(f"{folder}/{DATASET}/{name}/4k" for folder in ("packed", "megatron") for name in ("base", "small")),
        BASE,
        SMALL,
    ]


@pytest.mark.parametrize("question", ["", "a", "A" * 40, "a" * 41, "--all", "ffff"])
def test_an_unknown_tokenizer_is_rejected(world: World, question: str) -> None:
    with pytest.raises(SpecError, match=r"--tokenizer; expected .*; found "):
        built_with(read_history(world.root), question)


@pytest.mark.parametrize("question", ["", "fm", "fmt@", "fmt@12", "fmt@11.0.0 ", "../fmt", "%"])
def test_an_unused_repository_is_rejected_with_the_known_ones(world: World, question: str) -> None:
    with pytest.raises(SpecError, match=r"--repo '.*'; .*fmt@11\.0\.0.*; found .*what to do"):
        that_saw(read_history(world.root), question)


def test_replaced_artifacts_stay_traceable(world: World) -> None:
    before = open_artifact(world.root, BASE).manifest.sha256
    tokenizer = f"tokenizer/{DATASET}"
    newer = world.repository("fmt@12", tokenizer=tokenizer)
    world.checkpoint("base/4k", tokenizer, newer, weights=b"other")
    assert open_artifact(world.root, BASE).manifest.sha256 != before
    history = read_history(world.root)
    uses = [use for use in that_saw(history, "fmt@11.0.0").uses if use.how == IN_ROWS]
    assert [(use.path, use.manifest_sha256, use.lies) for use in uses] == [(BASE, before, False)]
    assert history.read(known_checkpoint(history, before[:12])).sha256 == before


def test_the_cache_decides_no_answer(world: World) -> None:
    first = read_history(world.root)
    remembered = read_history(world.root)
    shutil.rmtree(world.root / "cache")
    assert first == remembered == read_history(world.root)


def test_the_history_of_a_root_of_an_earlier_release_has_its_sealed_artifacts(world: World) -> None:
    whole = read_history(world.root)
    shutil.rmtree(world.root / HISTORY)
    shutil.rmtree(world.root / "cache")
    assert read_history(world.root) == whole


def test_the_history_of_a_root_without_seals_has_the_kept_manifests(world: World, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(world.root / HISTORY, copy / HISTORY)
    history = read_history(copy)
    assert history.rows == read_history(world.root).rows and not history.on_disk
    assert {use.lies for use in that_saw(history, "folly").uses} == {False}
    assert [path.name for path in copy.iterdir()] == [HISTORY]


def _without(root: Path, path: str) -> ManifestHistory:
    """The history of a root whose artifact at `path` is gone without a trace."""
    sha256 = open_artifact(root, path).manifest.sha256
    shutil.rmtree(root / path)
    (root / HISTORY / sha256).unlink()
    return read_history(root)


def test_a_missing_manifest_is_reported_for_the_artifacts_made_from_it(world: World) -> None:
    rows = f"packed/{DATASET}/small/4k"
    answer = that_saw(_without(world.root, rows), "folly@2")
    assert [use.path for use in answer.uses if use.how == IN_ROWS] == [BASE]
    assert len(answer.untraced) == 1
    assert answer.untraced[0].startswith(f"{SMALL}: its chain lacks the manifest of {rows} (")


def test_a_chain_that_lacks_a_manifest_is_not_compared(world: World) -> None:
    history = _without(world.root, f"packed/{DATASET}/small/4k")
    one, two = (known_checkpoint(history, path) for path in (BASE, SMALL))
    with pytest.raises(LineageGap, match=rf"packed/{DATASET}/small/4k: manifest .* found neither; what to do"):
        differences(history, history, one, two)


def test_a_kept_manifest_that_was_changed_is_named(world: World) -> None:
    sha256 = open_artifact(world.root, BASE).manifest.sha256
    shutil.rmtree(world.root / BASE)
    kept = world.root / HISTORY / sha256
    kept.write_bytes(kept.read_bytes().replace(b"20", b"21"))
    with pytest.raises(LineageGap, match=rf"{HISTORY}/{sha256}; expected the manifest of that sha256.*from a copy"):
        read_history(world.root)


def test_an_artifact_that_is_being_replaced_or_was_edited_is_not_on_disk(world: World) -> None:
    (world.root / BASE / COMPLETE_FILE).unlink()
    manifest = world.root / SMALL / MANIFEST_FILE
    manifest.write_bytes(manifest.read_bytes() + b" ")
    assert {BASE, SMALL}.isdisjoint(read_history(world.root).on_disk)


def _replace_after_its_seal_was_read(world: World, monkeypatch: pytest.MonkeyPatch, replace: Callable[[], None]) -> str:
    """Let another process replace the checkpoint `BASE` in the middle of `read_history`; return the old hash."""
    before = open_artifact(world.root, BASE).manifest.sha256
    (world.root / HISTORY / before).unlink()  # it was sealed by an earlier release

    def kept(root: Path) -> set[str]:
        monkeypatch.undo()
        replace()
        return kept_manifests(root)

    monkeypatch.setattr("megacpp_assets.lineage.history.kept_manifests", kept)
    return before


def test_an_artifact_that_is_replaced_while_the_history_is_read_does_not_give_its_row_to_the_old_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = read_history(world.root).rows[open_artifact(world.root, BASE).manifest.sha256][4]
    shutil.rmtree(world.root / "cache")
    newer = world.repository("fmt@12", tokenizer=f"tokenizer/{DATASET}")

    def replace() -> None:
        world.checkpoint("base/4k", f"tokenizer/{DATASET}", newer, weights=b"other")

    before = _replace_after_its_seal_was_read(world, monkeypatch, replace)
    history = read_history(world.root)
    assert history.rows[before][4] == inputs
    assert history.read(history.find(before)).sha256 == before  # kept again before it was replaced


def test_an_artifact_that_is_removed_while_the_history_is_read_stops_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _replace_after_its_seal_was_read(world, monkeypatch, lambda: shutil.rmtree(world.root / BASE))
    shutil.rmtree(world.root / "cache", ignore_errors=True)
    history = read_history(world.root)
    assert history.on_disk[BASE] == before
    with pytest.raises(LineageGap, match=f"manifest {before}; expected sealed on the disk, or kept; found neither"):
        history.read(history.find(before))
    assert BASE not in read_history(world.root).on_disk


def _differences(history: ManifestHistory, one: str, two: str) -> dict[str, tuple[str, str]]:
    found = differences(history, history, known_checkpoint(history, one), known_checkpoint(history, two))
    return {each.what: (each.before, each.after) for each in found}


def test_differences_are_listed_from_sources_to_weights(world: World) -> None:
    tokenizer = f"tokenizer/{DATASET}"
    enriched = [world.repository(key, tokenizer=tokenizer) for key in ("fmt@12", "folly@2")]
    recipe = {"steps": 20, "learning_rate": 0.2}
    world.checkpoint("next/4k", tokenizer, *enriched, recipe=recipe, weights=b"other", validation_bits_per_byte=3.19)
    path = f"checkpoints/{DATASET}/next/4k/step_00000020"
    found = _differences(read_history(world.root), BASE, path)
    kinds = [what for what in found if ": work." not in what]
    measured = "bits per byte of held-out roots"
    keys = ["mixture and phase", "recipe training: learning_rate", measured, "weights"]
    assert kinds == ["repository fmt", "Megatron train", *keys]
    assert found["repository fmt"] == ("11.0.0 commit-of-fmt@11.0.0", "12 commit-of-fmt@12")
    assert found["recipe training: learning_rate"] == ("0.1", "0.2") and found[measured] == ("none", "3.19")


def test_how_full_rows_are_is_compared_in_per_cent(world: World) -> None:
    found = _differences(read_history(world.root), SMALL, BASE)
    assert found["rows: row fill (%)"] == ("87.5", "93.75") and "rows: utilisation_ppm" not in found


def test_a_phase_is_compared_with_its_previous_phase_by_weights(world: World) -> None:
    folly = f"enriched/{DATASET}/folly@2"
    long = world.checkpoint("base/16k", f"tokenizer/{DATASET}", folly, weights=b"long", goes_on_from=[BASE])
    found = _differences(read_history(world.root), BASE, long)
    assert found["mixture and phase"] == ("base/4k", "base/16k")
    assert found["rows: rows"] == ("2", "1") and found["weights"][0] != found["weights"][1]
    before = [what for what in found if what.startswith("phase")]
    assert before == ["phase 4k before: weights"]
    assert found[before[0]] == ("none", found["weights"][0])


def test_differences_of_a_shared_previous_phase_are_listed(world: World) -> None:
    folly = f"enriched/{DATASET}/folly@2"
    one, two = (
        world.checkpoint(f"{name}/16k", f"tokenizer/{DATASET}", folly, goes_on_from=[before])
        for name, before in (("base", BASE), ("small", SMALL))
    )
    found = _differences(read_history(world.root), one, two)
    assert found["phase 4k before: rows: rows"] == ("2", "1")
    assert "rows: rows" not in found and "weights" not in found


def test_facts_of_only_one_checkpoint_are_listed(world: World) -> None:
    found = _differences(read_history(world.root), SMALL, BASE)
    assert found["documents of fmt"] == ("none", "3") and found["rows: rows"] == ("1", "2")
    assert "repository folly" not in found


def test_other_stages_are_compared_by_configuration_and_counts(world: World) -> None:
    def mixed(name: str, count: int) -> str:
        filtered = world.publish("filtered", f"{name}/4k", f"filtered/{name}", stats={"documents": count})
        return world.checkpoint(f"{name}/4k", f"tokenizer/{DATASET}", filtered)

    one, two = mixed("one", 5), mixed("two", 7)
    found = _differences(read_history(world.root), one, two)
    assert found["filtered of one/4k: documents"] == ("5", "none")
    assert found["filtered of two/4k: documents"] == ("none", "7")


def test_a_checkpoint_does_not_differ_from_itself(world: World) -> None:
    assert _differences(read_history(world.root), BASE, BASE) == {}


@pytest.mark.parametrize(
    "name", ["", "checkpoints/corpus/nobody/4k/step_00000020", "ffffffffffff", f"packed/{DATASET}"]
)
def test_an_unknown_checkpoint_is_rejected(world: World, name: str) -> None:
    with pytest.raises(SpecError, match=r"checkpoint .*; expected .*; found .*; what to do: megacpp audit --repo"):
        known_checkpoint(read_history(world.root), name)


def test_a_repository_that_is_held_out_whole_is_in_no_training_row(world: World) -> None:
    stats = {"documents_per_repo": {"fmt@11.0.0": 0, "folly@2": 3}}
    tokenizer, name = f"tokenizer/{DATASET}", "held/4k"
    enriched = [f"enriched/{DATASET}/{key}" for key in ("fmt@11.0.0", "folly@2")]
    rows = world.publish("packed_rows", name, f"packed/{DATASET}/{name}", *enriched, stats=stats)
    path = f"checkpoints/{DATASET}/{name}/step_00000020"
    world.publish("trained_checkpoint", name, path, rows, tokenizer)
    assert _saw(world.root, "fmt")[path] == IN_INPUTS and _saw(world.root, "folly")[path] == IN_ROWS


def test_where_a_manifest_is_missing_that_would_tell_a_repository_counts_as_in_the_rows(world: World) -> None:
    history = _without(world.root, f"enriched/{DATASET}/fmt@11.0.0")
    assert {use.how for use in that_saw(history, "folly@2").uses if use.path == BASE} == {IN_ROWS}
