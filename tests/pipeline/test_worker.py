from __future__ import annotations

import subprocess
import sys

_ARRAYS = """
import sys
from megacpp_assets.pipeline.worker import without_pandas
without_pandas()
import pyarrow as pa
assert pa.array([{"a": 1}, None]).to_pylist() == [{"a": 1}, None]
print([name for name in sys.modules if name.partition(".")[0] == "pandas" and sys.modules[name]])
"""


def test_a_worker_makes_arrays_without_loading_pandas() -> None:
    found = subprocess.run([sys.executable, "-c", _ARRAYS], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
