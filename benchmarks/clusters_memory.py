"""Peak memory and CPU time of finding near-duplicates of a mixture: python -m benchmarks.clusters_memory.

Documents and their definitions are compared at three sizes, then short texts alone, of which most memory is for each
one and not for its tokens. Documents are invented. Each shares its first lines with others of its repository, as
context does, and a third of the lines are in all repositories. One document of a hundred has a near-duplicate in the
other repositories.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from megacpp_assets.compute.shingles import shingles
from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import CONTEXT_ROLE, ROOT_ROLE
from megacpp_assets.contract.schemas import CONSTITUENT
from megacpp_assets.packed.copies.definitions import find_definitions
from megacpp_assets.packed.copies.duplicates import find_clusters
from megacpp_assets.packed.copies.text_clusters import ComparedTexts

_REPOS = 4
_DOCUMENTS = 1_000
"""Of each repository at the first scale."""
_SCALES = (1, 4, 16)
_LINES = 60
_LINE_TOKENS = 14
_SHARED_LINES = 20
_COPIED = 100
_COMMON = 500
"""Lines that every repository has, as those of loops and checks are."""
_SHARE = 0.7
_FIND = {"documents": find_clusters, "definitions": find_definitions}
_SHORT = (100_000, 400_000)


def _line(draw: random.Random) -> str:
    """A statement of 14 tokens. One of three is common."""
    if draw.random() < 1 / 3:
        draw = random.Random(draw.randrange(_COMMON))
    words = [draw.getrandbits(24) for _ in range(3)]
    return f"  if (a{words[0]}(b{words[1]}) > {words[2]}) {{ return {draw.randrange(9)}; }}"


def _documents(repo: int, count: int) -> Iterator[str]:
    """Texts whose first lines are context, and the others a definition."""
    draw, copied = random.Random(repo), random.Random(1_000)
    context = [_line(draw) for _ in range(_SHARED_LINES)]
    for number in range(count):
        if number % _COPIED == 0:  # the same in each repository but for a line
            yield "\n".join([*(_line(copied) for _ in range(_LINES)), f"int repo{repo};"])
        else:
            yield "\n".join([*context, *(_line(draw) for _ in range(_LINES - _SHARED_LINES))])


def _write(folder: Path, scale: int) -> None:
    for repo in range(_REPOS):
        texts = list(_documents(repo, _DOCUMENTS * scale))
        starts = [len("".join(text.splitlines(keepends=True)[:_SHARED_LINES])) for text in texts]
        _write_texts(folder / f"{repo}.parquet", texts, starts)


def _write_texts(path: Path, texts: Sequence[str], starts: Sequence[int]) -> None:
    """Write documents of which what is before the character in `starts` is context."""
    names = [f"{number}.cc" for number in range(len(texts))]
    parts = [
        [
            {"filepath": name, "char_start": 0, "char_end": start, "role": CONTEXT_ROLE},
            {"filepath": name, "char_start": start, "char_end": len(text), "role": ROOT_ROLE},
        ]
        for name, text, start in zip(names, texts, starts, strict=True)
    ]
    columns = {
        c.REPO: [path.stem] * len(texts),
        c.DOC_ID: names,
        c.FILEPATH: names,
        c.TEXT: texts,
        c.CONSTITUENTS: pa.array(parts, pa.list_(CONSTITUENT)),
    }
    pq.write_table(pa.table(columns), path, row_group_size=1024)


def _peak() -> int:
    """Peak memory in bytes. A new process has that of its parent, so the parent has to be small."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _measure(folder: Path, scale: int, what: str) -> None:
    before, start = _peak(), time.process_time()
    found = _FIND[what](_sources(folder), _SHARE)
    seconds, more = time.process_time() - start, _peak() - before
    tokens = _REPOS * _DOCUMENTS * scale * _LINES * _LINE_TOKENS
    print(
        f"{tokens / 1e6:>6.1f} million tokens, {what}: {int(found.copied.sum())} copies, {more >> 20} MiB more memory, "
        f"{more / tokens:.1f} bytes a token, {seconds:.1f} CPU s",
        flush=True,
    )


def _sources(folder: Path) -> list[list[Path]]:
    return [[path] for path in sorted(folder.glob("*.parquet"))]


def _short() -> None:
    """Print what another text of 30 tokens of its own takes, as Python and numpy ask for it."""
    peaks = []
    for count in _SHORT:
        with tempfile.TemporaryDirectory() as folder, ComparedTexts(Path(folder)) as texts:
            tracemalloc.start()
            for number in range(count):
                text = (
                    f"int f{number}(int a{number}, int b) {{ int c = a{number} + b; return f{number}(c, {number}); }}"
                )
                texts.add(text, shingles(text), number * _REPOS // count, number, versioned=False)
            texts.clusters(_SHARE)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    each = (peaks[1] - peaks[0]) / (_SHORT[1] - _SHORT[0])
    print(f"{_SHORT[1]} short texts: {peaks[1] >> 20} MiB, {each:.0f} bytes for each one more", flush=True)


def main() -> None:
    """Measure each scale in a process of its own, and write its documents in another one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)  # of those processes
    if options := parser.parse_args().step:
        step, folder, scale = options[0], Path(options[1]), int(options[2])
        if step == "write":
            _write(folder, scale)
        else:
            _measure(folder, scale, step)
        return
    for scale in _SCALES:
        with tempfile.TemporaryDirectory() as made:
            for step in ("write", *_FIND):
                words = [sys.executable, __file__, "--step", step, made, str(scale)]
                subprocess.run(words, check=True)
    _short()


if __name__ == "__main__":
    main()
