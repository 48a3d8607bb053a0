"""Peak memory of finding copies across repositories, with invented signatures: python -m benchmarks.copies_memory."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from megacpp_assets.curation.copies import PERMUTATIONS
from megacpp_assets.curation.shared_index import SharedFile, open_index

_CONTENTS = 12_500
_SCALES = (1, 4, 16)
_COPIED = 100
"""One content of this many has a copy in the other repository."""


def _measure(contents: int) -> None:
    random = np.random.default_rng(0)
    with open_index() as index:
        for number in range(contents):
            values = random.integers(1 << 32, size=PERMUTATIONS, dtype=np.uint32)
            for repo in ("a", "b") if number % _COPIED == 0 else ("a",):
                blob = f"{repo}{number:039}"
                index.add_content(blob, 0, values)
                index.add_files([SharedFile(repo, f"{number}.h", blob)])
        groups = sum(1 for _ in index.groups(lambda one, other: one[1:] == other[1:]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{contents:>8} contents: {groups} clusters, {peak} MiB at most, {time.process_time():.1f} CPU s", flush=True)


def main() -> None:
    """Measure each scale in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contents", type=int, help=argparse.SUPPRESS)  # of one of those processes
    if contents := parser.parse_args().contents:
        _measure(contents)
        return
    for scale in _SCALES:
        subprocess.run([sys.executable, __file__, "--contents", str(scale * _CONTENTS)], check=True)


if __name__ == "__main__":
    main()
