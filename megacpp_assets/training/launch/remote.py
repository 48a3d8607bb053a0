"""The job's own side: fetch by hash, verify, train in a root of its own, send back what comes of it, stop.

`python -m megacpp_assets.training.launch.remote JOB_URI --attempt N --folder FOLDER`. It needs no inbound port and
believes nothing that it has not hashed. Of several nodes each fetches its own and trains its share; the first says what
comes of it. Exit codes are the trainer's: 0 done, 75 stopped after saving, others failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from megacpp_assets.contract.disk import disk_failure
from megacpp_assets.contract.errors import LineageGap, MegacppError
from megacpp_assets.contract.manifest import FileEntry
from megacpp_assets.storage import layout
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.training.checkpoints.resume import newest_checkpoint, sealed_checkpoints
from megacpp_assets.training.job import FAILURE_FILE, JOB_FILE, LIVE_METRICS_FILE, Job
from megacpp_assets.training.launch.launcher import Unanswered
from megacpp_assets.training.launch.parcel import receive_artifact, send_artifact
from megacpp_assets.training.launch.post import Ended, Heartbeat, Lease, Post, Sealed
from megacpp_assets.training.processes.node import EXIT_DESERTED, MEETING_FILE, Node
from megacpp_assets.training.processes.process import EXIT_STOPPED, StopRequest, leave
from megacpp_assets.training.processes.trainees import Trainees
from megacpp_assets.training.spec import TrainedCheckpointSpec

_FAILED: Final = 1
_OF_A_SIGNAL: Final = 128
_PATIENCE_SECONDS: Final = 600
"""How long an exchange that gives no answer is asked again before the attempt gives up."""
_WORDS: Final = 3
"""Looks after which another node has said why it failed."""


_T = TypeVar("_T")


class Unwanted(Exception):
    """The attempt is to end before it has begun to train."""


@dataclass
class Tenure:
    """Whether the launching side still wants this attempt, by this machine's clock."""

    post: Post
    last: Lease = field(default_factory=lambda: Lease(0, _PATIENCE_SECONDS, 1.0))
    since: float = field(default_factory=time.monotonic)

    def over(self) -> bool:
        """Withdrawn, gone, or not renewed for as long as it says. An exchange that gives no answer renews nothing."""
        with suppress(Unanswered):
            found = self.post.lease()
            if found is None or found.seconds <= 0:
                return True
            if found.beat != self.last.beat:
                self.last, self.since = found, time.monotonic()
        return time.monotonic() - self.since > self.last.seconds


