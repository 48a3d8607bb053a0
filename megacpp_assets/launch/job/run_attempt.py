"""Runs one attempt at a job on the machine that trains.

`python -m megacpp_assets.launch.job.run_attempt JOB_URI --attempt N --folder FOLDER` fetches the inputs by hash, trains
in a data root of its own, and sends back metrics and checkpoints. It opens no port and trusts no file before it has
compared the hash. On several nodes, each node fetches the inputs and trains its share; the first node sends the
results. Exit codes are those of the trainer: 0 done, 75 stopped after saving, any other failed. An exchange that is
silent for ten minutes also gives 75, so another attempt may resume, unless the training itself has failed.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from megacpp_assets.contract.errors import LineageGap, MegacppError, disk_failure
from megacpp_assets.contract.manifest import FileEntry
from megacpp_assets.launch.launcher import Unanswered
from megacpp_assets.launch.protocol.artifact_transfer import receive_artifact, send_artifact
from megacpp_assets.launch.protocol.job_folder import Ended, Heartbeat, JobFolder, Lease, SealedCheckpoint
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.root import layout
from megacpp_assets.training.checkpoints.resume import newest_checkpoint, sealed_checkpoints
from megacpp_assets.training.job import FAILURE_FILE, JOB_FILE, LIVE_METRICS_FILE, TrainingJob
from megacpp_assets.training.processes.node import EXIT_PEER_LOST, MEETING_FILE, NodeRank
from megacpp_assets.training.processes.process import EXIT_STOPPED, StopRequest, leave
from megacpp_assets.training.processes.training_processes import TrainingProcesses
from megacpp_assets.training.spec import TrainedCheckpointSpec

_LOG = logging.getLogger(__name__)

_FAILED: Final = 1
_SIGNAL_BASE: Final = 128
_PATIENCE_SECONDS: Final = 600
"""How long a silent exchange is asked again before the attempt ends."""
_FAILURE_LOOKS: Final = 3
"""Looks within which another node has reported why it failed."""


_T = TypeVar("_T")


class Cancelled(Exception):
    """The attempt must end before it has begun to train."""


@dataclass
class LeaseWatch:
    """Watches the lease of an attempt by this machine's clock."""

    job_folder: JobFolder
    last: Lease = field(default_factory=lambda: Lease(0, _PATIENCE_SECONDS, 1.0))
    since: float = field(default_factory=time.monotonic)

    def has_ended(self) -> bool:
        """Return whether the lease was ended, is missing, or was not renewed in time. A silent exchange renews none."""
        with suppress(Unanswered):
            found = self.job_folder.read_lease()
            if found is None or found.seconds <= 0:
                return True
            if found.beat != self.last.beat:
                self.last, self.since = found, time.monotonic()
        return time.monotonic() - self.since > self.last.seconds


