"""Runs one of Dagster's commands as a process that ends with its parent and keeps its sockets in a private folder.

`python -m megacpp_assets.ui.service PARENT FOLDER MODULE ARGUMENTS...` runs `python -m MODULE ARGUMENTS...`.
"""

from __future__ import annotations

import runpy
import signal
import sys
import tempfile
from collections.abc import Sequence

from megacpp_assets.compute.gc_disabled import search_for_cycles_rarely
from megacpp_assets.compute.lifetime import die_with_parent


def main(arguments: Sequence[str]) -> None:
    """Become the command that the command line names."""
    parent, folder, module, *rest = arguments
    # SIGTERM, not SIGKILL: this process has children of its own to end.
    die_with_parent(int(parent), signal.SIGTERM)
    # Dagster puts the socket of the server that it starts here. TMPDIR would do the same, but runs would inherit it.
    tempfile.tempdir = folder
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    search_for_cycles_rarely()
    main(sys.argv[1:])
