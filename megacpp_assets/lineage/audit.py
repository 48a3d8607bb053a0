"""The audit traces a checkpoint back to its commits, re-hashes every file and compares manifests with Dagster's log.

A quick audit reads no data file. It compares the manifests, their chain, the lock and the event log, and file sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import InputRef
from megacpp_assets.lineage.sources import Finding, commit_problems, lock_problems
from megacpp_assets.lineage.tokenizers import pin_problems, registry_problems, tokenizer_identity
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.bucket.binding import is_stored

_UNRECORDED: Final = "0 materializations, none with this manifest"
_RECORD: Final = "megacpp run with the recipe of this dataset records them again"
_REPLACED: Final = (
    "megacpp run to the end trains again; or promote the earlier references back (megacpp lock promote) and run"
)
_OTHER_RECIPE: Final = (
    "megacpp run to the end trains again; or go back with megacpp run --recipe {}, the recipe that trained it"
)


class EventLog(Protocol):
    """Dagster's recorded materializations. A step is (dataset, stage, partition)."""

    def has(self, step: tuple[str, str, str], manifest_sha256: str) -> bool:
        """Return whether a materialization of `step` recorded the manifest with this hash."""

    def count(self, step: tuple[str, str, str]) -> int:
        """Return the number of materializations that Dagster recorded for `step`."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A file that does not match its record. `file` is relative to the data root; `do` is advice or ""."""

    file: str
    expected: str
    found: str
    do: str = ""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What a checkpoint was made from, and every problem that the audit found.

    `verified` is True only if `problems` is empty. `quick` is True if only the sizes of data files were checked.
    `files` and `bytes` count the files of all artifacts that were reached.
    """

    checkpoint: str
    verified: bool
    quick: bool
    tokenizer: dict[str, str]
    megatron: dict[str, str]
    repos: list[dict[str, str]]
    steps: int
    files: int
    bytes: int
    problems: list[Problem] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the report as values that JSON can hold."""
        return asdict(self)


