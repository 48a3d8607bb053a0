"""The file system that libclang sees: the tree and the toolchain's headers. No other path of the host exists in it.

An include of a host file is then a missing header, `__has_include` tells nothing of the machine, and devices, pipes and
`/proc` cannot be opened. The view is an overlay file for `-ivfsoverlay`, without a fallback to the real file system.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from megacpp_assets.storage.atomic import write_atomic

VIEW_FILE = ".megacpp/view.json"
"""Where `write_view` leaves the overlay, relative to the tree."""


def write_view(tree: Path, visible: Mapping[str, str]) -> None:
    """Write the view of `tree` below it; `visible` are the folders beside it, name -> real path.

    A parse that names a view that is not there is an error, not an open door.
    """
    folders = {**visible, os.path.realpath(tree): os.path.realpath(tree)}
    view = {
        "version": 0,
        "case-sensitive": True,
        "use-external-names": False,  # as spelled: no real path gets into a result
        "overlay-relative": False,
        "redirecting-with": "redirect-only",
        "roots": [
            {"type": "directory-remap", "name": name, "external-contents": folder}
            for name, folder in sorted(folders.items())
        ],
    }
    write_atomic(tree / VIEW_FILE, json.dumps(view).encode())
