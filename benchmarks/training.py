"""Training on a CPU: what masks, structure and loading cost of a step, how soon the first step ends, and compilations.

Rows of 4,096 tokens hold documents of log-normal length, as packing makes them; the model is small (4 layers, 256 wide,
8,192 ids), so that what is not matrix products weighs more than it would in a large one. One core.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from _arguments import positive, run
from _cores import choose, hold
from _harness import RUNS, Figure, compare, cpu_seconds, report

BENCH = "training"
ROW_TOKENS = 4096
VOCABULARY = 8192
TEN_MILLION = 10_000_000
_TRAINER = (
    "import sys, torch; from pathlib import Path; from megacpp_assets.training import trainer;"
    "sys.exit(trainer.main(sys.argv[1:]))"
)


def main(arguments: Sequence[str]) -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs", type=positive, default=RUNS, help="measured calls of each side (default: %(default)s)"
    )
    runs = parser.parse_args(arguments).runs
    hold(choose(1))
    sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' data
    import torch

    torch.set_num_threads(1)
    steps(runs)
    loading(runs)
    order(runs)
    compilations()
    start(runs)
    many_rows()


def steps(runs: int) -> None:
    """A step under document masks beside one without, and with structure beside one without."""
    import torch

    from megacpp_assets.training.network.model import model_input
    from tests.training.platformed import with_platforms

    cpu = torch.device("cpu")
    batch, whole = rows_of([400, 1.0]), rows_of([10**9, 0.0])
    step, plain = stepper("core"), stepper("none")
    name = "a step, forward and backward, 4 x 256, a row of 4096 tokens"
    unit = Figure(BENCH, f"{name}: document masks", "CPU-s")
    compare(unit, lambda: step(batch), lambda: step(whole), peer_name="one document a row", runs=runs)
    compare(
        Figure(BENCH, f"{name}: structure", "CPU-s"),
        lambda: step(batch),
        lambda: plain(batch),
        peer_name="tokens alone",
        runs=runs,
    )
    with_ids = with_platforms(batch)
    embedding = stepper("core", platform_embedding=True)
    unit = Figure(BENCH, f"{name}: platforms of documents", "CPU-s")
    compare(unit, lambda: embedding(with_ids), lambda: step(batch), peer_name="without", runs=runs)
    prepared = [cpu_seconds(lambda: model_input(batch, cpu)) for _ in range(runs)]
    taken = [cpu_seconds(lambda: step(batch)) for _ in range(runs)]
    share = 100 * float(np.median(prepared)) / float(np.median(taken))
    report(Figure(BENCH, "preparing a batch, masks and positions included, of a step", "%"), share, runs=runs)


def rows_of(drawn: list[float]):  # type: ignore[no-untyped-def]
    """One row of documents whose lengths are log-normal with this median and sigma."""
    from megacpp_assets.contract.columns import ROLES, STRUCTURE_CHANNELS
    from megacpp_assets.contract.tokens.specials import BOS_ID
    from megacpp_assets.loader.documents import row_documents
    from megacpp_assets.loader.rows import RowBatch

    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.lognormal(np.log(drawn[0]), drawn[1], 400).astype(np.int64) + 8, ROW_TOKENS)
    ids = rng.integers(64, VOCABULARY, (1, ROW_TOKENS)).astype(np.int32)
    starts = np.cumsum(lengths) - lengths
    ids[0, starts[starts < ROW_TOKENS]] = BOS_ID
    valid = np.array([ROW_TOKENS], np.int32)
    channels = {name: rng.integers(0, 9, ids.shape).astype(np.int32) for name in (*STRUCTURE_CHANNELS, ROLES)}
    roles = channels.pop(ROLES) % 3
    return RowBatch(ids, *row_documents(ids, valid), valid, channels, roles)


def stepper(components: str, *, platform_embedding: bool = False) -> Callable[[object], None]:
    """Forward and backward of a model with these structure components, and with the platforms of documents or not."""
    import torch

    from megacpp_assets.contract.recipe.training import TrainingRecipe
    from megacpp_assets.training.network.model import GPT, model_input
    from megacpp_assets.training.network.size import model_config

    torch.manual_seed(0)
    model = GPT(
        model_config(TrainingRecipe(structure_components=components, platform_embedding=platform_embedding), VOCABULARY)
    )

    def step(batch: object) -> None:
        model(model_input(batch, torch.device("cpu"))).backward()  # type: ignore[arg-type]
        model.zero_grad()

    return step


def loading(runs: int) -> None:
    """What a step waits for its batch: reading a row of 4,096 tokens of mapped files, all that follows from it too."""
    from megacpp_assets.loader.rows import open_rows
    from tests.loader.rows_artifact import DATASET, publish_rows, random_rows

    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name:
        made = publish_rows(Path(name), random_rows(rows=16, row_tokens=ROW_TOKENS, vocabulary=VOCABULARY), ROW_TOKENS)
        rows, step = open_rows(made, DATASET), stepper("core")
        batches = [np.array([row]) for row in range(16)]
        waited = [cpu_seconds(lambda: [rows.batch(batch) for batch in batches]) / 16 for _ in range(runs)]
        batch = rows.batch(batches[0])
        taken = [cpu_seconds(lambda: step(batch)) for _ in range(runs)]
    share = 100 * float(np.median(waited)) / float(np.median(taken))
    report(Figure(BENCH, "waiting for a batch, of a step", "%"), share, runs=runs)


def many_rows() -> None:
    """The start of a training process, and what a save costs beside a step, where there are ten million rows."""
    few, many = (training_of(rows) for rows in (1000, TEN_MILLION))
    rows = "10,000,000 rows of 4 tokens"
    for figure, ours, peer in zip(
        (Figure(BENCH, f"start to the end of the first step, {rows}", "s"), Figure(BENCH, f"a save, {rows}", "CPU-s")),
        many,
        few,
        strict=True,
    ):
        report(figure, ours, peer, peer_name="1,000 rows")


def training_of(rows: int) -> tuple[float, float]:
    """Seconds to the end of the first step, and CPU seconds of a save beside a step, of a tiny model on `rows` rows."""
    from _many_rows import root_of

    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name:
        root = root_of(Path(name) / "root", rows)
        begun, _ = trained(root, steps=4, save_every=4)
        _, seldom = trained(root, steps=41, save_every=41)
        _, often = trained(root, steps=40, save_every=1)
    return begun, (often - seldom) / 39


def trained(root: Path, *, steps: int, save_every: int) -> tuple[float, float]:
    """Seconds from the start of a training process to the end of its first step, and its CPU seconds to its end."""
    from megacpp_assets.training.job import JOB_FILE, LIVE_METRICS_FILE, TrainingJob
    from tests.training.world import tiny_spec

    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name:
        folder, seconds = Path(name), [0.0]
        spec = tiny_spec(root, steps=steps, save_every=save_every, validation_rows=0)
        (folder / JOB_FILE).write_bytes(TrainingJob.of(spec).to_bytes())

        def run_it() -> None:
            begun = time.monotonic()
            process = subprocess.Popen([sys.executable, "-c", _TRAINER, "--job", str(folder / JOB_FILE)])
            seconds[0] = until_written(folder / LIVE_METRICS_FILE, lambda: process.poll() is not None) - begun
            if process.wait():
                raise SystemExit(f"training ended with {process.returncode}")

        taken = cpu_seconds(run_it)
    return seconds[0], taken


def order(runs: int) -> None:
    """What finding the rows of a step costs where there are ten million, the first step aside."""
    from megacpp_assets.loader.order import epoch_order, rows_of_step

    def later_steps() -> None:
        for step in range(1, 1001):
            rows_of_step(TEN_MILLION, 8, seed=0, step=step)

    first = cpu_seconds(lambda: epoch_order(TEN_MILLION, 0, 0))
    report(Figure(BENCH, "drawing the order of an epoch of 10,000,000 rows", "CPU-s"), first)
    found = float(np.median([cpu_seconds(later_steps) for _ in range(runs)]))
    report(Figure(BENCH, "finding the 8 rows of a step among 10,000,000", "CPU-ms"), found, runs=runs)


def compilations() -> None:
    """How often a compiled model is compiled over twenty batches that differ in documents."""
    import torch
    from torch._dynamo.testing import CompileCounterWithBackend

    from megacpp_assets.contract.recipe.training import TrainingRecipe
    from megacpp_assets.training.network.model import GPT, model_input
    from megacpp_assets.training.network.size import model_config

    model, counter = (
        GPT(model_config(TrainingRecipe(layers=1, hidden=32), VOCABULARY)),
        CompileCounterWithBackend("eager"),
    )
    network = torch.compile(model, dynamic=False, backend=counter)
    for median in range(100, 2100, 100):
        network(model_input(rows_of([median, 1.0]), torch.device("cpu"), one_graph=True)).backward()
    report(Figure(BENCH, "compilations over 20 batches that differ in documents", "times"), counter.frame_count)


def start(runs: int) -> None:
    """From the start of a training process to its first step, by itself and by the local launcher, in turn."""
    bare, beyond = [], []
    for _ in range(runs):
        alone, launched = seconds_to_first_step(launch=False), seconds_to_first_step(launch=True)
        bare.append(alone)
        beyond.append(launched - alone)
    unit = "s by the clock"
    first = Figure(BENCH, "start of a training process to the end of its first step", unit)
    report(first, float(np.median(bare)), runs=runs)
    more = Figure(BENCH, "call of the stage to the first step by the local launcher, beyond a bare process", unit)
    report(more, float(np.median(beyond)), runs=runs)


def seconds_to_first_step(*, launch: bool) -> float:
    """By the clock, until the first metrics are there; what trains is ended then."""
    from megacpp_assets.launch.client import records
    from megacpp_assets.trained.stage import run as run_stage
    from megacpp_assets.trained.stage import scratch_folder
    from megacpp_assets.training.job import JOB_FILE, LIVE_METRICS_FILE, TrainingJob
    from megacpp_assets.training.processes.training_processes import TrainingProcesses
    from tests.training.world import tiny_root, tiny_spec

    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name, ThreadPoolExecutor(1) as beside:
        folder = Path(name)
        spec = tiny_spec(tiny_root(folder / "root"), steps=2000, save_every=2000)
        job = TrainingJob.of(spec)
        if launch:
            begun = time.monotonic()
            running = beside.submit(run_stage, spec)
            seconds = until_written(scratch_folder(spec) / LIVE_METRICS_FILE, running.done) - begun
            records.cancel(spec.root, f"{job.name}-1")
            running.exception()  # that it was cancelled
            return seconds
        (folder / JOB_FILE).write_bytes(job.to_bytes())
        begun = time.monotonic()
        with TrainingProcesses(job, folder) as training_processes:
            return until_written(folder / LIVE_METRICS_FILE, lambda: training_processes.code() is not None) - begun


def until_written(file: Path, ended: Callable[[], bool]) -> float:
    """When `file` had something in it; `SystemExit` where that ended which writes it."""
    while not (file.is_file() and file.stat().st_size):
        if ended():
            raise SystemExit("the training ended before its first step")
        time.sleep(0.005)
    return time.monotonic()


if __name__ == "__main__":
    run(main)
