"""Runs MaxText's own unit tests of its OLMo loader on `megacpp_assets.loader.grain`, under MaxText's names.

    python tools/maxtext_tests.py CHECKOUT

CHECKOUT is a folder with MaxText's sources (github.com/AI-Hypercomputer/maxtext, read at e591f30c). Prints one line per
test that does not pass, with the reason where one is known, and the counts. Exit code 1 for a failure without a reason.
"""

from __future__ import annotations

import sys
import types
import unittest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.loader.grain import index, loader, sampler, source, transforms
from megacpp_assets.loader.grain.repeats import repeats_too_often

FOLDER = Path("tests/unit/input_pipeline")
FILES = ("olmo_data_test", "olmo_data_grain_test", "olmo_data_grain_resume_test")
REASONS = {
    "test_find_periodic_sequences_smoke": "lists repeats one by one; `repeats_too_often` answers without a list",
}


def read_npy_header_from_path(path: str) -> tuple[str, tuple[int, ...]]:
    """(dtype, shape) of a file that numpy.save wrote; our own readers take bare tokens only."""
    values = np.load(path, mmap_mode="r")
    return values.dtype.name, values.shape


def build_index(paths: list[tuple[str, str]], **options: object) -> index.OlmoNpyIndex:
    """MaxText's default reader parses headers of numpy."""
    return index.build_index(paths, **{"header_reader": read_npy_header_from_path, **options})  # type: ignore[arg-type]


def global_to_local(mix: index.OlmoNpyIndex, instance: int) -> tuple[int, int]:
    """(file, first token) of one instance."""
    files, firsts = mix.locate(np.array([instance], np.int64))
    return int(files[0]), int(firsts[0])


def is_clean_instance(
    tokens: NDArray[np.integer], repetition_max_period: int = 13, repetition_max_count: int = 32
) -> bool:
    """Whether the filter keeps a window."""
    return not repeats_too_often(tokens, max_period=repetition_max_period, min_period=1, max_count=repetition_max_count)


def find_periodic_sequences(*_: object, **__: object) -> list[object]:
    """See `REASONS`."""
    return []


def rename_imports() -> None:
    """Make `maxtext.input_pipeline.olmo_data` and `olmo_data_grain` names of our modules."""
    data = {
        "OlmoNpyIndex": index.OlmoNpyIndex,
        "OlmoNpyFileEntry": index.OlmoNpyFileEntry,
        "compute_fingerprint": index.compute_fingerprint,
        "load_index": index.load_index,
        "build_index": build_index,
        "global_to_local": global_to_local,
        "is_clean_instance": is_clean_instance,
        "find_periodic_sequences": find_periodic_sequences,
        "read_npy_header_from_path": read_npy_header_from_path,
    }
    grain_names = {
        "OlmoNpyDataSource": source.OlmoNpyDataSource,
        "OlmoIndexSampler": sampler.OlmoIndexSampler,
        "NgramFilterTransform": transforms.NgramFilterTransform,
        "ShiftToInputsTargets": transforms.ShiftToInputsTargets,
        "make_olmo_grain_data_loader": loader.make_olmo_grain_data_loader,
        "_combine_seed_epoch": sampler.combine_seed_epoch,
    }
    package = types.ModuleType("maxtext.input_pipeline")
    sys.modules |= {"maxtext": types.ModuleType("maxtext"), "maxtext.input_pipeline": package}
    for name, names in (("olmo_data", data), ("olmo_data_grain", grain_names)):
        module = types.ModuleType(f"maxtext.input_pipeline.{name}")
        vars(module).update(names)
        sys.modules[module.__name__] = module


def main(checkout: Path) -> int:
    """Run the tests; the number of failures that have no reason."""
    rename_imports()
    sys.path.insert(0, str(checkout / FOLDER))
    suite = unittest.defaultTestLoader.loadTestsFromNames(FILES)
    count = suite.countTestCases()
    result = unittest.TestResult()
    suite.run(result)
    unexplained = 0
    for test, trace in [*result.failures, *result.errors]:
        name = test.id().rsplit(".", 1)[1]
        unexplained += name not in REASONS
        print(f"{name}: {REASONS.get(name) or trace.splitlines()[-1]}")
    failed = len(result.failures) + len(result.errors)
    print(f"passed {count - failed} of {count}, with a reason {failed - unexplained}")
    return unexplained


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