class Auditor:
    """Audits checkpoints of one data root. An artifact that several checkpoints share is re-hashed once."""

    def __init__(
        self,
        root: Path,
        stages: Sequence[str],
        event_log: EventLog,
        *,
        quick: bool = False,
        earlier_recipe: Callable[[str], str] = lambda _: "",
    ) -> None:
        """Create an auditor for `root`.

        Args:
            root: the data root.
            stages: stages that every chain must reach, in order; the last of them makes checkpoints.
            event_log: the materializations that Dagster recorded.
            quick: whether to check the sizes of data files instead of their hashes.
            earlier_recipe: returns the file of the recipe that trained a checkpoint, "" if the present recipe did.
        """
        self._root = root
        self._quick = quick
        self._stages = stages
        self._event_log = event_log
        self._earlier_recipe = earlier_recipe
        self._dataset = ""
        self._findings: dict[str, tuple[Artifact | None, list[Problem]]] = {}

    def audit(self, checkpoint: str) -> AuditReport:
        """Check the chain of `checkpoint`, a path relative to the root. Problems are returned, never raised."""
        self._begin(_dataset(checkpoint))
        reached: dict[str, Artifact] = {}
        causes = set(self._walk(None, checkpoint, reached))
        missing = _missing_stages(self._stages, checkpoint, reached, broken=bool(causes))
        consequences = {*missing, *_recorded_identity(checkpoint, reached)}
        problems = [*_without_log(self._advised(checkpoint, causes), len(reached)), *sorted(consequences - causes)]
        made = reached.get(checkpoint)
        sizes = [entry.bytes for artifact in reached.values() for entry in artifact.expected_files()]
        return AuditReport(
            checkpoint=checkpoint,
            verified=not problems,
            quick=self._quick,
            tokenizer=_tokenizer(reached),
            megatron=_megatron(checkpoint, reached),
            repos=[_repo(raw) for raw in _of_stage(reached, "pinned_repos")],
            steps=int(made.manifest.stats.get("steps", 0)) if made else 0,
            files=len(sizes),
            bytes=sum(sizes),
            problems=problems,
        )

    def _begin(self, dataset: str) -> None:
        """Drop the cached findings if the dataset changes: they depend on the dataset's own events."""
        if dataset != self._dataset:
            self._dataset = dataset
            self._findings.clear()

    def _advised(self, checkpoint: str, problems: Collection[Problem]) -> set[Problem]:
        """Return the problems. If the recipe was changed since, the advice of a replaced artifact names the earlier."""
        if all(problem.do != _REPLACED for problem in problems) or not (recipe := self._earlier_recipe(checkpoint)):
            return set(problems)
        advice = _OTHER_RECIPE.format(recipe)
        return {replace(problem, do=advice) if problem.do == _REPLACED else problem for problem in problems}

    def _walk(self, reference: InputRef | None, path: str, reached: dict[str, Artifact]) -> Iterator[Problem]:
        artifact, problems = self._inspect(reference, path)
        if artifact is not None and reference is not None and reference.manifest_sha256 != artifact.manifest.sha256:
            name, expected = f"{path}/{MANIFEST_FILE}", f"manifest {reference.manifest_sha256}"
            found = f"manifest {artifact.manifest.sha256}"
            if self._event_log.has(self._step_of(artifact), artifact.manifest.sha256):
                yield Problem(name, expected, f"{found} of a later run, which replaced the artifact", _REPLACED)
            else:
                yield Problem(name, expected, found)
        if path in reached:
            return
        yield from problems
        if artifact is not None:
            reached[path] = artifact
            for entry in artifact.manifest.inputs:
                yield from self._walk(entry, entry.path, reached)

    def _inspect(self, reference: InputRef | None, path: str) -> tuple[Artifact | None, list[Problem]]:
        """Return the artifact at `path`, None if it is broken, and its own problems. The result is cached."""
        if path not in self._findings:
            try:
                artifact = open_artifact(self._root, path)
                self._findings[path] = (artifact, [Problem(*finding) for finding in self._own_findings(artifact)])
            except LineageGap as gap:
                self._findings[path] = (None, [self._broken_seal(reference, path, gap)])
        return self._findings[path]

    def _own_findings(self, artifact: Artifact) -> Iterator[Finding]:
        manifest = artifact.manifest
        yield from _wrong_sizes(artifact) if self._quick else artifact.problems()
        step = self._step_of(artifact)
        # The machine that stored an artifact in a bucket has its event; other machines have the bucket's reference.
        stored = is_stored(self._root, artifact.path, manifest.sha256)
        if not stored and not self._event_log.has(step, manifest.sha256):
            expected = f"manifest {manifest.sha256} among Dagster's materializations of {manifest.stage}"
            count = self._event_log.count(step)
            found = f"{count} materializations, none with this manifest" if count else _UNRECORDED
            yield f"{artifact.path}/{MANIFEST_FILE}", expected, found
        if manifest.stage == "pinned_repos":
            yield from () if self._quick else commit_problems(artifact)
            yield from lock_problems(artifact)
        if manifest.stage == "tokenizer":
            yield from pin_problems(artifact) if self._quick else registry_problems(artifact)

    def _step_of(self, artifact: Artifact) -> tuple[str, str, str]:
        return self._dataset, artifact.manifest.stage, artifact.manifest.partition

    def _recorded_checkpoint(self, path: str, manifest_sha256: str) -> bool:
        """Return whether Dagster recorded this manifest for the mixture of the checkpoint at `path`.

        No other artifact refers to a checkpoint, so only the event log can confirm its manifest.
        """
        step = (self._dataset, self._stages[-1], "/".join(path.split("/")[2:4]))
        return self._event_log.has(step, manifest_sha256)

    def _broken_seal(self, reference: InputRef | None, path: str, gap: LineageGap) -> Problem:
        """Return a problem that names the file at fault: the seal or the manifest, whichever is missing or was
        changed.
        """
        for name in (COMPLETE_FILE, MANIFEST_FILE):
            if not (self._root / path / name).is_file():
                return Problem(f"{path}/{name}", "a complete artifact", "no such file")
        manifest = sha256_file(self._root / path / MANIFEST_FILE)
        trusted = manifest == reference.manifest_sha256 if reference else self._recorded_checkpoint(path, manifest)
        name = COMPLETE_FILE if trusted else MANIFEST_FILE
        return Problem(f"{path}/{name}", f"a seal that equals {MANIFEST_FILE}", str(gap))


