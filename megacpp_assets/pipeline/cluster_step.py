"""Makes a step on a worker of the Dask cluster. Its inputs travel there, its files come back and are sealed here.

The worker has a data root of its own, in which the inputs have their paths. It runs the same code as this machine, so
the manifests are equal. What comes back is bytes: each file must have the size and hash of the worker's manifest.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from megacpp_assets.compute.executors.folders import kept_folder, located
from megacpp_assets.compute.executors.select import WORKERS_VARIABLE, on_cluster, open_executor
from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import EnvironmentLacks, LineageGap, MegacppError, WorkerDied
from megacpp_assets.contract.manifest import FileEntry, Manifest
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.pipeline.steps import Step, step_of
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.publish import Publication, publish
from megacpp_assets.storage.work import read_work, write_work

INPUT_BYTES: Final = 1 << 30
OUTPUT_BYTES: Final = 1 << 29
"""The most bytes of the inputs and of the files of a step that travels; this process and a worker hold them at once."""
_LONGEST_S: Final = 7 * 86_400.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InputFolder:
    """The input of a step with this manifest. The step reads nothing else on a host but its compiler's headers."""

    path: str
    manifest: str
    with_headers: bool

    def content(self) -> str:
        """Return the hash of its manifest."""
        return self.manifest

    def prepare(self, path: str) -> None:
        """Do nothing: a step needs no other folder."""

    def identity(self) -> str:
        """Return the hash of the compiler's headers on this host, or "" if the step reads none."""
        if not self.with_headers:
            return ""
        from megacpp_assets.semantic.commands.toolchain import find_toolchain  # noqa: PLC0415 - an optional dependency
        from megacpp_assets.semantic.parsing.parse_folder import headers_identity  # noqa: PLC0415

        return headers_identity(find_toolchain())


@dataclass(frozen=True, slots=True)
class Order:
    """A step for a worker. `root` names the folder on the worker's host. `inputs` have their paths in the data root."""

    corpus: Corpus
    stage: str
    partition: str
    root: str
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """The artifact of a step, and the CPU seconds of the worker's process that made it."""

    artifact: Artifact
    elsewhere_s: float = 0.0


class _TooLarge(Exception):
    """The files of a step are larger than what travels."""


def travels(step: Step) -> bool:
    """Return whether a worker of a cluster makes the step, if its inputs are not too large."""
    return on_cluster() and step.stage.on_workers(step.corpus.recipe)


def make(step: Step, progress: Progress) -> Made:
    """Make the artifact of `step`, on a worker of the cluster if it travels, or else here.

    Raises what the stage raises, `EnvironmentLacks` for a cluster that cannot make it, and `WorkerDied` if every worker
    that tried has died.
    """
    if not travels(step) or _input_bytes(step) > INPUT_BYTES:
        return Made(step.run(progress))
    try:
        return _made_there(step)
    except _TooLarge:
        _LOG.warning("%s is made here: its files are larger than %d bytes", step.name, OUTPUT_BYTES)
        return Made(step.run(progress))


def _input_bytes(step: Step) -> int:
    target = step.target()
    manifests = (open_artifact(target.root, path).manifest for path in target.inputs)
    return sum(entry.bytes for manifest in manifests for entry in manifest.files)


def _made_there(step: Step) -> Made:
    target = step.target()
    facts: dict[str, Any] = {}

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        data, about, *files = _ask(step, inputs)
        manifest = Manifest.from_bytes(data, f"{step.name} of a worker")
        _require_same(step.name, target.fingerprint(inputs), manifest.fingerprint)
        _write(publication, manifest.files, files)
        facts.update(json.loads(about))
        return manifest.stats

    artifact = publish(target, produce)
    if work := facts.get("work"):
        write_work(artifact, work)
    return Made(artifact, facts.get("cpu_seconds", 0.0))


def _ask(step: Step, inputs: Sequence[Artifact]) -> list[bytes]:
    """Return what `make_there` returns for the step."""
    root = step.corpus.root
    order = Order(
        replace(step.corpus, root=Path()),
        step.stage.name,
        step.partition,
        f"root-{sha256_bytes(f'{socket.gethostname()} {root.resolve()}'.encode())[:16]}",
        tuple(artifact.path for artifact in inputs),
    )
    places = tuple(str(artifact.directory.resolve()) for artifact in inputs)
    with open_executor() as executor:
        executor.provide(*_folders(step, inputs, places))
        (outcome,) = executor.run(make_there, [(order, places)], timeout_s=_LONGEST_S)
    if outcome.failure is not None:
        raise WorkerDied(step.name, expected="an answer of a worker", found=outcome.failure, do="run it again")
    if outcome.value is None:
        raise _TooLarge
    if isinstance(outcome.value, MegacppError):
        raise outcome.value
    return outcome.value


def _folders(step: Step, inputs: Sequence[Artifact], places: Sequence[str]) -> Iterator[InputFolder]:
    with_headers = step.stage.reads_headers  # those of a host are read once: with the first input
    for artifact, place in zip(inputs, places, strict=True):
        yield InputFolder(place, artifact.manifest.sha256, with_headers)
        with_headers = False


def _require_same(name: str, expected: str, found: str) -> None:
    if found != expected:
        do = "install the same versions and the same compiler on every worker"
        raise EnvironmentLacks(f"Dask worker that made {name}", expected=f"fingerprint {expected}", found=found, do=do)


def _write(publication: Publication, entries: Sequence[FileEntry], files: Iterable[bytes]) -> None:
    """Write the files. `LineageGap` for one that differs from the worker's manifest or belongs elsewhere."""
    for entry, data in zip(entries, files, strict=True):
        if PurePosixPath(entry.name).is_absolute() or ".." in entry.name.split("/"):
            raise LineageGap(entry.name, expected="a name below the artifact", found="another", do="check the worker")
        publication.write(entry.name, data, entry.rows)
        if publication.entries[-1] != entry:
            found = publication.entries[-1].sha256
            raise LineageGap(entry.name, expected=f"sha256 {entry.sha256}", found=found, do="run it again")


def make_there(batch: tuple[Order, Sequence[str]]) -> list[bytes] | MegacppError | None:
    """Make the step on this host, in the process of a batch. `batch` has the places of the inputs on the client too.

    Return its manifest, the counts and CPU seconds of its work, and its files in the manifest's order. None if they are
    too large.
    """
    order, places = batch
    os.environ[WORKERS_VARIABLE] = "1"  # a worker runs one batch for each of its cores
    with kept_folder(order.root) as root:
        for path, place in zip(order.inputs, places, strict=True):
            _link(root / path, located(place))
        try:
            artifact = step_of(replace(order.corpus, root=root), order.stage, order.partition).run(silent)
        except MegacppError as error:
            return error
        try:
            return _answer(artifact)
        finally:
            shutil.rmtree(artifact.directory)


def _link(link: Path, place: str) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    new = link.with_name(f".{link.name}.{os.getpid()}")
    new.symlink_to(place, target_is_directory=True)
    new.rename(link)


def _answer(artifact: Artifact) -> list[bytes] | None:
    entries = artifact.manifest.files
    if sum(entry.bytes for entry in entries) > OUTPUT_BYTES:
        return None
    files = ((artifact.directory / entry.name).read_bytes() for entry in entries)
    about = {"work": read_work(artifact), "cpu_seconds": round(sum(os.times()[:4]), 3)}
    return [artifact.manifest.to_bytes(), canonical_json(about), *files]
