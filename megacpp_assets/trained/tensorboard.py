"""Writes a training's metrics as TensorBoard event files while they arrive, from any launcher.

Event files hold times, so they are not artifacts. No stage reads them, and they may be removed at any time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.root import layout
from megacpp_assets.trained.watch import watching
from megacpp_assets.training.checkpoints.record import parse_metrics
from megacpp_assets.training.checkpoints.resume import sealed_checkpoints
from megacpp_assets.training.schedule import learning_rate
from megacpp_assets.training.spec import TrainedCheckpointSpec, data_paths

FOLDER: Final = "tensorboard"
_TERA: Final = 1e12
_MEASURED: Final = "validation_bits_per_byte"


def events_folder(spec: TrainedCheckpointSpec) -> Path:
    """Return the folder for the event files of a mixture. `tensorboard --logdir` takes it, or any folder above it."""
    return spec.root / FOLDER / layout.checkpoints_path(spec.dataset, spec.mixture).partition("/")[2]


@contextmanager
def events_of(spec: TrainedCheckpointSpec, metrics: Path) -> Iterator[None]:
    """Write each new step of the file `metrics` while the block runs, and then the bits per byte of each checkpoint.

    Without `launch.tensorboard` in the recipe it writes nothing. It replaces the files of an earlier run, because
    `metrics` repeats the steps of that run. `EnvironmentLacks` if the package tensorboardX is not installed.
    """
    if not spec.launch.tensorboard:
        yield
        return
    folder = events_folder(spec)
    writer = _writer(folder)
    events = Events(spec, metrics, writer, work_of(spec))
    try:
        with watching(metrics, spec.recipe.steps, events.write_new_steps):
            yield
    finally:
        events.write_new_steps()
        events.write_validation()
        writer.close()


def _writer(folder: Path) -> Any:
    try:
        from tensorboardX import SummaryWriter  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        do = "pip install 'megacpp-assets[tensorboard]', or set launch.tensorboard to false"
        raise EnvironmentLacks(
            "launch.tensorboard", expected="the package tensorboardX", found="none", do=do
        ) from error
    if folder.exists():
        shutil.rmtree(folder)
    return SummaryWriter(str(folder), flush_secs=1)


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one step.

    `tokens` is the mean number of tokens per step without padding, and `operations` the floating-point operations per
    token. `peak` is the number of operations per second of all devices together; 0 if the recipe does not say.
    """

    tokens: float
    operations: float
    peak: float

    def rates(self, steps: int, seconds: float) -> dict[str, float]:
        """Return scalars by tag for `steps` steps that took `seconds`."""
        tokens = self.tokens * steps / seconds
        found = {"speed/tokens_per_second": tokens, "speed/model_teraflops": tokens * self.operations / _TERA}
        return found | ({"speed/mfu": tokens * self.operations / self.peak} if self.peak else {})


def work_of(spec: TrainedCheckpointSpec) -> Work:
    """Return the work of a step of `spec`. Its inputs must exist."""
    from megacpp_assets.training.network.size import model_config, operations_per_token  # noqa: PLC0415 - torch

    megatron, tokenizer = (open_artifact(spec.root, path) for path in data_paths(spec))
    config = model_config(spec.recipe, int(tokenizer.manifest.stats["vocabulary_size"]))
    stats = megatron.manifest.stats
    tokens = spec.recipe.batch_rows * int(stats["tokens"]) / int(stats["rows"])
    peak = spec.launch.peak_teraflops * _TERA * spec.recipe.processes
    return Work(tokens, float(operations_per_token(config)), peak)


@dataclass
class Events:
    """Writes the metrics file as scalars. `known` is the number of steps that are written already."""

    spec: TrainedCheckpointSpec
    metrics: Path
    writer: Any
    work: Work
    known: int = 0
    _at: float = 0.0

    def write_new_steps(self, done: int = 0, total: int = 0) -> None:
        """Write the steps of the file that are not written yet. The arguments are those of a progress callback."""
        del done, total
        if not self.metrics.is_file():
            return
        at, data = self.metrics.stat().st_mtime, self.metrics.read_bytes()
        steps = parse_metrics(data[: data.rfind(b"\n") + 1], str(self.metrics))
        for each in steps[self.known :]:
            self.writer.add_scalar("loss/train_nats_per_token", each.loss, each.step)
            self.writer.add_scalar("tokens/step", each.tokens, each.step)
            self.writer.add_scalar("learning_rate", learning_rate(self.spec.recipe, each.step - 1), each.step)
        if self.known and self._at < at and self.known < len(steps):
            # The time since the previous steps were written. It includes saving and validation.
            for tag, value in self.work.rates(len(steps) - self.known, at - self._at).items():
                self.writer.add_scalar(tag, value, steps[-1].step)
        if len(steps) > self.known:
            self.known, self._at = len(steps), at

    def write_validation(self) -> None:
        """Write the validation figures of the checkpoints that exist."""
        for checkpoint in sealed_checkpoints(self.spec, range(1, self.spec.recipe.steps + 1)):
            stats = checkpoint.manifest.stats
            if _MEASURED in stats:
                self.writer.add_scalar(f"validation/{_MEASURED}", stats[_MEASURED], stats["steps"])
