"""Documents of commits per CPU second: v3 documents, v4 windows beside a parse of each commit's whole tree anew, and
v5 windows beside a full parse of each commit, with the call edges of v4 that v5 has. On demand also: reading the
history beside pygit2, the peak memory of the stages, and what a rerun costs after one more commit.

A source is a repository as URL@REF or PATH@REF; without any: fmt as the catalogue pins it. Both sides of v4 make the
same windows of the same commits, in turn in one process. The peer parses each file as a whole, for every N-th commit
only, as it takes about a second for each; its time for all of them is extrapolated. The tokenizer is trained on the
tree of the last commit.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

from _arguments import positive, run
from _cores import choose, hold
from _harness import RUNS, Figure, Meter, cpu_seconds, report
from _history_memory import measure_memory
from _history_read import measure_reading
from _history_rerun import measure_rerun
from _resolved import compare_resolved
from semantic import entries

from megacpp_assets.commits.stage import CommitsSpec
from megacpp_assets.commits.stage import run as list_commits
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.recipe.history import HistoryRecipe
from megacpp_assets.contract.sources.commit import COMMITS_LIST, Commit, load_commit
from megacpp_assets.contract.sources.source_file import OBJECTS
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import blob_reader
from megacpp_assets.storage.jsonl import json_lines
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import count_words, train_model
from megacpp_assets.versions import build as versions
from megacpp_assets.versions.files import FileVersions
from megacpp_assets.versions.judge import ChangeRules
from megacpp_assets.versions.records import LineOrigin
from megacpp_assets.versions.syntax import without_torn_arms
from megacpp_assets.windows import build as windows
from megacpp_assets.windows.functions import ParsedBlobs
from megacpp_assets.windows.graph import TreeGraph
from megacpp_assets.windows.parsing import parsed
from megacpp_assets.windows.trees import TreeChange, tree_changes

BENCH = "history"
ONLY = ("v3", "v4", "v5", "read", "memory", "rerun")
LIMITS = {"v4_65536": 65_536}
_RECIPE = HistoryRecipe()
_SEEN = 2
"""Commits that are looked at for one that is listed: merges and commits without C++ are left out."""
_VOCABULARY = 16_384


@dataclass(frozen=True, slots=True)
class History:
    """The last commits of a repository, oldest first, and their objects."""

    name: str
    commits: list[Commit]
    git_dir: Path
    files: FileVersions

    @property
    def judge(self) -> ChangeRules:
        """The rules of the standard recipe, for the whole history."""
        return ChangeRules(self.name, _RECIPE, self.files)

    @property
    def origin(self) -> LineOrigin:
        """One licence, and no hold-out."""
        return LineOrigin(RepoRef(self.name, "bench"), lambda names: "NOASSERTION", lambda names: False)


@contextmanager
def opened(entry: CatalogueEntry, most: int) -> Iterator[History]:
    """The last `most` listed commits of a repository, all for 0, fetched into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="megacpp-bench-") as folder:
        root = Path(folder)
        bounds = HistoryRecipe(most_commits=most * _SEEN)
        artifact = list_commits(CommitsSpec(root, "bench", pin(entry, entry.ref, root), bounds))
        with of_artifact(entry.name, artifact, most or None) as history:
            yield history


@contextmanager
def of_artifact(name: str, artifact: Artifact, most: int | None = None) -> Iterator[History]:
    """The last `most` commits that an artifact of stage `commits` lists; all without it."""
    lines = list(json_lines(artifact.file(COMMITS_LIST), artifact.path))[:most]
    with blob_reader(artifact) as blobs:
        files = FileVersions(blobs, _RECIPE.file_bytes)
        yield History(name, [load_commit(line) for line in lines[::-1]], artifact.folder(OBJECTS), files)


def encoder_of(history: History) -> Encoder:
    """A tokenizer trained on the tree of the last commit."""
    (tree,) = tree_changes(history.git_dir, [history.commits[-1].commit], _RECIPE.file_bytes, Counter())
    texts = (history.files.get(change.blob).data for change in tree)
    recipe = TokenizerRecipe(vocabulary_size=_VOCABULARY)
    return Encoder(train_model(count_words(recipe, texts), recipe).model)


def measure_windows(history: History, every: int) -> None:
    """Print the line of v4. `SystemExit` where a window of the peer is not ours."""
    encoder, made, meter = encoder_of(history), Counter[str](), Meter()
    ours, peer = (
        windows.WindowBuilder(
            history.git_dir,
            windows.Sets(LIMITS, encoder),
            history.origin,
            history.judge,
            TreeGraph(ParsedBlobs(history.files)),
        )
        for _ in range(2)
    )
    for builder in (ours, peer):
        builder.left_out = {name: Counter() for name in LIMITS}
    aside = Meter()
    together = cpu_seconds(lambda: _in_turn(history, every, (ours, peer), (meter, aside), made))
    figure = Figure(BENCH, f"v4 windows of {len(history.commits)} commits of {history.name}", "windows/CPU-s")
    # Commits differ in their windows far more than in the cost of a tree: the peer's seconds a commit are extrapolated.
    theirs_s = meter.peer_s * len(history.commits) / made["commits of the peer"]
    mine, theirs = made["windows"] / (together - meter.peer_s - aside.peer_s), made["windows"] / theirs_s
    report(figure, mine, theirs, peer_name=f"each tree parsed anew, every {every}th commit")


