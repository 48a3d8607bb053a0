"""The launching side of a job: what it sends before an attempt, renews during it, and takes from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.contract.recipe.training import LaunchRecipe
from megacpp_assets.storage.artifact import find_artifact, open_artifact
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.training.checkpoints.resume import interim_checkpoints, newest_checkpoint, remove
from megacpp_assets.training.job import FAILURE_FILE, LIVE_METRICS_FILE, Job
from megacpp_assets.training.launch.exchange import open_exchange
from megacpp_assets.training.launch.launcher import Report, State
from megacpp_assets.training.launch.parcel import receive_artifact, send_artifact
from megacpp_assets.training.launch.post import Heartbeat, Lease, Post, Sealed
from megacpp_assets.training.launch.records import Record
from megacpp_assets.training.processes.process import EXIT_STOPPED
from megacpp_assets.training.schedule import is_saved
from megacpp_assets.training.spec import checkpoint_target

_RENEWALS: Final = 3
"""A lease is renewed at every look, or at every second one where looks come a little early."""


class Side(Protocol):
    """Of one job, attempt after attempt. `Unanswered` where the exchange gives no answer now."""

    @property
    def place(self) -> str:
        """The URI of the folder with the job file."""

    def free(self, attempt: int) -> int:
        """The number of the next attempt: `attempt`, or a higher one where others have used that. `SpecError` where
        another launcher is at work on the same job.
        """

    def open(self, attempt: int) -> None:
        """Everything that the attempt needs is in its place."""

    def look(self) -> Report:
        """Take what has come; RUNNING until the attempt itself has said how it ended."""

    def close(self) -> None:
        """The attempt is no longer wanted, whether its launcher can be told or not."""

    def collect(self) -> None:
        """Take what it left."""


@dataclass(frozen=True, slots=True)
class InPlace:
    """A job that reads and writes the data root itself."""

    folder: Path

    @property
    def place(self) -> str:
        """The folder with the job file."""
        return self.folder.resolve().as_uri()

    def free(self, attempt: int) -> int:
        """Nobody else launches from this root: its lock is held."""
        return attempt

    def open(self, attempt: int) -> None:
        """Nothing travels."""

    def look(self) -> Report:
        """Its launcher knows."""
        return Report(State.RUNNING)

    def close(self) -> None:
        """Its launcher stops it."""

    def collect(self) -> None:
        """It is there."""


@dataclass
class Exchanged:
    """A job whose data, metrics and checkpoints travel through an exchange; metrics come to lie in `folder`."""

    job: Job
    recipe: LaunchRecipe
    folder: Path
    post: Post
    beat: int = 0
    renewed: float = 0.0
    metrics: bytes = b""

    @property
    def place(self) -> str:
        """In the exchange."""
        return self.post.uri

    def free(self, attempt: int) -> int:
        """By the leases that lie there; one that is still renewed belongs to a launcher at work, of another root."""
        while True:
            post = Post(self.post.exchange, self.post.name, attempt)
            lease = post.lease()
            if lease is None:
                return attempt
            if lease.seconds > 0 and post.ended() is None:
                time.sleep(_RENEWALS * lease.look_seconds)
                found = post.lease()
                if found is not None and found.beat != lease.beat:
                    raise SpecError(
                        f"job {self.job.name}",
                        expected="one launcher at work on it",
                        found=f"another that renews the lease of its attempt {attempt} at {self.post.uri}",
                        do="wait for it, or cancel it where it was launched",
                    )
            attempt += 1

    def open(self, attempt: int) -> None:
        """The inputs, the newest checkpoint, the job, a lease."""
        self.post = Post(self.post.exchange, self.post.name, attempt)
        self._take_checkpoints()
        spec = self.job.spec()
        for path in self.job.inputs:
            send_artifact(self.post.exchange, open_artifact(spec.root, path))
        newest, _ = newest_checkpoint(spec)
        if newest is not None:
            send_artifact(self.post.exchange, newest)
            mine = Sealed(int(newest.manifest.stats["steps"]), newest.manifest.sha256)
            self.post.put_sealed([*(each for each in self.post.sealed() if each.step != mine.step), mine])
        self.post.put_job(self.job)
        self._renew(self.recipe.lease_seconds)

    def look(self) -> Report:
        """Renew the lease; metrics, checkpoints, the record of the end."""
        if time.monotonic() - self.renewed >= self.recipe.look_seconds:
            self._renew(self.recipe.lease_seconds)
        self.collect()
        ended = self.post.ended()
        if ended is None:
            return Report(State.RUNNING, _words(self.post.heartbeat()))
        if ended.code == 0:
            return Report(State.SUCCEEDED)
        if ended.code == EXIT_STOPPED:
            return Report(State.PREEMPTED, ended.reason)
        return Report(State.FAILED, f"exit code {ended.code}" + (f": {ended.reason}" if ended.reason else ""))

    def close(self) -> None:
        """The lease ends."""
        self._renew(0)

    def collect(self) -> None:
        """Checkpoints, metrics, the reason of a failure."""
        self._take_checkpoints()
        lines = self.post.metrics()
        if lines != self.metrics:
            (self.folder / LIVE_METRICS_FILE).write_bytes(lines)
            self.metrics = lines
        if failure := self.post.failure():
            write_atomic(self.folder / FAILURE_FILE, failure.encode())

    def _renew(self, seconds: float) -> None:
        self.beat, self.renewed = self.beat + 1, time.monotonic()
        self.post.put_lease(Lease(self.beat, seconds, self.recipe.look_seconds))

    def _take_checkpoints(self) -> None:
        """Place what is new in the root; the last one makes those superfluous that were saved between two due steps."""
        spec = self.job.spec()
        sealed = self.post.sealed()
        done = any(each.step == spec.recipe.steps for each in sealed)
        for each in sealed:
            target = checkpoint_target(spec, each.step)
            if done and not is_saved(spec.recipe, each.step):
                continue
            present = find_artifact(spec.root, target.path)
            if present is not None and present.manifest.sha256 == each.sha256 and present.damage() is None:
                continue  # also one that an elastic run goes on from, which this job would not have made
            receive_artifact(self.post.exchange, spec.root, target.path, each.sha256, accept=self._accept(each.step))
        if done:
            remove(interim_checkpoints(spec))

    def _accept(self, step: int) -> Callable[[Manifest], None]:
        """Refuse what this job would not have made."""
        spec = self.job.spec()
        target = checkpoint_target(spec, step)
        inputs = tuple(open_artifact(spec.root, path) for path in target.inputs)
        expected = (target.stage, target.partition, target.version, target.fingerprint(inputs), target.config)

        def accept(manifest: Manifest) -> None:
            found = (manifest.stage, manifest.partition, manifest.version, manifest.fingerprint, manifest.config)
            made_from = tuple(artifact.reference for artifact in inputs)
            if found != expected or manifest.inputs != made_from or manifest.stats.get("steps") != step:
                raise LineageGap(
                    f"{self.post.uri}: checkpoint of step {step}",
                    expected=f"one of the job {self.job.name}",
                    found=f"one of {manifest.stage} {manifest.partition}, fingerprint {manifest.fingerprint[:80]}",
                    do="look at who else writes there, or take another exchange",
                )

        return accept


def open_side(recipe: LaunchRecipe, job: Job, folder: Path) -> Side:
    """In place, or through the exchange that the recipe names."""
    if not recipe.exchange:
        return InPlace(folder)
    return Exchanged(job, recipe, folder, Post(open_exchange(recipe.exchange), job.name, 0))


def withdraw(record: Record) -> None:
    """End the lease of an attempt that nobody drives."""
    if record.launch.exchange:
        post = Post.at(record.place, record.attempt)
        last = post.lease()
        post.put_lease(Lease(last.beat + 1 if last else 1, 0, record.launch.look_seconds))


def doing(record: Record) -> str:
    """What an attempt that has not ended says that it does. `Unanswered` where its exchange gives no answer now."""
    if record.launch.exchange:
        return _words(Post.at(record.place, record.attempt).heartbeat())
    file = Path(unquote(urlsplit(record.place).path)) / LIVE_METRICS_FILE
    done = file.read_bytes().count(b"\n") if file.is_file() else 0
    return f"step {done} of {record.training.steps}"


def _words(heartbeat: Heartbeat | None) -> str:
    return heartbeat.doing if heartbeat is not None else "not begun"
