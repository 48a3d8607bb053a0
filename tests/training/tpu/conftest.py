"""XLA on this machine's processors, and libtpu's compiler for TPUs that are elsewhere."""

from __future__ import annotations

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TPU_SKIP_MDS_QUERY"] = "1"  # libtpu would ask Google's metadata server what machine this is
