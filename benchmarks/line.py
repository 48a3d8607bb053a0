"""The whole line without training, beside bare libclang parses of the same files with the same shared headers.

`megacpp run` over fmt and googletest as the catalogue pins them, from nothing to the Megatron files of one mixture,
checks included; the peer only parses. One core for both. Beside it stand the tokens that it packs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import _libclang
from _arguments import run
from _cores import choose, hold
from _harness import Figure, Meter, cpu_seconds, report
from semantic import REPOSITORIES, InProcess, checked_out, entries, index

BENCH = "line"
_MEGACPP = "from megacpp_assets.cli import main; main()"


def main(arguments: Sequence[str]) -> None:
    """Print two lines."""
    argparse.ArgumentParser(description=__doc__).parse_args(arguments)
    hold(choose(1))
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as name:
        root = Path(name)
        ours = cpu_seconds(lambda: whole_line(root))
        name_of_all = " and ".join(REPOSITORIES)
        figure = Figure(BENCH, f"pinned repositories to Megatron files, {name_of_all}, checks included", "CPU-s")
        report(figure, ours, bare_parses(), peer_name="libclang 18.1.1, the same parses alone")
        report(Figure(BENCH, "tokens that train, of them", "tokens"), tokens_of(root))


def whole_line(root: Path) -> None:
    """The command as a user gives it, into an empty data root."""
    wanted = ["--repos", ",".join(REPOSITORIES), "--specialists", "base", "--phases", "4k"]
    command = [sys.executable, "-c", _MEGACPP, "run", *wanted, "--until", "megatron_bin_idx"]
    environment = os.environ | {"MEGACPP_DATA_ROOT": str(root), "MEGACPP_WORKERS": "1"}
    if subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode:
        raise SystemExit("the line failed, as it says above")


def bare_parses() -> float:
    """CPU seconds of the parses alone."""
    meter = Meter()
    for entry in entries(()):
        with checked_out(entry, every=1) as checkout:
            _libclang.load_library(checkout.toolchain)
            with _libclang.beside(meter):
                index(checkout, InProcess())
    return meter.peer_s


def tokens_of(root: Path) -> float:
    """Tokens of the training split."""
    (manifest,) = root.glob("megatron/*/base/4k/manifest.json")
    return float(json.loads(manifest.read_bytes())["stats"]["tokens"])


if __name__ == "__main__":
    run(main)
