"""The audit: from a checkpoint back to the commits, re-hashing every file and comparing with Dagster's event log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import InputRef
from megacpp_assets.contract.source_file import OBJECTS
from megacpp_assets.lineage.tokenizers import registry_problems, tokenizer_identity
from megacpp_assets.repos.fetch import PIN_REF
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.storage.artifact import Artifact, open_artifact

EventLog = Callable[[str, str], set[str] | None]
"""(stage, partition) -> manifest hashes that Dagster recorded for it; None where there is no event log to ask."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One disagreement. `file` is relative to the data root."""

    file: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What a checkpoint was made from, and everything that does not agree. `verified` only if nothing disagrees."""

    checkpoint: str
    verified: bool
    tokenizer: dict[str, str]
    megatron: dict[str, str]
    repos: list[dict[str, str]]
    steps: int
    problems: list[Problem] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-able values."""
        return asdict(self)


@dataclass(slots=True)
class _Walk:
    """Artifacts reached so far, each once, and the problems found on the way."""

    root: Path
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def visit(self, reference: InputRef | None, path: str) -> None:
        """Open `path`, compare it with how it was referred to, and go on to its inputs."""
        if path in self.artifacts:
            self._compare(reference, self.artifacts[path])
            return
        try:
            artifact = open_artifact(self.root, path)
        except LineageGap as gap:
            self.problems.append(_seal_problem(self.root, path, gap))
            return
        self.artifacts[path] = artifact
        self._compare(reference, artifact)
        self.problems += [Problem(*problem) for problem in artifact.problems()]
        for entry in artifact.manifest.inputs:
            self.visit(entry, entry.path)

    def _compare(self, reference: InputRef | None, artifact: Artifact) -> None:
        found = artifact.manifest.sha256
        if reference is not None and reference.manifest_sha256 != found:
            self.problems.append(
                Problem(f"{artifact.path}/{MANIFEST_FILE}", f"manifest {reference.manifest_sha256}", f"manifest {found}")
            )

    def of_stage(self, stage: str) -> list[Artifact]:
        """Artifacts of one stage, by path."""
        return [self.artifacts[path] for path in sorted(self.artifacts) if self.artifacts[path].manifest.stage == stage]


def audit(root: Path, checkpoint: str, event_log: EventLog) -> AuditReport:
    """Walk the chain behind the checkpoint at `checkpoint` (relative to `root`); never raises for what it finds."""
    walk = _Walk(root)
    walk.visit(None, checkpoint)
    for artifact in walk.artifacts.values():
        walk.problems += _event_problems(artifact, event_log)
    for raw in walk.of_stage("pinned_repos"):
        walk.problems += _commit_problems(raw)
    for tokenizer in walk.of_stage("tokenizer"):
        walk.problems += [Problem(*problem) for problem in registry_problems(tokenizer)]
    walk.problems += _recorded_identity_problems(walk, checkpoint)
    problems = sorted(set(walk.problems), key=lambda problem: (problem.file, problem.expected))
    made = walk.artifacts.get(checkpoint)
    return AuditReport(
        checkpoint=checkpoint,
        verified=not problems,
        tokenizer=_tokenizer(walk),
        megatron=_megatron(walk),
        repos=[_repo(raw) for raw in walk.of_stage("pinned_repos")],
        steps=int(made.manifest.stats.get("steps", 0)) if made else 0,
        problems=problems,
    )


def _seal_problem(root: Path, path: str, gap: LineageGap) -> Problem:
    """Name the seal or the manifest, whichever is wrong or missing."""
    name = next((n for n in (COMPLETE_FILE, MANIFEST_FILE) if not (root / path / n).is_file()), MANIFEST_FILE)
    return Problem(f"{path}/{name}", "a complete artifact whose manifest matches its seal", str(gap))


def _event_problems(artifact: Artifact, event_log: EventLog) -> Iterator[Problem]:
    recorded = event_log(artifact.manifest.stage, artifact.manifest.partition)
    if recorded is not None and artifact.manifest.sha256 not in recorded:
        yield Problem(
            f"{artifact.path}/{MANIFEST_FILE}",
            f"manifest {artifact.manifest.sha256} among Dagster's materializations",
            f"{len(recorded)} materializations, none with it",
        )


def _commit_problems(raw: Artifact) -> Iterator[Problem]:
    git_dir, commit = raw.directory / OBJECTS, str(raw.manifest.config["commit"])
    try:
        found = git("rev-parse", "--verify", f"{PIN_REF}^{{commit}}", git_dir=git_dir).decode().strip()
        # Re-computes the id of every object of the commit from its bytes.
        git("fsck", "--full", "--no-dangling", "--no-progress", git_dir=git_dir)
    except GitFailed as error:
        yield Problem(f"{raw.path}/{OBJECTS}", f"commit {commit}, whole", str(error))
        return
    if found != commit:
        yield Problem(f"{raw.path}/{OBJECTS}", f"commit {commit}", f"commit {found}")


def _recorded_identity_problems(walk: _Walk, checkpoint: str) -> Iterator[Problem]:
    """The checkpoint's own record of its data must be what the walk found."""
    made = walk.artifacts.get(checkpoint)
    if made is None:
        return
    recorded = made.manifest.config
    for name, found in (("tokenizer", _tokenizer(walk)), ("megatron", _megatron(walk))):
        for key, value in found.items():
            expected = str(recorded.get(f"{name}_{key}", value))
            if expected != value:
                yield Problem(f"{checkpoint}/{MANIFEST_FILE}", f"{name} {key} {expected}", f"{name} {key} {value}")


def _tokenizer(walk: _Walk) -> dict[str, str]:
    return next((tokenizer_identity(artifact) for artifact in walk.of_stage("tokenizer")), {})


def _megatron(walk: _Walk) -> dict[str, str]:
    for artifact in walk.of_stage("megatron_bin_idx"):
        train = next(entry for entry in artifact.manifest.files if entry.name.endswith("_train.bin"))
        return {"prefix": f"{artifact.path}/{train.name.removesuffix('.bin')}", "sha256": train.sha256}
    return {}


def _repo(raw: Artifact) -> dict[str, str]:
    return {key: str(raw.manifest.config[key]) for key in ("name", "ref", "commit")}
