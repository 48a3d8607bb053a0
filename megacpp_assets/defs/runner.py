"""Running the line through Dagster: one run per partition, stale steps only, in the order that data flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import dagster as dg

from megacpp_assets.contract.errors import CheckFailed, MegacppError
from megacpp_assets.contract.names import STAGES
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.defs.build import JOBS, build_definitions
from megacpp_assets.defs.event_log import event_log
from megacpp_assets.defs.instance import open_instance
from megacpp_assets.defs.partitions import mixture_key, register
from megacpp_assets.pipeline.corpus import Corpus
from megacpp_assets.pipeline.execute import Done, finished, first_failure
from megacpp_assets.pipeline.listener import Watch, listening
from megacpp_assets.pipeline.pinning import pin_tokenizer
from megacpp_assets.pipeline.steps import Step, mixture_step, repo_step, tokenizer_step
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.layout import tokenizer_path
from megacpp_assets.tokenizer.stage import pin_of

LAUNCHER_TAG = "megacpp/launcher"
LAUNCHER = "megacpp run"


@dataclass(frozen=True, slots=True)
class Work:
    """One Dagster run: a job, its partition, and the steps it may execute."""

    job: str
    partition: str | None
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for: mixtures to build, and the last stage to run."""

    mixtures: tuple[Mixture, ...]
    until: str = STAGES[-1]

    def wants(self, stage: str) -> bool:
        """Whether `stage` is at or before the last one."""
        return STAGES.index(stage) <= STAGES.index(self.until)


def run_plan(corpus: Corpus, plan: Plan, watch: Watch) -> Corpus:
    """Bring everything that the plan asks for up to date; raise the first failure as a `MegacppError`.

    `watch` hears of every step, those that are done already included. Returns the corpus with its tokenizer pinned.
    """
    with _opened(corpus) as dagster:
        for work in _repository_work(corpus, plan, "index_repository"):
            _run(dagster, work, watch)
        if plan.wants("tokenizer"):
            corpus = _train(dagster, corpus, watch)
        for work in _repository_work(corpus, plan, "encode_repository"):
            _run(dagster, work, watch)
        for mixture in plan.mixtures:
            stages = [stage for stage in JOBS["build_mixture"] if plan.wants(stage)]
            steps = tuple(mixture_step(corpus, stage, mixture) for stage in stages)
            _run(dagster, Work("build_mixture", mixture_key(mixture), steps), watch)
    return corpus


def run_tokenizer(corpus: Corpus, watch: Watch) -> Corpus:
    """Fetch the pinned repositories and train their tokenizer, which needs no more than that; pin it once it passed."""
    with _opened(corpus, anew=True) as dagster:
        for work in _repository_work(corpus, Plan((), until="pinned_repos"), "index_repository"):
            _run(dagster, work, watch)
        return _train(dagster, corpus.unpinned(), watch)


def _train(dagster: _Dagster, corpus: Corpus, watch: Watch) -> Corpus:
    _run(dagster, Work("train_tokenizer", None, (tokenizer_step(corpus),)), watch)
    return pin_published(corpus)


def _repository_work(corpus: Corpus, plan: Plan, job: str) -> Iterator[Work]:
    stages = [stage for stage in JOBS[job] if plan.wants(stage)]
    for repo in corpus.repo_refs:
        yield Work(job, repo.key, tuple(repo_step(corpus, stage, repo) for stage in stages))


def _run(dagster: _Dagster, work: Work, watch: Watch) -> None:
    """Execute the first stale step of `work` and those after it in one run; nothing where all are done."""
    stale = list(work.steps)
    while stale and (done := finished(stale[0])) is not None and dagster.has_recorded(stale[0], done):
        watch.already_done(stale.pop(0), done)
    if stale:
        with listening(watch.step_starts):
            dagster.materialize(work, stale)
    for step in stale:
        watch.step_ended(step, _require_finished(step))


def _require_finished(step: Step) -> Done:
    done = finished(step)
    if done is None:
        raise CheckFailed(f"{step.stage} {step.partition}", expected="a complete, checked artifact", found="none")
    return done


def pin_published(corpus: Corpus) -> Corpus:
    """The corpus with its published tokenizer pinned; `TokenizerDrift` if another is."""
    artifact = open_artifact(corpus.root, tokenizer_path(corpus.dataset))
    seen = tuple(reference.path.rpartition("/")[2] for reference in artifact.manifest.inputs)
    return pin_tokenizer(corpus, replace(pin_of(artifact), repos=seen))


class _Dagster:
    """An instance; its definitions are built when the first stale step is met: a rerun that does nothing is quick."""

    def __init__(self, instance: dg.DagsterInstance, corpus: Corpus, anew: bool) -> None:
        self._instance = instance
        self._corpus = corpus
        self._anew = anew
        self._recorded = event_log(instance)
        self._definitions: dg.Definitions | None = None

    def has_recorded(self, step: Step, done: Done) -> bool:
        """Whether the event log holds what `step` made. A kill between a receipt and its event leaves none, and an
        audit would miss it; the step is then recorded, with nothing made again."""
        return done.artifact.manifest.sha256 in self._recorded(step.stage, step.partition)

    def materialize(self, work: Work, steps: Sequence[Step]) -> None:
        """Materialize `steps` in one Dagster run. Raises a step's own error, or `CheckFailed`."""
        if self._definitions is None:
            self._definitions = self._prepare()
        try:
            self._definitions.resolve_job_def(work.job).execute_in_process(
                instance=self._instance,
                partition_key=work.partition,
                asset_selection=[dg.AssetKey(step.stage) for step in steps],
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                tags={LAUNCHER_TAG: LAUNCHER},
            )
        except dg.DagsterExecutionStepExecutionError as error:
            if isinstance(error.user_exception, MegacppError):
                raise error.user_exception from error
            raise
        except dg.DagsterError as error:
            what = f"{steps[0].stage} {steps[0].partition}"
            unknown = CheckFailed(what, expected="every blocking check to pass", found=str(error))
            raise first_failure(steps) or unknown from error

    def _prepare(self) -> dg.Definitions:
        register(self._instance, self._corpus.repo_refs)
        _fail_dead_runs(self._instance)
        return build_definitions(self._corpus.root, self._corpus.dataset, anew=self._anew)


@contextmanager
def _opened(corpus: Corpus, *, anew: bool = False) -> Iterator[_Dagster]:
    with open_instance(corpus.root) as instance:
        yield _Dagster(instance, corpus, anew)


def _fail_dead_runs(instance: dg.DagsterInstance) -> None:
    """Runs of an earlier `megacpp run` that was killed still look started; only one of us runs at a time."""
    unfinished = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED], tags={LAUNCHER_TAG: LAUNCHER})
    for run in instance.get_runs(unfinished):
        instance.report_run_failed(run, "the process was killed")
