"""What a run says now and then about its running steps if its output is a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from megacpp_assets.cli.screen.bars import Bars, wide_console
from megacpp_assets.cli.screen.progress_lines import ProgressLines
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.lock.corpus_lock import CorpusLock
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.pipeline.stages import STAGES
from megacpp_assets.pipeline.steps import Step
from megacpp_assets.trained import stage
from megacpp_assets.training.checkpoints.record import StepMetrics
from megacpp_assets.training.job import LIVE_METRICS_FILE


@dataclass
class Training:
    """A training of base/4k whose metrics a test writes, and the lines about it."""

    root: Path
    now: float = 0.0
    step: Step = field(init=False)
    lines: ProgressLines = field(init=False)

    def __post_init__(self) -> None:
        corpus = Corpus(self.root, CorpusLock("d", "0" * 64), load_recipe("sample"))
        self.step = Step(corpus, STAGES["trained_checkpoint"], "base/4k")
        self.lines = ProgressLines(clock=lambda: self.now)
        self.lines.begin(self.step)

    def reach(self, steps: int, now: float) -> str:
        """Return the line about the training when `steps` of 600 steps are made; each has 1,000 tokens."""
        folder = stage.scratch_folder(stage.spec(self.step.corpus, self.step.partition))
        folder.mkdir(parents=True, exist_ok=True)
        made = (StepMetrics(number, 9.0 - number / 100, 1000).to_line() for number in range(1, steps + 1))
        (folder / LIVE_METRICS_FILE).write_text("".join(made))
        self.now = now
        return self.lines.line(self.step, steps, 600)


@pytest.fixture
def training(tmp_path: Path) -> Training:
    """A training that starts at second 0."""
    return Training(tmp_path)


def test_a_line_has_step_loss_tokens_a_second_and_the_time_left(training: Training) -> None:
    assert not training.reach(1, now=10.0)
    assert training.reach(101, now=60.0).split(maxsplit=2) == [
        "trained_checkpoint",
        "base/4k",
        "step 101 of 600, loss 7.990, 2,000 tokens/s, 0:04:10 left",
    ]


def test_there_is_at_most_one_line_in_thirty_seconds(training: Training) -> None:
    seconds = [second for second in range(1, 200) if training.reach(second, now=float(second))]
    assert seconds == [30, 60, 90, 120, 150, 180]


def test_the_rate_of_a_resumed_training_does_not_count_the_steps_of_the_earlier_run(training: Training) -> None:
    assert not training.reach(500, now=20.0)
    assert "step 510 of 600, loss 3.900, 1,000 tokens/s, 0:01:30 left" in training.reach(510, now=30.0)


def test_a_training_before_its_first_step_says_that_no_step_is_made(training: Training) -> None:
    assert training.reach(0, now=40.0).endswith("0 of 600")
    assert training.reach(1, now=80.0).endswith("step 1 of 600, loss 8.990")


def test_a_step_of_another_stage_has_a_line_with_its_units(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path, CorpusLock("d", "0" * 64), load_recipe("sample"))
    step, now = Step(corpus, STAGES["semantic_jsonl"], "fmt@11.0.0"), 0.0
    lines = ProgressLines(clock=lambda: now)
    lines.begin(step)
    now = 31.0
    assert lines.line(step, 1200, 60_000).split(maxsplit=2) == ["semantic_jsonl", "fmt@11.0.0", "1,200 of 60,000"]


def test_a_file_gets_these_lines_and_a_terminal_gets_bars(
    training: Training, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, expected in (("", 1), ("1", 0)):
        monkeypatch.setenv("FORCE_COLOR", variable)
        with Bars({"trained_checkpoint": 1}, wide_console(), ProgressLines(clock=lambda: training.now)) as bars:
            training.now = 0.0
            bars.step_starts(training.step)
            training.reach(7, now=40.0)
            bars.step_progressed(training.step, 7, 600)
        assert capsys.readouterr().out.count("step 7 of 600, loss 8.930") == expected
