"""Running one step: inputs must have passed their checks, then run, check, and leave a receipt."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

import psutil

from megacpp_assets.contract.errors import CheckFailed
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.pipeline.receipts import Receipt, read_receipt, write_receipt
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.publish import current_artifact

_SAMPLE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Done:
    """A step that was run, with its receipt."""

    artifact: Artifact
    receipt: Receipt


def finished(step: Step) -> Done | None:
    """The step's result if its artifact is current and all its checks passed, else None. Reads manifests only."""
    artifact = current_artifact(step.target())
    receipt = read_receipt(artifact) if artifact else None
    return Done(artifact, receipt) if artifact and receipt and receipt.passed else None


def first_failure(steps: Sequence[Step]) -> CheckFailed | None:
    """The error of the first unfinished step of `steps`, if checks of its artifact failed."""
    stopped = next((step for step in steps if finished(step) is None), None)
    artifact = current_artifact(stopped.target()) if stopped else None
    receipt = read_receipt(artifact) if artifact else None
    if stopped is None or receipt is None or receipt.passed:
        return None
    first, *others = receipt.failures
    also = f"; also failed: {', '.join(check.name for check in others)}" if others else ""
    what = f"{stopped.stage} {stopped.partition}, check {first.name}"
    return CheckFailed(what, expected=first.expected, found=first.found + also)


def execute(step: Step, progress: Progress = silent) -> Done:
    """Run the step and its checks. Raises `CheckFailed` if an input was never checked; failed checks of the step
    itself are left in the receipt for the caller to judge.
    """
    for path in step.target().inputs:
        _require_checked(open_artifact(step.target().root, path))
    started = time.perf_counter()
    with _peak_memory() as peak:
        artifact = step.run(progress)
        checks = tuple(step.check(artifact))
    receipt = Receipt(artifact.manifest.sha256, round(time.perf_counter() - started, 3), peak.bytes, checks)
    write_receipt(artifact, receipt)
    return Done(artifact, receipt)


def _require_checked(artifact: Artifact) -> None:
    receipt = read_receipt(artifact)
    if receipt is None or not receipt.passed:
        names = ", ".join(check.name for check in receipt.failures) if receipt else "it was never checked"
        raise CheckFailed(
            f"input {artifact.path}", expected="a receipt with every check passed", found=names, do="rerun its stage"
        )


@dataclass(slots=True)
class _Peak:
    bytes: int = 0


@contextmanager
def _peak_memory() -> Iterator[_Peak]:
    """Sample the resident memory of this process and all its children."""
    peak, stop = _Peak(), Event()
    sampler = Thread(target=_sample, args=(peak, stop), daemon=True)
    sampler.start()
    try:
        yield peak
    finally:
        stop.set()
        sampler.join()


def _sample(peak: _Peak, stop: Event) -> None:
    me = psutil.Process()
    while True:
        resident = 0
        for process in (me, *me.children(recursive=True)):
            try:
                resident += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        peak.bytes = max(peak.bytes, resident)
        if stop.wait(_SAMPLE_SECONDS):
            return
