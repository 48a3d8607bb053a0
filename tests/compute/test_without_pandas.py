"""Workers and trainings load no pandas, which pyarrow would import with its first array of Python objects."""

from __future__ import annotations

import subprocess
import sys

_ARRAYS = """
import sys
from megacpp_assets.compute.without_pandas import without_pandas
without_pandas()
import pyarrow as pa, pyarrow.dataset
assert pa.array([{"a": 1}, None]).to_pylist() == [{"a": 1}, None]
print([name for name in sys.modules if name.partition(".")[0] == "pandas" and sys.modules[name]])
"""


def test_arrays_are_made_without_loading_pandas() -> None:
    found = subprocess.run([sys.executable, "-c", _ARRAYS], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
