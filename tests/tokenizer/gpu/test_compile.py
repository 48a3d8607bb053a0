"""The interpreter is not the compiler: every kernel must also become machine code for the GPU that it is meant for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_every_kernel_compiles_for_an_h200(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("compile_kernels.py"))],
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    sizes = dict(line.split() for line in done.stdout.splitlines())
    assert len(sizes) == 8 and all(int(size) > 0 for size in sizes.values())
