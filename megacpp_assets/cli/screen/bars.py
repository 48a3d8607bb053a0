"""Progress bars of a run, and the facts of each step for the closing table."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from megacpp_assets.cli.screen.progress_lines import ProgressLines
from megacpp_assets.cli.screen.table import held
from megacpp_assets.cli.screen.words import counted
from megacpp_assets.pipeline.execute import Done
from megacpp_assets.pipeline.steps import Step

_LOG_WIDTH = 140


def wide_console() -> Console:
    """Return the console. A log file gets lines that are wide enough for the table."""
    console = Console()
    return console if console.is_terminal else Console(width=_LOG_WIDTH)


class Bars:
    """A `Watch` that draws one bar per stage (partitions) and one for each running step (its own units).

    An output that is no terminal gets lines instead: about steps that ended, and now and then about running ones.
    """

    def __init__(self, partitions: dict[str, int], console: Console, lines: ProgressLines | None = None) -> None:
        self.finished: list[tuple[Step, Done]] = []
        self.made: set[str] = set()
        self._now: dict[str, dict[str, str]] = {stage: {} for stage in partitions}
        self._console = console
        self._lines = lines or ProgressLines()
        self._bars = Progress(
            TextColumn("{task.description:<22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("{task.fields[now]}"), console=console, transient=True,
        )  # fmt: skip
        self._stages = {
            stage: self._bars.add_task(stage, total=count, now="", start=False) for stage, count in partitions.items()
        }

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def step_was_current(self, step: Step, done: Done) -> None:
        """See `Watch`."""
        self.finished.append((step, done))
        self._show(step, "")
        self._bars.advance(self._stages[step.stage.name])

    def step_waits(self, step: Step, found: str) -> None:
        """See `Watch`."""
        words = f"{step.name}: waits for a slot of {step.resource}, {found}"
        self._console.print(words, markup=False, highlight=False)

    def step_starts(self, step: Step) -> None:
        """See `Watch`."""
        self._lines.begin(step)
        self._bars.start_task(self._stages[step.stage.name])
        self._show(step, step.partition)

    def step_progressed(self, step: Step, done: int, total: int) -> None:
        """See `Watch`."""
        self._show(step, f"{step.partition} {done}/{total}")
        if not self._console.is_terminal and (line := self._lines.line(step, done, total)):
            self._console.print(line, markup=False, highlight=False)

    def _show(self, step: Step, words: str) -> None:
        """Show the running steps of the step's stage side by side."""
        stage = step.stage.name
        self._now[stage][step.partition] = words
        self._bars.update(self._stages[stage], now="  ".join(filter(None, self._now[stage].values())))

    def step_ended(self, step: Step, done: Done) -> None:
        """See `Watch`."""
        self.finished.append((step, done))
        self.made.add(step.name)
        self._show(step, "")
        self._bars.advance(self._stages[step.stage.name])
        if not self._console.is_terminal:
            words = f"{step.stage.name:<20} {step.partition:<28} {done.receipt.seconds:7.1f} s"
            if (documents := held(done, "documents")) is not None:
                words = f"{words}  {counted(documents, 'document')}"
            self._console.print(words, highlight=False)
