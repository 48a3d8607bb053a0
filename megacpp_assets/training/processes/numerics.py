"""What decides the last bits of a training on a CPU: threads and vector instructions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.contract.recipe.training import AVX2, AVX512

_ONEDNN: Final = {AVX2: "AVX2", AVX512: "AVX512_CORE"}
"""oneDNN's names of the instruction sets."""
_AVX512_FLAGS: Final = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
"""What the kernels of torch and oneDNN need, by the kernel's names."""
_PROCESSOR = Path("/proc/cpuinfo")


def numerics(threads: int, instruction_set: str = AVX2) -> dict[str, str]:
    """Return environment variables that decide the bits of results. torch reads them when it is imported.

    They fix one instruction set. By default each library uses the widest one of the processor, and two machines would
    compute different checkpoints. `EnvironmentLacks` if this processor does not have it: torch would use it and die.
    """
    if instruction_set == AVX512:
        _require_avx512()
    return {
        "OMP_NUM_THREADS": str(threads),
        # Waiting threads sleep. With spinning threads a run took three times as long on a machine with other work.
        "OMP_WAIT_POLICY": "PASSIVE",
        "MKL_NUM_THREADS": str(threads),
        "ATEN_CPU_CAPABILITY": instruction_set,
        "MKL_CBWR": "AVX2",  # MKL has no other that gives the same bits on processors of Intel and of AMD
        "ONEDNN_MAX_CPU_ISA": _ONEDNN[instruction_set],
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    }


def _require_avx512() -> None:
    try:
        lines = re.findall(r"^flags\s*:(.*)", _PROCESSOR.read_text(), re.MULTILINE)
    except OSError:
        lines = []
    has = lines[0].split() if lines else []
    missing = [flag for flag in _AVX512_FLAGS if flag not in has]
    if missing:
        raise EnvironmentLacks(
            "training.instruction_set",
            expected="a processor with AVX-512",
            found=f"one without {' '.join(missing)}",
            do="set training.instruction_set = avx2, or train on another machine",
        )
