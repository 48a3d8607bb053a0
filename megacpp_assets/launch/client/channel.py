"""The channel between the launching machine and a job: what it sends before an attempt, and receives during it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.contract.recipe.launch import LaunchRecipe
from megacpp_assets.launch.client.records import AttemptRecord
from megacpp_assets.launch.launcher import AttemptState, Report
from megacpp_assets.launch.protocol.artifact_transfer import receive_artifact, send_artifact
from megacpp_assets.launch.protocol.job_folder import Heartbeat, JobFolder, Lease, SealedCheckpoint
from megacpp_assets.launch.protocol.open_exchange import open_exchange
from megacpp_assets.storage.artifact import find_artifact, open_artifact
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.training.checkpoints.resume import interim_checkpoints, newest_checkpoint, remove
from megacpp_assets.training.job import FAILURE_FILE, LIVE_METRICS_FILE, TrainingJob
from megacpp_assets.training.processes.process import EXIT_STOPPED
from megacpp_assets.training.schedule import is_saved
from megacpp_assets.training.spec import checkpoint_target

_RENEWALS: Final = 3
"""Looks within which another launching machine renews its lease at least once, even if its looks come a little late."""


class JobChannel(Protocol):
    """The channel of one job, over all its attempts. Every method raises `Unanswered` if the exchange is silent now."""

    @property
    def place(self) -> str:
        """The URI of the folder that holds the job file."""

    def next_free_attempt(self, attempt: int) -> int:
        """Return `attempt`, or the next higher number that no other launching machine has used.

        `SpecError` if another launching machine drives the same job now.
        """

    def open(self, attempt: int) -> None:
        """Put everything that the attempt needs in its place."""

    def look(self) -> Report:
        """Receive what is new. The state is RUNNING until the attempt itself has reported its end."""

    def close(self) -> None:
        """End the lease: the attempt must stop, even if its launcher cannot be reached."""

    def collect(self) -> None:
        """Receive what the attempt left."""


@dataclass(frozen=True, slots=True)
class LocalChannel:
    """The channel of a job that reads and writes the data root itself, so that nothing has to be sent."""

    folder: Path

    @property
    def place(self) -> str:
        """The folder that holds the job file."""
        return self.folder.resolve().as_uri()

    def next_free_attempt(self, attempt: int) -> int:
        """Return `attempt`. The lock of the data root keeps other launching processes away."""
        return attempt

    def open(self, attempt: int) -> None:
        """Do nothing: the job reads the data root."""

    def look(self) -> Report:
        """Return RUNNING: only the launcher knows the state of the process."""
        return Report(AttemptState.RUNNING)

    def close(self) -> None:
        """Do nothing: the launcher stops the process."""

    def collect(self) -> None:
        """Do nothing: the job wrote its results into the data root."""


@dataclass
class ExchangeChannel:
    """The channel of a job whose inputs, metrics and checkpoints go through an exchange. Metrics go to `folder`."""

    job: TrainingJob
    recipe: LaunchRecipe
    folder: Path
    job_folder: JobFolder
    beat: int = 0
    renewed: float = 0.0
    metrics: bytes = b""

    @property
    def place(self) -> str:
        """The folder of the job in the exchange."""
        return self.job_folder.uri

    def next_free_attempt(self, attempt: int) -> int:
        """Skip every attempt that has a lease. A lease that is still renewed belongs to another launching machine."""
        while True:
            folder = JobFolder(self.job_folder.exchange, self.job_folder.name, attempt)
            lease = folder.read_lease()
            if lease is None:
                return attempt
            if lease.seconds > 0 and folder.read_ended() is None:
                time.sleep(_RENEWALS * lease.look_seconds)
                renewed = folder.read_lease()
                if renewed is not None and renewed.beat != lease.beat:
                    raise SpecError(
                        f"job {self.job.name}",
                        expected="one launching machine",
                        found=f"another one, which renews the lease of attempt {attempt} at {self.job_folder.uri}",
                        do="wait for it, or cancel it where it was launched",
                    )
            attempt += 1

    def open(self, attempt: int) -> None:
        """Send the inputs, the newest checkpoint, the job and a lease."""
        self.job_folder = JobFolder(self.job_folder.exchange, self.job_folder.name, attempt)
        self._receive_checkpoints()
        spec = self.job.spec()
        for path in self.job.inputs:
            send_artifact(self.job_folder.exchange, open_artifact(spec.root, path))
        newest, _ = newest_checkpoint(spec)
        if newest is not None:
            send_artifact(self.job_folder.exchange, newest)
            sent = SealedCheckpoint(int(newest.manifest.stats["steps"]), newest.manifest.sha256)
            others = (each for each in self.job_folder.read_sealed() if each.step != sent.step)
            self.job_folder.write_sealed([*others, sent])
        self.job_folder.write_job(self.job)
        self._renew(self.recipe.lease_seconds)

    def look(self) -> Report:
        """Renew the lease; receive metrics, checkpoints and the end of the attempt."""
        if time.monotonic() - self.renewed >= self.recipe.look_seconds:
            self._renew(self.recipe.lease_seconds)
        self.collect()
        ended = self.job_folder.read_ended()
        if ended is None:
            return Report(AttemptState.RUNNING, _activity(self.job_folder.read_heartbeat()))
        if ended.code == 0:
            return Report(AttemptState.SUCCEEDED)
        if ended.code == EXIT_STOPPED:
            return Report(AttemptState.PREEMPTED, ended.reason)
        return Report(AttemptState.FAILED, f"exit code {ended.code}" + (f": {ended.reason}" if ended.reason else ""))

    def close(self) -> None:
        """End the lease."""
        self._renew(0)

    def collect(self) -> None:
        """Receive checkpoints, metrics and the reason of a failure."""
        self._receive_checkpoints()
        lines = self.job_folder.read_metrics()
        if lines != self.metrics:
            (self.folder / LIVE_METRICS_FILE).write_bytes(lines)
            self.metrics = lines
        if failure := self.job_folder.read_failure():
            write_atomic(self.folder / FAILURE_FILE, failure.encode())

    def _renew(self, seconds: float) -> None:
        self.beat, self.renewed = self.beat + 1, time.monotonic()
        self.job_folder.write_lease(Lease(self.beat, seconds, self.recipe.look_seconds))

    def _receive_checkpoints(self) -> None:
        """Seal new checkpoints in the data root. After the last step, remove those saved only for resuming."""
        spec = self.job.spec()
        sealed = self.job_folder.read_sealed()
        done = any(each.step == spec.recipe.steps for each in sealed)
        for each in sealed:
            target = checkpoint_target(spec, each.step)
            if done and not is_saved(spec.recipe, each.step):
                continue
            present = find_artifact(spec.root, target.path)
            # The root may also hold a checkpoint of an elastic run, which this job itself would not have made.
            if present is not None and present.manifest.sha256 == each.sha256 and present.damage() is None:
                continue
            accept = self._accept(each.step)
            receive_artifact(self.job_folder.exchange, spec.root, target.path, each.sha256, accept=accept)
        if done:
            remove(interim_checkpoints(spec))

    def _accept(self, step: int) -> Callable[[Manifest], None]:
        """Return a function that rejects the manifest of a checkpoint that this job would not make."""
        spec = self.job.spec()
        target = checkpoint_target(spec, step)
        inputs = tuple(open_artifact(spec.root, path) for path in target.inputs)
        expected = (target.stage, target.partition, target.version, target.fingerprint(inputs), target.config)

        def accept(manifest: Manifest) -> None:
            found = (manifest.stage, manifest.partition, manifest.version, manifest.fingerprint, manifest.config)
            made_from = tuple(artifact.reference for artifact in inputs)
            if found != expected or manifest.inputs != made_from or manifest.stats.get("steps") != step:
                raise LineageGap(
                    f"{self.job_folder.uri}: checkpoint of step {step}",
                    expected=f"one of the job {self.job.name}",
                    found=f"one of {manifest.stage} {manifest.partition}, fingerprint {manifest.fingerprint[:80]}",
                    do="check who else writes there, or use another exchange",
                )

        return accept


def open_channel(recipe: LaunchRecipe, job: TrainingJob, folder: Path) -> JobChannel:
    """Return the channel of `job`: through the exchange that the recipe names, or else through the data root."""
    if not recipe.exchange:
        return LocalChannel(folder)
    return ExchangeChannel(job, recipe, folder, JobFolder(open_exchange(recipe.exchange), job.name, 0))


def end_lease(record: AttemptRecord) -> None:
    """End the lease of an attempt whose driver has died."""
    if record.launch.exchange:
        folder = JobFolder.at(record.place, record.attempt)
        last = folder.read_lease()
        folder.write_lease(Lease(last.beat + 1 if last else 1, 0, record.launch.look_seconds))


def activity(record: AttemptRecord) -> str:
    """Return what a running attempt says it does. `Unanswered` if its exchange gives no answer now."""
    if record.launch.exchange:
        return _activity(JobFolder.at(record.place, record.attempt).read_heartbeat())
    file = Path(unquote(urlsplit(record.place).path)) / LIVE_METRICS_FILE
    done = file.read_bytes().count(b"\n") if file.is_file() else 0
    return f"step {done} of {record.training.steps}"


def _activity(heartbeat: Heartbeat | None) -> str:
    return heartbeat.activity if heartbeat is not None else "not begun"
