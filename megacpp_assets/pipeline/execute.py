"""Runs one step: its inputs must have passed their checks; it runs, is checked, and leaves a receipt."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from threading import Event, Thread

import psutil

from megacpp_assets.contract.errors import CheckFailed, LineageGap
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.pipeline.cluster_step import make
from megacpp_assets.pipeline.receipts import Receipt, read_receipt, write_receipt
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.storage.artifact import Artifact, find_artifact, open_artifact
from megacpp_assets.storage.publish import Target, current_artifact, remove_artifact
from megacpp_assets.storage.remote import lacks, store
from megacpp_assets.storage.root.locks import writing

_SAMPLE_SECONDS = 0.2
_SAMPLES_A_SEARCH = 5
"""Finding the children of a process means reading all processes of the machine, so it is not done for each sample."""


@dataclass(frozen=True, slots=True)
class Done:
    """A step that has run, with its receipt."""

    artifact: Artifact
    receipt: Receipt


def finished(step: Step) -> Done | None:
    """Return the result of `step` if its artifact is current and passed all checks of its stage, else None.

    An artifact that a new check has not seen is not finished: the next run checks it and does not make it again. Only
    data files that changed since they were last read completely are read.
    """
    artifact = current_artifact(step.target())
    receipt = read_receipt(artifact) if artifact else None
    if artifact is None or receipt is None or not receipt.passed or not step.check_names <= receipt.check_names:
        return None
    # A step of a root in a bucket is finished when the bucket has its artifact.
    return None if lacks(artifact) else Done(artifact, receipt)


def examine_steps(steps: Iterable[Step], *, anew: str = "") -> Iterator[tuple[Step, Done | None]]:
    """Yield each step with its result, or with None if it must run.

    A step must run if it is outdated, if it depends on a step that must run, or if it belongs to the stage `anew`.
    """
    stale: set[str] = set()
    for step in steps:
        runs = step.stage.name == anew or not stale.isdisjoint(step.waits_for())
        done = None if runs else finished(step)
        if done is None:
            stale.add(step.name)
        yield step, done


def result_of(step: Step) -> Done:
    """Return what a worker has just made of `step`, even if its checks failed. `LineageGap` if the receipt is
    missing.
    """
    target = step.target()
    artifact = open_artifact(target.root, target.path)
    receipt = read_receipt(artifact)
    if receipt is None:
        raise LineageGap(f"{step.name}", expected="a receipt of its checks", found="none", do="run it again")
    return Done(artifact, receipt)


def require_passed(step: Step, done: Done) -> None:
    """Raise `CheckFailed`, with the first blocking check that failed and the names of the others, unless all passed."""
    if done.receipt.passed:
        return
    first, *others = done.receipt.failures
    also = f"; also failed: {', '.join(check.name for check in others)}" if others else ""
    raise CheckFailed(
        f"{step.name}, check {first.name}",
        expected=first.expected,
        found=first.found + also,
        do=_advice(step.rules_behind(first.name)),
    )


def _advice(rules: str) -> str:
    """Return what to do after a check failed that the `rules` of the recipe can make fail; "" if none can."""
    first = f"change {rules} of the recipe, if its rules are too strict here; " if rules else ""
    return f"{first}the next run makes it anew from its inputs; if it fails again, the inputs or the code are at fault"


def execute(step: Step, progress: Progress = silent) -> Done:
    """Run the step and its checks. A step whose checks failed before is made again.

    Raises `CheckFailed` if an input was never checked. If the checks of the step itself fail, the receipt says so and
    the caller decides.
    """
    target = step.target()
    for path in target.inputs:
        _require_checked(open_artifact(target.root, path))
    _remove_failed(target)
    started, own, children = time.perf_counter(), _cpu(resource.RUSAGE_SELF), _cpu(resource.RUSAGE_CHILDREN)
    with _peak_memory() as peak:
        made = make(step, progress)
        artifact = made.artifact.fetched()
        checks = tuple(step.check(artifact))
    receipt = Receipt(
        artifact.manifest.sha256,
        round(time.perf_counter() - started, 3),
        peak.bytes,
        checks,
        cpu_seconds=round(_cpu(resource.RUSAGE_SELF) - own, 3),
        children_cpu_seconds=round(_cpu(resource.RUSAGE_CHILDREN) - children + made.elsewhere_s, 3),
    )
    write_receipt(artifact, receipt)
    if receipt.passed:
        store(artifact)
    return Done(artifact, receipt)


def _remove_failed(target: Target) -> None:
    """Remove an artifact whose checks failed: it would count as current, and fail its checks again for ever."""
    with writing(target.root, target.path):
        artifact = find_artifact(target.root, target.path)
        receipt = read_receipt(artifact) if artifact else None
        if artifact and receipt and not receipt.passed:
            remove_artifact(artifact)


def _require_checked(artifact: Artifact) -> None:
    receipt = read_receipt(artifact)
    if receipt is None or not receipt.passed:
        names = ", ".join(check.name for check in receipt.failures) if receipt else "it was never checked"
        raise CheckFailed(
            f"input {artifact.path}", expected="a receipt with every check passed", found=names, do="rerun its stage"
        )


def _cpu(whose: int) -> float:
    """CPU seconds, of the user and the system, of this process or of its children that have ended."""
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime


@dataclass(slots=True)
class _Peak:
    bytes: int = 0


@contextmanager
def _peak_memory() -> Iterator[_Peak]:
    """Sample the resident memory of this process and all its children within the block."""
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
    for turn in count():
        if turn % _SAMPLES_A_SEARCH == 0:
            processes = (me, *me.children(recursive=True))
        peak.bytes = max(peak.bytes, sum(map(_resident_bytes, processes)))
        if stop.wait(_SAMPLE_SECONDS):
            return


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
