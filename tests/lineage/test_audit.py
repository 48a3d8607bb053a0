"""The audit tells what is damaged, whatever it is; it never ends in an error of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.step import silent
from megacpp_assets.lineage.audit import Auditor, AuditReport
from megacpp_assets.pipeline.pins.pinning import pin_published
from megacpp_assets.pipeline.stages import chain
from megacpp_assets.pipeline.steps import RunPlan, planned_steps
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.publish import Target, publish
from tests.pipeline.pins.pinned import pin_corpus

SAMPLE = load_recipe("sample")
TOKENIZER = f"tokenizer/{SAMPLE.dataset}"
LOCK = f"{TOKENIZER}/tokenizer.lock"
CHECKPOINT = f"checkpoints/{SAMPLE.dataset}/base/4k/step_00000001"
RAW = "cpp_raw/sample-kernel@v1.0.0"

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a pinned repository, its tokenizer and a checkpoint's record, to be copied before it is damaged."""
    root = tmp_path_factory.mktemp("audit") / "data"
    root.mkdir()
    corpus = pin_corpus(root, SAMPLE, ["sample-kernel"])
    for step in planned_steps(corpus, RunPlan((), "tokenizer")):
        if step.stage.name != "semantic_jsonl":
            step.run(silent)
    pin = pin_published(corpus).lock.tokenizer
    assert pin is not None
    identity = {"tokenizer_commit": pin.commit, "tokenizer_sha256": pin.sha256}
    target = Target(root, CHECKPOINT, "trained_checkpoint", "base/4k", "1", identity, (TOKENIZER,))
    publish(target, lambda publication, inputs: {"steps": 1})
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(made, tmp_path / "data"))


def _audit(root: Path, made: Path, *, quick: bool = False) -> AuditReport:
    """The audit of the checkpoint; Dagster recorded what was made."""
    manifests = [open_artifact(made, path).manifest for path in (CHECKPOINT, TOKENIZER, RAW)]
    log = _Log({(manifest.stage, manifest.partition): manifest.sha256 for manifest in manifests})
    return Auditor(root, chain("trained_checkpoint"), log, quick=quick).audit(CHECKPOINT)


def test_the_cause_comes_before_its_consequences(root: Path, made: Path) -> None:
    manifest = root / CHECKPOINT / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"tokenizer_commit", b"tokenizer_comet"))
    first, *others = _audit(root, made).problems
    assert first.file == f"{CHECKPOINT}/manifest.json" and first.expected == "a seal that equals manifest.json"
    assert others and all(problem.file == CHECKPOINT for problem in others)


def test_a_chain_that_dagster_recorded_nowhere_is_one_problem_with_what_to_do(made: Path) -> None:
    report = Auditor(made, chain("trained_checkpoint"), _Log({})).audit(CHECKPOINT)
    assert not report.verified
    first, *others = report.problems
    assert (first.file, first.expected) == ("dagster/", "materializations of the 3 artifacts of this chain")
    assert "megacpp run" in first.do
    assert {problem.file for problem in others} == {CHECKPOINT}, "only the stages that this chain leaves out"


def test_an_artifact_that_a_later_run_replaced_is_said_to_be_replaced(root: Path, made: Path) -> None:
    raw = open_artifact(root, RAW)
    target = Target(root, TOKENIZER, "tokenizer", "", "2", {}, (RAW,))
    later = publish(target, lambda publication, inputs: {}, (raw,)).manifest
    manifests = [open_artifact(root, path).manifest for path in (CHECKPOINT, RAW)]
    log = _Log({(manifest.stage, manifest.partition): manifest.sha256 for manifest in (*manifests, later)})
    problems = Auditor(root, chain("trained_checkpoint"), log).audit(CHECKPOINT).problems
    (replaced,) = [problem for problem in problems if problem.expected.startswith("manifest ")]
    assert replaced.file == f"{TOKENIZER}/manifest.json"
    assert replaced.found == f"manifest {later.sha256} of a later run, which replaced the artifact"
    assert "promote the earlier references back" in replaced.do


@dataclass(frozen=True)
class _Log:
    """An event log with one materialization of some steps, whatever the dataset."""

    recorded: dict[tuple[str, str], str]

    def has(self, step: tuple[str, str, str], manifest_sha256: str) -> bool:
        return self.recorded.get(step[1:]) == manifest_sha256

    def count(self, step: tuple[str, str, str]) -> int:
        return int(step[1:] in self.recorded)


def _files(report: AuditReport) -> set[str]:
    """The files with a problem; stages that this chain leaves out are reported for the checkpoint."""
    return {problem.file for problem in report.problems} - {CHECKPOINT}


def test_an_untouched_chain_has_no_damaged_file(made: Path) -> None:
    report = _audit(made, made)
    assert _files(report) == set()
    assert report.tokenizer["commit"] and [repo["name"] for repo in report.repos] == ["sample-kernel"]


def test_the_report_counts_the_files_of_the_chain_and_their_bytes(made: Path) -> None:
    chain, entries = [CHECKPOINT], []
    for path in chain:
        manifest = json.loads((made / path / "manifest.json").read_bytes())
        entries += manifest["files"]
        chain += [each["path"] for each in manifest["inputs"] if each["path"] not in chain]
    report = _audit(made, made)
    assert (report.files, report.bytes) == (len(entries), sum(entry["bytes"] for entry in entries))


