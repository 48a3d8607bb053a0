"""The file system that libclang sees: only the tree and the toolchain's headers.

So an include of a host file is a missing header, `__has_include` reveals nothing about the machine, and devices, pipes
and `/proc` cannot be opened. The view is an overlay file for `-ivfsoverlay`, without fallback to the real file system.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from megacpp_assets.storage.atomic import write_atomic

_ENDING = ".view.json"


def view_arguments(tree: str) -> tuple[str, str]:
    """Return the arguments that confine a parse in the working directory `tree` to its view.

    If the view file is missing, the parse fails. The file is next to the tree, where the parse cannot see it.
    """
    return "-ivfsoverlay", f"../{os.path.basename(tree)}{_ENDING}"


def write_view(tree: str, visible: Mapping[str, str]) -> None:
    """Write the view of `tree`, a real path, into its parent folder. `visible` are other folders and files, name ->
    real path.
    """
    view = {
        "version": 0,
        "case-sensitive": True,
        "use-external-names": False,  # report the name as spelled, so that no real path gets into a result
        "overlay-relative": False,
        "redirecting-with": "redirect-only",
        "roots": [
            {"type": "directory-remap" if os.path.isdir(path) else "file", "name": name, "external-contents": path}
            for name, path in sorted({**visible, tree: tree}.items())
        ],
    }
    write_atomic(Path(tree + _ENDING), json.dumps(view).encode())
