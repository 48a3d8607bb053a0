"""A run in a real terminal: bars move while steps run, and Ctrl-C ends everything with one sentence."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from roots import command, environment

pytestmark = pytest.mark.line
_PATIENCE_SECONDS = 240
_CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass
class Terminal:
    """`megacpp ARGUMENTS` in a terminal of its own, as a shell would start it."""

    root: Path
    arguments: tuple[str, ...]
    shown: bytes = b""
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._keyboard, screen = pty.openpty()
        self.process = subprocess.Popen(
            command(*self.arguments),
            env=environment(self.root) | {"TERM": "xterm", "LINES": "40"},
            stdin=screen,
            stdout=screen,
            stderr=screen,
            preexec_fn=os.setsid,  # noqa: PLW1509 - the terminal must be the one that its signals come from
        )
        os.close(screen)

    def watch(self, until: Callable[[str], bool]) -> str:
        """What has been shown when `until` holds of it, or when the process has ended."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not until(self.text):
            assert time.monotonic() < deadline, self.text[-2000:]
            if select.select([self._keyboard], [], [], 0.2)[0]:
                try:
                    self.shown += os.read(self._keyboard, 1 << 16)
                except OSError:  # the other end is closed
                    break
            elif self.process.poll() is not None:
                break
        return self.text

    @property
    def text(self) -> str:
        return _CONTROL.sub(b"", self.shown).decode(errors="replace")

    def interrupt(self, number: signal.Signals) -> list[psutil.Process]:
        """Send `number` as the driver sends Ctrl-C: to the foreground process group. The processes at work then."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        os.killpg(self.process.pid, number)
        return family


def test_bars_move_while_a_step_runs(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "data", ("run", "--repos", "sample-kernel", "--until", "semantic_jsonl"))
    shown = terminal.watch(lambda text: "│ semantic_jsonl" in text)
    assert terminal.process.wait(_PATIENCE_SECONDS) == 0
    moments = re.findall(r"sample-kernel@v1\.0\.0 (\d+)/(\d+)", shown)
    assert len(set(moments)) >= 3, "the bar of the step never moved"
    assert "1/1" in shown


@pytest.mark.parametrize(
    ("stage", "number"),
    [("semantic_jsonl", signal.SIGINT), pytest.param("trained_checkpoint", signal.SIGTERM, marks=pytest.mark.campaign)],
)
def test_ctrl_c_or_a_request_to_end_is_one_sentence_and_leaves_no_process(
    tmp_path: Path, small_line: Path, stage: str, number: signal.Signals
) -> None:
    repositories = "sample-kernel"
    if stage == "trained_checkpoint":
        shutil.copytree(small_line, tmp_path / "data", symlinks=True)
        repositories = "sample-format,sample-kernel"
    arguments = ("--repos", repositories, "--specialists", "base", "--until", stage)
    terminal = Terminal(tmp_path / "data", ("run", *arguments))
    at_work = re.compile(rf"{stage} [^\r\n]*(sample-kernel@v1\.0\.0|base/4k) [1-9]\d*/")
    assert at_work.search(terminal.watch(lambda text: bool(at_work.search(text))))
    family = terminal.interrupt(number)
    said = terminal.watch(lambda _: False)
    assert terminal.process.wait(_PATIENCE_SECONDS) == 128 + number
    assert said.rstrip().endswith("interrupted; run the same command again to continue")
    assert "Traceback" not in said
    assert family and not psutil.wait_procs(family, timeout=_PATIENCE_SECONDS)[1]
    saved = list((tmp_path / "data").glob("checkpoints/*/base/4k/step_*/_COMPLETE"))
    assert bool(saved) == (stage == "trained_checkpoint")
