"""Peak memory and CPU time of finding near-duplicate documents of a mixture: python -m benchmarks.clusters_memory.

Documents are invented. Each shares its first lines with others of its repository, as context does, and a third of the
lines are in all repositories. One document of a hundred has a near-duplicate in the other repositories.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from megacpp_assets.contract import columns as c
from megacpp_assets.packed.duplicates import find_clusters

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


def _line(draw: random.Random) -> str:
    """A statement of 14 tokens. One of three is common."""
    if draw.random() < 1 / 3:
        draw = random.Random(draw.randrange(_COMMON))
    words = [draw.getrandbits(24) for _ in range(3)]
    return f"  if (a{words[0]}(b{words[1]}) > {words[2]}) {{ return {draw.randrange(9)}; }}"


def _documents(repo: int, count: int) -> Iterator[str]:
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
        columns = {
            c.REPO: [f"repo{repo}"] * len(texts),
            c.DOC_ID: [str(number) for number in range(len(texts))],
            c.FILEPATH: [f"{number}.cc" for number in range(len(texts))],
            c.TEXT: texts,
        }
        pq.write_table(pa.table(columns), folder / f"{repo}.parquet", row_group_size=1024)


def _peak() -> int:
    """Peak memory in bytes. A new process has that of its parent, so the parent has to be small."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _measure(folder: Path, scale: int) -> None:
    before, start = _peak(), time.process_time()
    clusters = find_clusters([[path] for path in sorted(folder.glob("*.parquet"))], _SHARE)
    seconds, more = time.process_time() - start, _peak() - before
    tokens = _REPOS * _DOCUMENTS * scale * _LINES * _LINE_TOKENS
    print(
        f"{tokens / 1e6:>6.1f} million tokens: {int(clusters.copied.sum())} copies, {more >> 20} MiB more memory, "
        f"{more / tokens:.1f} bytes a token, {seconds:.1f} CPU s",
        flush=True,
    )


def main() -> None:
    """Measure each scale in a process of its own, and write its documents in another one."""
    if len(sys.argv) > 1:
        step, folder, scale = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
        (_write if step == "write" else _measure)(folder, scale)
        return
    for scale in _SCALES:
        with tempfile.TemporaryDirectory() as made:
            for step in ("write", "measure"):
                words = [sys.executable, "-m", "benchmarks.clusters_memory", step, made, str(scale)]
                subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
