"""What a way to train is worth: bits per byte of held-out roots, arm beside arm, at several lengths and seeds.

An arms file (TOML) names the recipe, the lengths in tokens, the seeds and the arms; benchmarks/arms/ has some. The
first arm is what the others are compared with, seed by seed: runs of one seed read the same rows in the same order, and
what two models share begins with the same values. The data were made before (`megacpp run --until megatron_bin_idx`).
`--set training.device=cuda` trains on a GPU, which --cores runs share.
Every measurement and the state of every run are kept in --work: the same command resumes after a kill, and unless the
learning rate decays a longer length resumes from a shorter one. --work also gets the table (worth.md) and the curves
with 95 % intervals (worth.svg).
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from _arguments import positive, run
from _harness import Figure, report
from _results import Results
from _worth_plan import Arm, Plan, read_plan
from _worth_table import Cell, cells, crossing, curves, table

from megacpp_assets.compute.lifetime import die_with_parent
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.training.processes.numerics import numerics

BENCH = "worth"


def main(arguments: Sequence[str]) -> None:
    """Print a line for each arm, length and text."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", type=Path, required=True, metavar="FILE", help="the arms file")
    parser.add_argument("--data-root", type=Path, default=Path("data"))
    parser.add_argument("--work", type=Path, default=Path("worth"), help="results, states, table and picture")
    parser.add_argument("--cores", type=positive, default=1, help="runs at a time, one core each (default: 1)")
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="of the recipe, for all arms"
    )
    options = parser.parse_args(arguments)
    plan = read_plan(options.arms)
    plan = replace(plan, settings=(*plan.settings, *options.settings))
    (options.work / "runs").mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = []
    made: list[Cell] = []
    for line in measure(plan, options.data_root, options.work, options.cores):
        lines.append(line)
        made = show(lines, plan.arms[0].name, options.work)
    tell(made, plan.arms[0].name)


def measure(plan: Plan, root: Path, work: Path, cores: int) -> Iterator[dict[str, Any]]:
    """Train and measure what is not known yet; a line for each trial, in order."""
    os.environ.update(numerics(1))  # read when torch is loaded, here and by the workers
    from _worth_run import open_data, run_key

    results = Results(work / "results.jsonl")
    keys = {arm.name: open_data(root, plan, arm).key for arm in plan.arms}
    with ProcessPoolExecutor(
        cores, multiprocessing.get_context("spawn"), initializer=die_with_parent, initargs=(os.getpid(),)
    ) as pool:
        for tokens in plan.tokens:  # a run's next length needs the state of the one before
            asked = []
            for arm, seed in ((arm, seed) for seed in plan.seeds for arm in plan.arms):
                key = run_key(plan, arm, seed, keys[arm.name], tokens)
                known = results.get(f"{key} {tokens}")
                asked.append(
                    known or pool.submit(trained, plan, arm, seed, tokens, root=root, state=work / "runs" / f"{key}.pt")
                )
            for each in asked:
                try:
                    line = each if isinstance(each, dict) else results.add(each.result())
                except MegacppError as error:  # a run that diverged; the others go on
                    print(error, file=sys.stderr)
                    continue
                print(f"{line['tokens']:,} tokens, seed {line['seed']}, {line['arm']}: {line['bits']}", file=sys.stderr)
                yield line


def trained(plan: Plan, arm: Arm, seed: int, tokens: int, *, root: Path, state: Path) -> dict[str, Any]:
    """The line of a run of `arm` from `seed` after `tokens`, whose state is kept in the file `state`. In a worker."""
    from _worth_run import Trainee, open_data

    before = time.process_time()
    trainee = Trainee(plan, arm, seed, open_data(root, plan, arm))
    trainee.advance(tokens, state)
    line = {"key": f"{state.stem} {tokens}", "arm": arm.name, "seed": seed, "tokens": tokens}
    return {**line, "bits": trainee.measured(), "cpu_seconds": round(time.process_time() - before, 1)}


def show(lines: Sequence[dict[str, Any]], first: str, work: Path) -> list[Cell]:
    """Write the table and the curves of what was measured so far; gives their cells."""
    made = cells(lines, first)
    (work / "worth.md").write_text(table(made, first))
    (work / "worth.svg").write_text(curves(made))
    return made


def tell(made: Sequence[Cell], first: str) -> None:
    """Print a line for each arm, text and length; and for two lengths or more where an arm is expected to cross."""
    plain = {(cell.text, cell.tokens): cell.bits.mean for cell in made if cell.arm == first}
    for cell in made:
        figure = Figure(BENCH, f"{cell.text}, {cell.tokens:,} tokens, {cell.arm}", "bits/byte")
        peer = None if cell.arm == first else plain.get((cell.text, cell.tokens))
        pairs = cell.less
        less = None if pairs is None or pairs.count < 2 else (pairs.mean - pairs.half, pairs.mean + pairs.half)
        name = first if peer is not None else ""
        report(figure, cell.bits.mean, peer, peer_name=name, runs=cell.bits.count, spread=cell.bits.spread, less=less)
    for arm, text in dict.fromkeys((cell.arm, cell.text) for cell in made):
        tokens = crossing(made, arm, text)
        if tokens is not None:
            report(Figure(BENCH, f"{text}, {arm} is expected to equal {first}", "tokens"), tokens)


if __name__ == "__main__":
    run(main)
