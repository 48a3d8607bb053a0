"""Keeps the output of runs in `<root>/dagster/run_logs`, where the UI shows it as stdout and stderr of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Final, Self

import dagster as dg

from megacpp_assets.defs.dagster_private import (
    CapturedLogContext,
    ComputeIOType,
    ConfigurableClassData,
    LocalComputeLogManager,
)
from megacpp_assets.defs.home.instance import served_root
from megacpp_assets.defs.showing.paths import home_of

FOLDER: Final = "run_logs"
"""The folder, below Dagster's home."""
FILE_KEY: Final = "command"
"""Dagster's name of the only log of a command's run."""
_EXTENSIONS: Final = ((1, "out"), (2, "err"))
"""File descriptors, and the names that Dagster gives to their files."""


class DataRootLogs(LocalComputeLogManager):
    """Log files of the data root that this process serves.

    Dagster's own class starts two more processes for each run to copy its output. This one redirects the output.
    """

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """No settings: the environment names the data root."""
        return {}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> Self:
        """Dagster calls this with the settings, which are empty."""
        return cls(str(home_of(served_root()) / FOLDER), inst_data=inst_data)

    @contextmanager
    def capture_logs(self, log_key: Sequence[str]) -> Iterator[CapturedLogContext]:
        """Within the block, output of this process and its children goes to the files of `log_key`."""
        with ExitStack() as redirected:
            for descriptor, extension in _EXTENSIONS:
                path = Path(self.get_captured_local_path(log_key, extension))
                path.parent.mkdir(parents=True, exist_ok=True)
                redirected.enter_context(_redirected(descriptor, path))
            yield CapturedLogContext(log_key)
        self.mark_complete(log_key)

    def mark_complete(self, log_key: Sequence[str]) -> None:
        """Tell the UI that nothing more will be written for `log_key`."""
        Path(self.get_captured_local_path(log_key, "complete")).touch()


@contextmanager
def _redirected(descriptor: int, path: Path) -> Iterator[None]:
    _flush()
    before = os.dup(descriptor)
    with path.open("ab") as file:
        os.dup2(file.fileno(), descriptor)
    try:
        yield
    finally:
        _flush()
        os.dup2(before, descriptor)
        os.close(before)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


@contextmanager
def command_log(instance: dg.DagsterInstance, run_id: str) -> Iterator[IO[Any] | None]:
    """Return the log file of a command's run, or None if the instance keeps no logs."""
    manager = instance.compute_log_manager
    key = manager.build_log_key_for_run(run_id, FILE_KEY)
    with manager.open_log_stream(key, ComputeIOType.STDOUT) as stream:
        yield stream
    if isinstance(manager, DataRootLogs):
        manager.mark_complete(key)