def _in_turn(
    history: History,
    every: int,
    builders: tuple[windows.WindowBuilder, windows.WindowBuilder],
    meters: tuple[Meter, Meter],
    made: Counter[str],
) -> None:
    ours, peer = builders
    meter, aside = meters
    paths: dict[str, str] = {}
    trees = tree_changes(history.git_dir, [each.commit for each in history.commits], _RECIPE.file_bytes, Counter())
    for number, (commit, tree) in enumerate(zip(history.commits, trees, strict=True)):
        mine: list[bytes] = []
        theirs: list[bytes] = []
        cast(TreeGraph, ours.graph).apply(tree)
        ours.commit(commit, partial(_keep_line, mine))
        made["windows"] += len(mine)
        paths |= dict(tree)
        if (number + 1) % every == 0:
            with aside.peer():  # its windows must be ours; what it would need for them is measured below
                anew = TreeGraph(ParsedBlobs(history.files))
                anew.apply(TreeChange(path, blob) for path, blob in paths.items() if blob)
                peer.graph = anew
            with meter.peer():
                _parse_whole(history, paths.values())
                peer.commit(commit, partial(_keep_line, theirs))
            made["commits of the peer"] += 1
            if mine != theirs:
                raise SystemExit(f"windows of {commit.commit} differ between the two sides")


def _keep_line(lines: list[bytes], _set: str, line: bytes) -> None:
    lines.append(line)


def _parse_whole(history: History, blobs: Iterable[str]) -> None:
    """Parse each file as a whole, which is cheaper than one declaration after the other."""
    for blob in blobs:
        version = history.files.get(blob)
        if not version.reason:
            parsed(without_torn_arms(version.data), ())


def measure_documents(history: History) -> None:
    """Print the line of v3."""
    builder = versions.VersionBuilder(("v3_simple",), history.origin, history.judge)
    seconds = cpu_seconds(lambda: builder.build(history.commits, lambda _name, _line: None, lambda _done: None))
    figure = Figure(BENCH, f"v3_simple documents of {history.name}", "commits/CPU-s", len(history.commits))
    report(figure, figure.of(seconds))


def measure_resolved(history: History, commits: int, every: int) -> None:
    """Print the line of v5 and those of the call edges, of the last `commits` commits."""
    last = replace(history, commits=history.commits[-commits:])
    found = compare_resolved(last, encoder_of(last), every)
    count = len(last.commits)
    figure = Figure(BENCH, f"v5 windows of {count} commits of {last.name}", "commits/CPU-s", count)
    whole = f"a full parse of each tree, every {every}th commit"
    report(figure, figure.of(found.ours_s), figure.of(found.peer_s), peer_name=whole)
    around = f"call edges around {found.made['targets']} functions of {last.name}"
    report(Figure(BENCH, f"v4's {around} that v5 has (precision)", "share"), found.precision)
    report(Figure(BENCH, f"v5's {around} that v4 has (recall)", "share"), found.recall)


def main(arguments: Sequence[str]) -> None:
    """Print five lines for each source, or those of one version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE")
    parser.add_argument("--whole", action="store_true", help="all commits of the history")
    parser.add_argument("--runs", type=positive, default=RUNS, help="runs of both sides of `read` (default 5)")
    parser.add_argument("--commits", type=positive, default=400, help="listed commits, the last ones (default 400)")
    parser.add_argument("--only", choices=ONLY, help="one of these (default: v3, v4, v5)")
    parser.add_argument("--every", type=positive, default=40, help="commits of which the peer does one (default 40)")
    parser.add_argument("--resolved", type=positive, default=50, help="of these, the last for v5 (default 50)")
    parser.add_argument("--parsed-every", type=positive, default=17, help="of v5's, parse one whole (default 17)")
    options = parser.parse_args(arguments)
    hold(choose(1))
    for entry in entries(options.sources)[: None if options.sources else 1]:
        if options.only == "memory":
            measure_memory(entry, 0 if options.whole else options.commits)
            continue
        with opened(entry, 0 if options.whole else options.commits) as history:
            if options.only == "read":
                measure_reading(history.name, history.git_dir, options.runs)
            if options.only == "rerun":
                measure_rerun(history, encoder_of(history), LIMITS, options.resolved)
            if options.only in (None, "v3"):
                measure_documents(history)
            if options.only in (None, "v4"):
                measure_windows(history, options.every)
            if options.only in (None, "v5"):
                measure_resolved(history, options.resolved, options.parsed_every)


if __name__ == "__main__":
    run(main)