@dataclass
class Attempt:
    """One attempt, from the first fetched file to the report of its end."""

    job_folder: JobFolder
    folder: Path
    stop: StopRequest
    lease: LeaseWatch
    node: NodeRank = field(default_factory=NodeRank)
    rendezvous_sent: bool = False
    beat: int = 0
    metrics: bytes = b""
    last_step: int = 0

    def run(self) -> Ended:
        """Fetch, train and send; return how the attempt ended. `Cancelled` if it must end before it trains."""
        self._show_life("fetching its inputs")
        job = _retry(self._fetch)
        spec = job.spec()
        self._show_life("starting")
        directory = self.folder / "job"
        directory.mkdir(exist_ok=True)
        (directory / JOB_FILE).write_bytes(job.to_bytes())
        if not self.node.first:
            self._wait_for_first_node(directory)
        with TrainingProcesses(job, directory, self.node) as training_processes:
            code, reason = self._train(training_processes, spec, directory)
        try:
            _retry(lambda: self._send_results(spec, directory))
        except Unanswered:
            # A failed training stays failed: another attempt would only fail again.
            if code in (0, EXIT_STOPPED, EXIT_PEER_LOST):
                raise
        if code == EXIT_PEER_LOST:
            # A node that failed has reported its reason within these looks.
            time.sleep(_FAILURE_LOOKS * self.lease.last.look_seconds)
            if not _retry(self.job_folder.read_failure):
                return Ended(EXIT_STOPPED, "another of its nodes has gone")
        elif code not in (0, EXIT_STOPPED):
            failure = directory / FAILURE_FILE
            why = (
                failure.read_text(encoding="utf-8")
                if failure.is_file()
                else f"{code}: …{training_processes.log_tail()}"
            )
            try:
                _retry(lambda: self.job_folder.write_failure(why.strip()))
            except Unanswered as error:
                _LOG.error("%s: the reason of the failure cannot be sent: %s", why.strip(), error)
        return Ended(code, reason)

    def _wait_for_first_node(self, directory: Path) -> None:
        """Wait until the address of the first node's process is known, and write it for the processes of this node."""
        while not (address := _retry(self.job_folder.read_rendezvous)):
            if reason := self._reason_to_stop():
                raise Cancelled(reason)
            time.sleep(self.lease.last.look_seconds)
        write_atomic(directory / MEETING_FILE, address)

    def _fetch(self) -> TrainingJob:
        """Receive the inputs and the newest intact checkpoint; return the job over a data root of this machine."""
        sent = self.job_folder.read_job()
        root = self.folder / "root"
        root.mkdir(parents=True, exist_ok=True)
        for path, sha256 in sent.inputs.items():
            receive_artifact(self.job_folder.exchange, root, path, sha256, before_file=self._before_file)
        job = replace(sent, root=root.resolve().as_uri())
        spec = job.spec()
        for sealed in reversed(self.job_folder.read_sealed()):
            # A damaged checkpoint costs steps, not the run: an older one serves as well.
            with suppress(LineageGap):
                path = layout.checkpoint_path(spec.dataset, spec.mixture, sealed.step)
                receive_artifact(self.job_folder.exchange, root, path, sealed.sha256, before_file=self._before_file)
                break
        newest, _ = newest_checkpoint(spec)
        self.last_step = newest.manifest.stats["steps"] if newest else 0
        return job

    def _train(
        self, training_processes: TrainingProcesses, spec: TrainedCheckpointSpec, directory: Path
    ) -> tuple[int, str]:
        """Send results until the training has ended; return its exit code, and the reason if it was stopped."""
        reason = ""
        while (code := training_processes.code(self.lease.last.look_seconds)) is None:
            if reason := self._reason_to_stop():
                training_processes.stop()
            with suppress(Unanswered):
                self._send_results(spec, directory)
        return code, reason

    def _before_file(self, entry: FileEntry) -> None:
        if reason := self._reason_to_stop():
            raise Cancelled(reason)
        self._show_life(f"fetching {entry.name}, {entry.bytes} bytes")

    def _reason_to_stop(self) -> str:
        if self.stop.asked:
            return "its machine was taken away"
        return "its lease is over" if self.lease.has_ended() else ""

    def _send_results(self, spec: TrainedCheckpointSpec, directory: Path) -> None:
        """Send checkpoints and metrics. Only the first node has them."""
        if not self.node.first:
            return
        if not self.rendezvous_sent and (directory / MEETING_FILE).is_file():
            self.job_folder.write_rendezvous((directory / MEETING_FILE).read_bytes())
            self.rendezvous_sent = True
        file = directory / LIVE_METRICS_FILE
        lines = file.read_bytes() if file.is_file() else b""
        lines = lines[: lines.rfind(b"\n") + 1]
        done = lines.count(b"\n")
        # Checkpoints go first, so that the metrics of a step never arrive before its checkpoint.
        for artifact in sealed_checkpoints(spec, range(self.last_step + 1, done + 1)):
            send_artifact(self.job_folder.exchange, artifact)
            step = int(artifact.manifest.stats["steps"])
            known = [each for each in self.job_folder.read_sealed() if each.step != step]
            self.job_folder.write_sealed([*known, SealedCheckpoint(step, artifact.manifest.sha256)])
            self.last_step = step
        if lines != self.metrics:
            self.job_folder.write_metrics(lines)
            self.metrics = lines
        self._show_life(f"step {done} of {spec.recipe.steps}")

    def _show_life(self, activity: str) -> None:
        if not self.node.first:
            return
        self.beat += 1
        with suppress(Unanswered):  # the next heartbeat follows soon
            self.job_folder.write_heartbeat(Heartbeat(self.beat, activity))


def main(arguments: Sequence[str]) -> int:
    """Run the attempt that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="megacpp_assets.launch.job.run_attempt", description="Run one attempt at a job."
    )
    parser.add_argument("job", help="the URI of the folder of the job, EXCHANGE/jobs/NAME")
    parser.add_argument("--attempt", type=int, required=True, help="the number of the attempt, from 1")
    parser.add_argument("--folder", type=Path, required=True, help="an empty folder to work in")
    parser.add_argument("--nodes", type=int, default=1, help="the number of nodes")
    parser.add_argument("--number-from", default="", help="the environment variable that holds the number of the node")
    options = parser.parse_args(arguments)
    stop = StopRequest()
    stop.install()
    job_folder = JobFolder.at(options.job, options.attempt)
    lease = LeaseWatch(job_folder)
    if lease.has_ended():
        return EXIT_STOPPED
    node, folder, failure = NodeRank(), options.folder, ""
    try:
        if options.nodes > 1:
            node = NodeRank.of_scheduler(options.nodes, options.number_from, os.environ)
            folder /= f"node_{node.number}"  # the scratch folder may be the same one on all nodes
        ended = Attempt(job_folder, folder, stop, lease, node).run()
    except Cancelled as cancelled:
        ended = Ended(EXIT_STOPPED, str(cancelled))
    except Unanswered as error:
        ended = Ended(EXIT_STOPPED, f"its exchange gave no answer for {_PATIENCE_SECONDS} s: {error}")
    except (MegacppError, OSError) as error:
        failure = str(error if isinstance(error, MegacppError) else disk_failure(error))
        ended = Ended(_FAILED)
    try:
        if failure:
            _retry(lambda: job_folder.write_failure(failure))
        if node.first:
            _retry(lambda: job_folder.write_ended(ended))
    except Unanswered as error:
        _LOG.error("%s %s: its end cannot be reported: %s", ended, failure, error)
    return ended.code if ended.code >= 0 else _SIGNAL_BASE - ended.code


def _retry(ask: Callable[[], _T]) -> _T:
    """Return the answer of `ask`. Ask again after growing pauses while the exchange is silent; then `Unanswered`."""
    end, pause = time.monotonic() + _PATIENCE_SECONDS, 1.0
    while True:
        try:
            return ask()
        except Unanswered:
            if time.monotonic() + pause > end:
                raise
        time.sleep(pause)
        pause *= 2


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
