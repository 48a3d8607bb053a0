"""Repositories that nobody tuned to: each through the line at defaults, from its pin to packed rows.

In: `--list FILE`, a line for each library: NAME OWNER/NAME TAG, the tag `tip` for the newest commit, and `--mirror
TEMPLATE`, where they are fetched from. Out: a JSON object a library on standard output, and a Markdown table behind
them. A library that fails is a row that names the check, or the error; the others run on. Exit code 1 if any failed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _arguments import positive, run

from megacpp_assets.contract.errors import MegacppError, SpecError
from megacpp_assets.pipeline.receipts import read_receipt
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.sources import MIRROR_VARIABLE
from megacpp_assets.storage.artifact import Artifact, open_artifact

_STAGE = "semantic_jsonl"
_RECIPE = """\
dataset = "wild"
catalogue = "./catalogue.toml"
repos = ["{name}"]
curriculum = ["4k"]

[tokenizer]
vocabulary_size = 8192
"""
_HEAD = ("library", "tag", "units", "CPU s", "documents", "left out", "calls resolved", "context recall", "outcome")


@dataclass(frozen=True, slots=True)
class Library:
    """A line of the list."""

    name: str
    repository: str
    tag: str


@dataclass(frozen=True, slots=True)
class Row:
    """What became of a library. `left_out` counts files, definitions and documents by reason; `failed` is "" or names
    the checks that did not pass, else the error. Calls in per cent, recall in parts of one."""

    library: str
    tag: str
    units: int
    cpu_seconds: float
    documents: int
    left_out: Mapping[str, int]
    calls_resolved: float
    context_recall: float
    failed: str


def main(argv: Sequence[str]) -> None:
    """Run the list."""
    parser = argparse.ArgumentParser(prog="megacpp bench wild", description=__doc__)
    parser.add_argument("--list", required=True, type=Path, metavar="FILE", help="NAME OWNER/NAME TAG a line")
    parser.add_argument("--mirror", default="", metavar="TEMPLATE", help=f"value of {MIRROR_VARIABLE}")
    parser.add_argument("--seconds", type=positive, default=3600, metavar="N", help="wall seconds a library [3600]")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep each data root here, and use it again")
    asked = parser.parse_args(argv)
    rows = []
    for library in libraries(asked.list):
        rows.append(run_library(library, asked.mirror, asked.seconds, asked.work))
        print(json.dumps(asdict(rows[-1])), flush=True)
    print("\n".join(table(rows)))
    if failed := sum(bool(row.failed) for row in rows):
        sys.exit(f"{failed} of {len(rows)} failed")


def libraries(path: Path) -> list[Library]:
    """The libraries of a list; empty lines and those that begin with # are comments. `SpecError` for another line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"list {path}", expected="a readable file in UTF-8", found=str(error)) from error
    found = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 3 or words[1].count("/") != 1:
            raise SpecError(f"{path}, line {number}", expected="NAME OWNER/NAME TAG", found=repr(line))
        found.append(Library(*words))
    if not found:
        raise SpecError(f"list {path}", expected="at least one line NAME OWNER/NAME TAG", found="none")
    return found


def run_library(library: Library, mirror: str, seconds: int, work: Path | None) -> Row:
    """The row of one library, whose run may take so many wall seconds."""
    folder = work / library.name if work else Path(tempfile.mkdtemp(prefix="megacpp-wild-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        failed = _run_line(library, mirror, seconds, folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return _row(library, folder / "data", round(cpu, 1), failed)
    finally:
        if work is None:
            shutil.rmtree(folder, ignore_errors=True)


def _run_line(library: Library, mirror: str, seconds: int, folder: Path) -> str:
    """Run it; "" or why it failed."""
    url = f"https://github.com/{library.repository}"
    try:
        CatalogueEntry(library.name, url, library.tag)
    except MegacppError as error:
        return str(error)
    (folder / "catalogue.toml").write_text(f'[repo."{library.name}"]\nurl = "{url}"\nref = "{library.tag}"\n')
    recipe = folder / "recipe.toml"
    recipe.write_text(_RECIPE.format(name=library.name))
    program = [sys.executable, "-c", "from megacpp_assets.cli import main; main()"]
    command = [*program, "run", "--recipe", str(recipe), "--until", "packed_rows"]
    environment = {**os.environ, **({MIRROR_VARIABLE: mirror} if mirror else {})}
    with subprocess.Popen(
        [*command, "--data-root", str(folder / "data")], env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            _, words = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"over {seconds} wall seconds"
    return failure_of(words, process.returncode) if process.returncode else ""


def failure_of(words: str, code: int) -> str:
    """One line that says why `megacpp run` failed, taken from its standard error: the line of its own error message.

    For a crash that is the last line, which names the exception. The first line says only "Traceback".
    """
    lines = [line for line in words.splitlines() if line.strip()] or [f"exit code {code}"]
    reason = next((line for line in lines if line.startswith("error: ")), lines[-1]).removeprefix("error: ")
    return lines[-1].strip() if reason.startswith("Traceback") else reason


def _row(library: Library, root: Path, cpu_seconds: float, failed: str) -> Row:
    artifact = next(_artifacts(root / "jsonl", root), None)
    stats: Mapping[str, Any] = artifact.manifest.stats if artifact else {}
    budgets = stats.get("budgets", {})
    checks = ", ".join(_failing(root)) if failed else ""
    return Row(
        library=library.name,
        tag=artifact.manifest.config["ref"] if artifact else library.tag,
        units=stats.get("units", 0),
        cpu_seconds=cpu_seconds,
        documents=stats.get("documents", 0),
        left_out=stats.get("skipped", {}),
        calls_resolved=stats.get("calls_resolved_per_cent", 0.0),
        context_recall=next((each["context_recall"] for each in budgets.values()), 0.0),
        failed=f"{checks}: {failed}" if checks else failed,
    )


def _artifacts(folder: Path, root: Path) -> Iterator[Artifact]:
    for manifest in sorted(folder.rglob("manifest.json")):
        yield open_artifact(root, manifest.parent.relative_to(root).as_posix())


def _failing(root: Path) -> Iterator[str]:
    """The blocking checks that did not pass, with their stages."""
    for folder in ("cpp_raw", "jsonl", "tokenizer", "parquet", "enriched", "packed"):
        for artifact in _artifacts(root / folder, root):
            receipt = read_receipt(artifact)
            yield from (f"{artifact.manifest.stage}.{check.name}" for check in (receipt.failures if receipt else ()))


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The rows as Markdown."""
    yield from (f"| {' | '.join(_HEAD)} |", "|" + "---|" * len(_HEAD))
    for row in rows:
        left_out = ", ".join(f"{reason} {count}" for reason, count in row.left_out.items()) or "none"
        cells = (
            row.library, row.tag, f"{row.units:,}", f"{row.cpu_seconds:,.0f}", f"{row.documents:,}", left_out,
            f"{row.calls_resolved:.1f} %", f"{100 * row.context_recall:.0f} %", row.failed or "passed",
        )  # fmt: skip
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


if __name__ == "__main__":
    run(main)
