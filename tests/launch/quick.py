"""Stands where a machine's Python does, and carries an attempt out with a body that trains nothing.

Everything but the trainer is the real thing: the command that a launcher gives, the job's own side, what travels. The
body writes a line a step, publishes checkpoints, goes on from the newest, and ends as the trainer does.

`python -m tests.launch.quick SETTINGS -m megacpp_assets.launch.job.run_attempt JOB_URI …`
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from megacpp_assets.compute.lifetime import die_with_parent
from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.launch.job import run_attempt
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.publish import Publication, publish
from megacpp_assets.training.checkpoints.record import METRICS_FILE, MODEL, StepMetrics, read_metrics, shard_file
from megacpp_assets.training.checkpoints.resume import interim_checkpoints, newest_checkpoint, remove
from megacpp_assets.training.job import FAILURE_FILE, JOB_FILE, LIVE_METRICS_FILE, TrainingJob
from megacpp_assets.training.processes import training_processes
from megacpp_assets.training.processes.node import MEETING_FILE
from megacpp_assets.training.processes.process import EXIT_STOPPED, StopRequest, leave
from megacpp_assets.training.schedule import is_saved
from megacpp_assets.training.spec import TrainedCheckpointSpec, checkpoint_target


@dataclass(frozen=True, slots=True)
class Body:
    """How long a step takes, after which it fails, falls silent, or, where it goes on from no checkpoint, waits to be
    ended (0: none), whether it saves nothing, the file that gets each step's line.
    """

    seconds: float = 0.01
    fails_after: int = 0
    hangs_after: int = 0
    waits_after: int = 0
    exits_without: bool = False
    log: str = ""


def quick_python(file: Path, body: Body | None = None) -> str:
    """An executable at `file` to give a launcher as the Python of its machines."""
    settings = json.dumps(asdict(body or Body()))
    here = Path(__file__).parents[2]
    file.write_text(f"#!/bin/sh\nPYTHONPATH='{here}' exec {sys.executable} -m tests.launch.quick '{settings}' \"$@\"\n")
    file.chmod(0o755)
    return str(file)


def train(directory: Path, body: Body) -> int:
    """The trainer's part; its exit code."""
    stop = StopRequest()
    stop.install()
    die_with_parent()
    spec = TrainingJob.from_bytes((directory / JOB_FILE).read_bytes()).spec()
    newest, _ = newest_checkpoint(spec)
    steps = read_metrics(newest) if newest else []
    waits_after = 0 if newest else body.waits_after
    write_atomic(directory / MEETING_FILE, b"127.0.0.1:1")  # on several nodes the others wait for it
    with (directory / LIVE_METRICS_FILE).open("w", encoding="utf-8", buffering=1) as metrics:
        for each in steps:
            metrics.write(each.to_line())
        while len(steps) < spec.recipe.steps:
            time.sleep(body.seconds)
            steps.append(StepMetrics(len(steps) + 1, 9.0 / (len(steps) + 1), 100))
            metrics.write(steps[-1].to_line())
            _note(body, spec.root, len(steps))
            _misbehave(body, directory, len(steps))
            while len(steps) == waits_after and not stop.asked:
                time.sleep(0.01)
            if stop.asked or (is_saved(spec.recipe, len(steps)) and not body.exits_without):
                _save(spec, steps)
            if stop.asked:
                return EXIT_STOPPED
    return 0


def _note(body: Body, root: Path, step: int) -> None:
    if body.log:
        with open(body.log, "a", encoding="utf-8") as log:
            log.write(f"{root.parent.name} {step}\n")


def _misbehave(body: Body, directory: Path, step: int) -> None:
    if step == body.fails_after:
        (directory / FAILURE_FILE).write_text("loss of step; expected a finite number; found nan\n")
        os._exit(1)
    while step == body.hangs_after:
        time.sleep(1)


def _save(spec: TrainedCheckpointSpec, steps: list[StepMetrics]) -> None:
    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        del inputs
        lines = "".join(each.to_line() for each in steps).encode()
        publication.write(METRICS_FILE, lines, rows=len(steps))
        publication.write(shard_file(MODEL, 0), sha256_bytes(lines).encode() * 1000)
        return {"steps": len(steps)}

    if len(steps) == spec.recipe.steps:
        remove(interim_checkpoints(spec))
    publish(checkpoint_target(spec, len(steps)), produce)


def main(arguments: list[str]) -> int:
    settings, *rest = arguments
    body = Body(**json.loads(settings))
    if rest[0] == "--train":
        return train(Path(rest[1]), body)
    assert rest[:2] == ["-m", "megacpp_assets.launch.job.run_attempt"], rest
    training_processes.command = lambda job, directory, node: [  # type: ignore[assignment]
        *(sys.executable, "-m", "tests.launch.quick", settings),
        *("--train", str(directory)),
    ]
    return run_attempt.main(rest[2:])


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
