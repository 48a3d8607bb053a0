"""Launching the training process through Dagster Pipes: its log lines and messages stream into the run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from megacpp_assets.contract.errors import TrainingFailed
from megacpp_assets.training.launch import GRACE_SECONDS, Launch


def pipes_launch(context: dg.AssetExecutionContext) -> Launch:
    """A launcher for the step of `context`. `TrainingFailed` if the process does not end well."""

    def launch(command: Sequence[str], directory: Path) -> None:
        try:
            with warnings.catch_warnings():
                # Dagster warns that a part of its own Pipes client is in preview; nothing a user could act on.
                warnings.simplefilter("ignore", dg.PreviewWarning)
                client = dg.PipesSubprocessClient(termination_timeout_seconds=GRACE_SECONDS)
                client.run(command=list(command), context=context)
        except dg.DagsterError as error:
            raise TrainingFailed(
                "training process", expected="exit code 0", found=str(error), do="run it again"
            ) from error

    return launch
