"""The passes of stage `curated_files` over C/C++ texts: licence heads, copies, secrets and benchmark items.

Without any source: fmt 11.0.0 and googletest v1.15.0 from MEGACPP_GIT_MIRROR and the headers of /usr/include. The peer
of secrets is detect-secrets with all of its default plugins. Recall is of copies of the texts' own lines, planted in
another text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from _arguments import run
from _cores import choose, hold
from _harness import Figure, compare, cpu_seconds, report
from _sources import SOURCE, default_sources, load
from detect_secrets.core.scan import scan_line
from detect_secrets.settings import default_settings

from megacpp_assets.curation.benchmarks import Benchmarks, load_benchmarks
from megacpp_assets.curation.copies import Copies
from megacpp_assets.curation.licences import Licences
from megacpp_assets.curation.secrets import finds_of

BENCH = "curation"
SHARE = 0.6
ITEMS = 60
ITEM_LINES = 20
PEER_BYTES = 100_000
"""All plugins take nine seconds a megabyte."""


def main(arguments: Sequence[str]) -> None:
    """A line for each pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=SOURCE)
    texts = load(parser.parse_args(arguments).sources or default_sources())
    hold(choose(1))
    size = sum(map(len, texts)) / 1e6
    what = f"{len(texts)} files of {size:.1f} MB"
    decoded = [text.decode() for text in texts]
    benchmarks = _planted(decoded)
    report(Figure(BENCH, f"licence heads, {what}", "CPU-s"), cpu_seconds(lambda: _licences(texts)))
    passes: dict[str, Callable[[], object]] = {
        "near-duplicates": lambda: _copies(decoded),
        "secrets": lambda: [finds_of(text) for text in texts],
        f"{ITEMS} benchmark items": lambda: [benchmarks.found_in(text, SHARE) for text in decoded],
    }
    for name, work in passes.items():
        report(Figure(BENCH, f"{name}, {what}", "MB/CPU-s"), size / cpu_seconds(work))
    _secrets_beside_the_peer(texts)
    _recall(decoded, benchmarks)


def _licences(texts: Sequence[bytes]) -> list[str]:
    licences = Licences("NOASSERTION")
    for number, text in enumerate(texts):
        licences.read(f"{number}.h", text)
    licences.classify("known", lambda heads: dict.fromkeys(heads, "MIT"))
    return [licences.of(f"{number}.h").expression for number in range(len(texts))]


def _copies(texts: Sequence[str]) -> list[tuple[str, str]]:
    copies, by_name = Copies(), {f"{number:08d}": text for number, text in enumerate(texts)}
    for name, text in by_name.items():
        copies.add(name, text)
    return copies.near(by_name.__getitem__, 0.7)


def _secrets_beside_the_peer(texts: Sequence[bytes]) -> None:
    some, size = [], 0
    for text in sorted(texts, key=lambda text: hashlib.sha256(text).digest()):
        if size + len(text) <= PEER_BYTES:
            some.append(text)
            size += len(text)

    def peer() -> None:
        with default_settings():
            for text in some:
                for line in text.decode().splitlines():
                    list(scan_line(line))

    figure = Figure(BENCH, f"secrets, {len(some)} files of {size / 1e6:.2f} MB", "MB/CPU-s", size / 1e6)
    compare(figure, lambda: [finds_of(text) for text in some], peer, peer_name="detect-secrets 1.5.0", runs=3)


def _items(texts: Sequence[str]) -> list[str]:
    """Pieces of some lines, one a text, of texts that are spread over all."""
    long = [text.splitlines() for text in texts if text.count("\n") > 4 * ITEM_LINES]
    step = max(1, len(long) // ITEMS)
    return ["\n".join(lines[len(lines) // 2 :][:ITEM_LINES]) for lines in long[::step][:ITEMS]]


def _planted(texts: Sequence[str]) -> Benchmarks:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "own.jsonl")
        lines = [json.dumps({"id": str(n), "canonical_solution": text}) for n, text in enumerate(_items(texts))]
        path.write_text("\n".join(lines))
        return load_benchmarks([f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"])


def _recall(texts: Sequence[str], benchmarks: Benchmarks) -> None:
    """Share of the items that are long enough and found again, by how the copy was changed."""
    around = "\n".join(f"int around{n}(int a) {{ return a * {n}; }}" for n in range(50))
    changes: dict[str, Callable[[str], str]] = {
        "verbatim": lambda text: text,
        "re-indented": lambda text: re.sub(r"\n[ \t]*", "\n\t\t", text),
        "renamed": lambda text: re.sub(r"\b[a-z]\w{3,}(?=[^\w(])", lambda match: f"{match[0]}_2", text),
        "in a diff": lambda text: "\n".join(f" {line}" for line in text.splitlines()),
    }
    whole = [n for n, text in enumerate(_items(texts)) if f"own:{n}" in benchmarks.found_in(text, SHARE)]
    for name, change in changes.items():
        copies = {n: f"{around}\n{change(text)}\n{around}" for n, text in enumerate(_items(texts)) if n in set(whole)}
        found = sum(f"own:{n}" in benchmarks.found_in(text, SHARE) for n, text in copies.items())
        report(Figure(BENCH, f"recall of {len(copies)} planted items, {name}", "share"), found / max(1, len(copies)))


if __name__ == "__main__":
    run(main)