def _dataset(checkpoint: str) -> str:
    """Return the dataset in a checkpoint's path `checkpoints/<dataset>/<specialist>/<phase>/step_N`."""
    return checkpoint.split("/")[1]


def _without_log(problems: Collection[Problem], artifacts: int) -> list[Problem]:
    """Return the problems, sorted. If Dagster recorded none of the `artifacts`, one problem stands for all of them."""
    unrecorded = {problem for problem in problems if problem.found == _UNRECORDED}
    if len(unrecorded) < max(artifacts, 2):
        return sorted(problems)
    missing = Problem("dagster/", f"materializations of the {artifacts} artifacts of this chain", "none", _RECORD)
    return [missing, *sorted(set(problems) - unrecorded)]


def _missing_stages(
    required: Sequence[str], checkpoint: str, reached: dict[str, Artifact], *, broken: bool
) -> Iterator[Problem]:
    """Yield one problem for all required stages that the chain does not reach. `broken`: its artifacts have problems.

    Nothing is known about artifacts of those stages: only the artifacts after them name them.
    """
    stages = {artifact.manifest.stage for artifact in reached.values()}
    if missing := [stage for stage in required if stage not in stages]:
        found = "a chain without them" + (": it ends at an artifact that could not be opened" if broken else "")
        yield Problem(checkpoint, f"a chain through {', '.join(missing)}", found)


def _recorded_identity(checkpoint: str, reached: dict[str, Artifact]) -> Iterator[Problem]:
    """Yield a problem for each identity in the checkpoint's manifest that differs from the one in the chain."""
    made = reached.get(checkpoint)
    if made is None:
        return
    found = {f"tokenizer_{key}": value for key, value in _tokenizer(reached).items()}
    found |= {f"megatron_{key}": value for key, value in _megatron(checkpoint, reached).items()}
    for key, value in found.items():
        recorded = str(made.manifest.config.get(key, "nothing"))
        if key != "megatron_prefix" and recorded != value:
            yield Problem(f"{checkpoint}/{MANIFEST_FILE}", f"{key} {value}", f"{key} {recorded}")


def _wrong_sizes(artifact: Artifact) -> Iterator[Finding]:
    """Yield files that are missing or whose size differs from the manifest's. No file is read or fetched."""
    for entry in artifact.expected_files():
        try:
            found = f"{(artifact.directory / entry.name).stat().st_size} bytes"
        except OSError:
            found = "no such file"
        if found != f"{entry.bytes} bytes":
            yield f"{artifact.path}/{entry.name}", f"{entry.bytes} bytes", found


def _of_stage(reached: dict[str, Artifact], stage: str) -> list[Artifact]:
    return [reached[path] for path in sorted(reached) if reached[path].manifest.stage == stage]


def _tokenizer(reached: dict[str, Artifact]) -> dict[str, str]:
    return next((tokenizer_identity(artifact) for artifact in _of_stage(reached, "tokenizer")), {})


def _megatron(checkpoint: str, reached: dict[str, Artifact]) -> dict[str, str]:
    """Return the Megatron pair that `checkpoint` was trained on, not the pair of the checkpoint that it resumed
    from.
    """
    read = {entry.path for entry in reached[checkpoint].manifest.inputs} if checkpoint in reached else set()
    for artifact in _of_stage({path: reached[path] for path in read if path in reached}, "megatron_bin_idx"):
        for entry in artifact.manifest.files:
            if entry.name.endswith("_train.bin"):
                return {"prefix": f"{artifact.path}/{entry.name.removesuffix('.bin')}", "sha256": entry.sha256}
    return {}


def _repo(raw: Artifact) -> dict[str, str]:
    return {key: str(raw.manifest.config.get(key, "")) for key in ("name", "ref", "commit")}