@dataclass
class Attempt:
    """One attempt, from the first file fetched to the record of its end."""

    post: Post
    folder: Path
    stop: StopRequest
    tenure: Tenure
    node: Node = field(default_factory=Node)
    met: bool = False
    beat: int = 0
    metrics: bytes = b""
    last_step: int = 0

    def run(self) -> Ended:
        """Everything; how it ended."""
        self._say("fetching its inputs")
        job = _insist(self._fetch)
        spec = job.spec()
        self._say("starting")
        directory = self.folder / "job"
        directory.mkdir(exist_ok=True)
        (directory / JOB_FILE).write_bytes(job.to_bytes())
        if not self.node.first:
            self._wait_for_the_first(directory)
        with Trainees(job, directory, self.node) as trainees:
            code, reason = self._accompany(trainees, spec, directory)
        _insist(lambda: self._pass_on(spec, directory))
        if code == EXIT_DESERTED:
            time.sleep(_WORDS * self.tenure.last.look_seconds)  # what it failed of, if it did, is said by then
            if not _insist(self.post.failure):
                return Ended(EXIT_STOPPED, "another of its nodes has gone")
        elif code not in (0, EXIT_STOPPED):
            failure = directory / FAILURE_FILE
            why = failure.read_text(encoding="utf-8") if failure.is_file() else f"{code}: …{trainees.last_words()}"
            _insist(lambda: self.post.put_failure(why.strip()))
        return Ended(code, reason)

    def _wait_for_the_first(self, directory: Path) -> None:
        """Until the processes of this node know where to meet those of the first."""
        while not (address := _insist(self.post.meeting)):
            if reason := self._unwanted():
                raise Unwanted(reason)
            time.sleep(self.tenure.last.look_seconds)
        write_atomic(directory / MEETING_FILE, address)

    def _fetch(self) -> Job:
        """The job over a root of this machine, with its inputs and the newest checkpoint that is whole."""
        sent = self.post.job()
        root = self.folder / "root"
        root.mkdir(parents=True, exist_ok=True)
        for path, sha256 in sent.inputs.items():
            receive_artifact(self.post.exchange, root, path, sha256, each=self._fetching)
        job = replace(sent, root=root.resolve().as_uri())
        spec = job.spec()
        for sealed in reversed(self.post.sealed()):
            with suppress(LineageGap):  # an older one is good too; what is damaged there costs steps, not the run
                path = layout.checkpoint_path(spec.dataset, spec.mixture, sealed.step)
                receive_artifact(self.post.exchange, root, path, sealed.sha256, each=self._fetching)
                break
        newest, _ = newest_checkpoint(spec)
        self.last_step = newest.manifest.stats["steps"] if newest else 0
        return job

    def _accompany(self, trainees: Trainees, spec: TrainedCheckpointSpec, directory: Path) -> tuple[int, str]:
        """Send what it writes until it has ended; its code, and why it was made to end, "" if it was not."""
        reason = ""
        while (code := trainees.code(self.tenure.last.look_seconds)) is None:
            if reason := self._unwanted():
                trainees.stop()
            with suppress(Unanswered):
                self._pass_on(spec, directory)
        return code, reason

    def _fetching(self, entry: FileEntry) -> None:
        if reason := self._unwanted():
            raise Unwanted(reason)
        self._say(f"fetching {entry.name}, {entry.bytes} bytes")

    def _unwanted(self) -> str:
        if self.stop.asked:
            return "its machine was taken away"
        return "its lease is over" if self.tenure.over() else ""

    def _pass_on(self, spec: TrainedCheckpointSpec, directory: Path) -> None:
        """What comes of it, which is on the first node."""
        if not self.node.first:
            return
        if not self.met and (directory / MEETING_FILE).is_file():
            self.post.put_meeting((directory / MEETING_FILE).read_bytes())
            self.met = True
        file = directory / LIVE_METRICS_FILE
        lines = file.read_bytes() if file.is_file() else b""
        lines = lines[: lines.rfind(b"\n") + 1]
        done = lines.count(b"\n")
        # Only after the checkpoints, so that metrics of a step never come before what they belong to.
        for artifact in sealed_checkpoints(spec, range(self.last_step + 1, done + 1)):
            send_artifact(self.post.exchange, artifact)
            step = int(artifact.manifest.stats["steps"])
            known = [each for each in self.post.sealed() if each.step != step]
            self.post.put_sealed([*known, Sealed(step, artifact.manifest.sha256)])
            self.last_step = step
        if lines != self.metrics:
            self.post.put_metrics(lines)
            self.metrics = lines
        self._say(f"step {done} of {spec.recipe.steps}")

    def _say(self, doing: str) -> None:
        if not self.node.first:
            return
        self.beat += 1
        self.post.put_heartbeat(Heartbeat(self.beat, doing))


def main(arguments: Sequence[str]) -> int:
    """Carry out the attempt named on the command line; its exit code."""
    parser = argparse.ArgumentParser(prog="megacpp_assets.training.launch.remote")
    parser.add_argument("job")
    parser.add_argument("--attempt", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--number-from", default="")
    told = parser.parse_args(arguments)
    stop = StopRequest()
    stop.install()
    post = Post.at(told.job, told.attempt)
    tenure = Tenure(post)
    if tenure.over():
        return EXIT_STOPPED
    node, folder = Node(), told.folder
    try:
        if told.nodes > 1:
            node = Node.of_scheduler(told.nodes, told.number_from, os.environ)
            folder /= f"node_{node.number}"  # a scratch folder may be one for all nodes
        ended = Attempt(post, folder, stop, tenure, node).run()
    except Unwanted as unwanted:
        ended = Ended(EXIT_STOPPED, str(unwanted))
    except (MegacppError, OSError) as error:
        reason = str(error if isinstance(error, MegacppError) else disk_failure(error))
        _insist(lambda: post.put_failure(reason))
        ended = Ended(_FAILED)
    if node.first:
        _insist(lambda: post.put_ended(ended))
    return ended.code if ended.code >= 0 else _OF_A_SIGNAL - ended.code


def _insist(say: Callable[[], _T]) -> _T:
    """Once more, after growing pauses, for as long as the exchange gives no answer; then `Unanswered`."""
    end, pause = time.monotonic() + _PATIENCE_SECONDS, 1.0
    while True:
        try:
            return say()
        except Unanswered:
            if time.monotonic() + pause > end:
                raise
        time.sleep(pause)
        pause *= 2


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