def _no_file(path: Path) -> None:
    path.unlink()


def _a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _bytes(data: bytes) -> Damage:
    return lambda path: path.write_bytes(data)


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _recipe_too_small(path: Path) -> None:
    raw = json.loads(path.read_bytes())
    raw["recipe"]["vocabulary_size"] = 1
    path.write_bytes(json.dumps(raw).encode())


_DAMAGES = [_no_file, _a_folder, _half, _bytes(b""), _bytes(b"\xff"), _bytes(b'"text"'), _bytes(b"[]")]


@pytest.mark.parametrize("damage", [*_DAMAGES, _recipe_too_small])
def test_a_damaged_tokenizer_lock_is_reported_by_name(root: Path, made: Path, damage: Damage) -> None:
    damage(root / LOCK)
    report = _audit(root, made)
    assert not report.verified
    assert _files(report) == {LOCK}


@pytest.mark.parametrize("damage", [*_DAMAGES, _bytes(b'active = "x"\ndataset = "y"\n')])
def test_a_damaged_corpus_lock_is_blamed_on_itself_alone(root: Path, made: Path, damage: Damage) -> None:
    damage(root / "corpus.lock")
    report = _audit(root, made)
    assert not report.verified
    assert _files(report) == {"corpus.lock"}


@pytest.mark.parametrize("name", ["tokenizer.json", "manifest.json", "_COMPLETE"])
@pytest.mark.parametrize("damage", [_no_file, _half, _bytes(b"[]")])
def test_every_other_file_of_the_tokenizer_is_reported_by_name(
    root: Path, made: Path, name: str, damage: Damage
) -> None:
    damage(root / TOKENIZER / name)
    report = _audit(root, made)
    assert not report.verified
    assert f"{TOKENIZER}/{name}" in _files(report)


def test_a_registry_without_the_commit_is_reported(root: Path, made: Path) -> None:
    shutil.rmtree(root / "tokenizer" / "registry.git")
    assert _files(_audit(root, made)) == {"tokenizer/registry.git"}


def _same_size(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def test_a_quick_audit_reads_no_data_file_and_says_so(root: Path, made: Path) -> None:
    _same_size(root / TOKENIZER / "tokenizer.json")
    quick, whole = _audit(root, made, quick=True), _audit(root, made)
    assert quick.quick and _files(quick) == set()
    assert not whole.quick and _files(whole) == {f"{TOKENIZER}/tokenizer.json"}


@pytest.mark.parametrize("damage", [_no_file, _half])
@pytest.mark.parametrize("name", [f"{TOKENIZER}/tokenizer.json", f"{RAW}/files.jsonl", f"{RAW}/manifest.json"])
def test_a_quick_audit_names_what_is_missing_or_cut_off(root: Path, made: Path, name: str, damage: Damage) -> None:
    damage(root / name)
    assert name in _files(_audit(root, made, quick=True))


@pytest.mark.parametrize("quick", [False, True])
def test_a_lock_that_a_hand_moved_to_another_commit_is_named(root: Path, made: Path, *, quick: bool) -> None:
    lock, commit = root / "corpus.lock", open_artifact(root, RAW).manifest.config["commit"]
    lock.write_text(lock.read_text().replace(commit, "0" * 40))
    report = _audit(root, made, quick=quick)
    assert not report.verified
    assert [(problem.file, problem.found) for problem in report.problems if problem.file != CHECKPOINT] == [
        ("corpus.lock", f"sample-kernel@v1.0.0 at {'0' * 40}")
    ]


def test_a_lock_with_another_licence_is_named_by_a_quick_audit(root: Path, made: Path) -> None:
    lock = root / "corpus.lock"
    lock.write_text(lock.read_text().replace('license = "Apache-2.0"', 'license = "GPL-3.0-only"'))
    named = [problem for problem in _audit(root, made, quick=True).problems if problem.file != CHECKPOINT]
    assert [(problem.file, problem.expected, problem.found) for problem in named] == [
        ("corpus.lock", *(f"sample-kernel@v1.0.0 with licence {name}" for name in ("Apache-2.0", "GPL-3.0-only")))
    ]


def test_a_lock_of_another_tokenizer_is_named_by_a_quick_audit(root: Path, made: Path) -> None:
    lock, commit = root / "corpus.lock", open_artifact(root, TOKENIZER).manifest.stats["commit"]
    lock.write_text(lock.read_text().replace(commit, "0" * 40))
    assert _files(_audit(root, made, quick=True)) == {"corpus.lock"}


@pytest.mark.parametrize("quick", [False, True])
def test_a_manifest_that_is_missing_in_the_middle_of_a_chain_is_named(root: Path, made: Path, *, quick: bool) -> None:
    (root / TOKENIZER / "manifest.json").unlink()
    report = _audit(root, made, quick=quick)
    assert not report.verified
    assert [problem.file for problem in report.problems if problem.found == "no such file"] == [
        f"{TOKENIZER}/manifest.json"
    ]


def test_stages_behind_a_missing_artifact_are_named_once_and_not_called_missing(root: Path, made: Path) -> None:
    shutil.rmtree(root / TOKENIZER)
    (last,) = [problem for problem in _audit(root, made).problems if problem.file == CHECKPOINT]
    assert last.expected.startswith("a chain through pinned_repos, curated_files, ")
    assert last.found == "a chain without them: it ends at an artifact that could not be opened"
