"""`megacpp verify`: nothing that differs from its manifest passes, and ids are judged by their own vocabulary."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.megatron_files import BIN, IDX, prefix_name
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.lineage.whole import artifact_paths
from megacpp_assets.megatron.stage import run
from megacpp_assets.megatron.vocabulary import vocabulary_size_of
from megacpp_assets.storage.artifact import Artifact
from tests.cli.commands import exit_code
from tests.megatron.pairs import megatron_spec, part, write_pair
from tests.packed.enriched_documents import DATASET
from tests.storage.mutation import mutated

PREFIX = prefix_name(DATASET, TRAIN_SPLIT)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Published bin/idx pairs, never changed in place."""
    return run(megatron_spec(tmp_path_factory.mktemp("root")))


@pytest.fixture
def copy(made: Artifact, tmp_path: Path) -> Path:
    """A copy of the artifact's folder, to be damaged."""
    return Path(shutil.copytree(made.directory, tmp_path / "copy"))


@pytest.mark.parametrize(("beyond", "code"), [(-1, 0), (0, 1), (1, 1)])
def test_an_id_outside_the_vocabulary_is_exit_code_1(
    made: Artifact,
    copy: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    beyond: int,
    code: int,
) -> None:
    size = vocabulary_size_of(made)
    assert size < 131_072 - 2
    tokens = np.memmap(part(copy / PREFIX, BIN), "<u4", "r+")
    tokens[0] = size + beyond
    tokens.flush()
    for name in (COMPLETE_FILE, MANIFEST_FILE):
        (copy / name).unlink()
    assert (exit_code(monkeypatch, "verify", str(copy / PREFIX), "--vocabulary-size", str(size)) or 0) == code
    said = capsys.readouterr()
    assert f"from 0 to {size - 1}\n  found {size + beyond}" in said.err or code == 0
    assert exit_code(monkeypatch, "verify", str(copy / PREFIX), "--vocabulary-size", "131072") in (0, None)
    assert "no manifest in its folder" in capsys.readouterr().out


def test_a_pair_without_a_manifest_needs_its_vocabulary_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pair(tmp_path / "x", [100, 3])
    assert exit_code(monkeypatch, "verify", str(tmp_path / "x")) == 1
    assert "--vocabulary-size" in capsys.readouterr().err
    assert exit_code(monkeypatch, "verify", str(tmp_path / "x"), "--vocabulary-size", "131072") in (0, None)


def test_a_whole_pair_passes_and_no_mutated_one_does(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "verify", str(copy / PREFIX)) in (0, None)
    names = [part(copy / PREFIX, BIN), part(copy / PREFIX, IDX), *sorted(copy.glob(f"{PREFIX}.*"))]
    chance, passed, tried = random.Random(13), [], 0
    for number in range(300):
        file = names[number % len(names)]
        whole = file.read_bytes()
        file.write_bytes(mutated(whole, chance))
        if file.read_bytes() != whole:
            tried += 1
            code = exit_code(monkeypatch, "verify", str(copy / PREFIX))
            passed += [(number, file.name)] * (code in (0, None))
            assert "Traceback" not in capsys.readouterr().err
        file.write_bytes(whole)
    assert passed == []
    assert tried > 250


def test_the_folder_of_an_artifact_is_compared_with_its_manifest(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "verify", str(copy)) in (0, None)
    assert "damaged 0" in capsys.readouterr().out
    assert list(copy.parent.iterdir()) == [copy]
    (copy / ".scratch").mkdir()
    (copy / ".scratch" / "left").touch()
    part(copy / PREFIX, BIN).unlink()
    assert exit_code(monkeypatch, "verify", str(copy)) == 1
    said = capsys.readouterr().out
    assert f"copy/{PREFIX}.bin: expected" in said and "no such file" in said
    assert "copy/.scratch/left: expected only files that the manifest lists; found a file that it does not list" in said


def test_a_data_root_is_read_whole_and_everything_wrong_is_named(
    made: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(shutil.copytree(made.root, tmp_path / "root"))
    (root / "corpus.lock").unlink(missing_ok=True)
    assert exit_code(monkeypatch, "verify", "--data-root", str(root)) in (0, None), capsys.readouterr()
    inputs = [entry.path for entry in made.manifest.inputs]
    (root / inputs[0] / COMPLETE_FILE).unlink()
    file = root / made.path / f"{PREFIX}.bin"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    assert exit_code(monkeypatch, "verify", "--data-root", str(root)) == 1
    said = capsys.readouterr().out
    assert f"{made.path}/{PREFIX}.bin: expected sha256" in said
    assert f"{inputs[0]}: expected a complete artifact" in said
    assert "damaged 2" in said


def test_a_stray_file_is_named_and_hides_no_artifact_beside_it(
    made: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(shutil.copytree(made.root, tmp_path / "root"))
    (root / "corpus.lock").unlink(missing_ok=True)
    whole = list(artifact_paths(root))
    assert made.path in whole
    stray = (root / made.path).parent / ".DS_Store"
    stray.touch()
    (root / made.path / COMPLETE_FILE).rename(root / made.path / "left")
    assert list(artifact_paths(root)) == whole
    assert exit_code(monkeypatch, "verify", "--data-root", str(root)) == 1
    said = capsys.readouterr().out
    assert f"{stray.relative_to(root)}: expected only folders of artifacts here; found a file that belongs to" in said
    assert f"{made.path}: expected a complete artifact" in said and "damaged 2" in said


def test_an_artifact_that_was_moved_away_is_named(
    made: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(shutil.copytree(made.root, tmp_path / "root"))
    (root / "corpus.lock").unlink(missing_ok=True)
    for path in (made.path, f"{made.path}.work", "packed/corpus/base/64k"):
        receipt = root / "receipts" / f"{path}.json"
        receipt.parent.mkdir(parents=True, exist_ok=True)
        receipt.touch()
    assert exit_code(monkeypatch, "verify", "--data-root", str(root)) == 1
    said = capsys.readouterr().out
    assert "packed/corpus/base/64k: expected the artifact that its receipt names; found no such folder" in said
    assert "damaged 1" in said


def test_a_path_that_does_not_exist_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "verify", str(tmp_path / "nothing")) == 1
    assert "nothing\n  expected a folder, or a pair nothing" in capsys.readouterr().err


def test_a_folder_without_artifacts_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "verify", str(tmp_path)) == 1
    assert "expected artifacts below it\n  found none\n  what to do:" in capsys.readouterr().err
