"""Provides a commit's configured compile database at the path where the plan of the parse looks first, or a reason."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.commands.database.compile_database import CONFIGURED, read_database
from megacpp_assets.semantic.commands.database.configure import BUILD, configure
from megacpp_assets.semantic.tree.export import export_whole
from megacpp_assets.semantic.tree.folder import WORK_FOLDER, Folder
from megacpp_assets.storage.git_objects import BlobReader

GENERATED: Final = f"{WORK_FOLDER}/generated"
"""The folder in the tree that stands for cmake's build folder. It has the headers that cmake wrote."""
CONFIGURE_DONE: Final = "database"
"""The value of the statistic `configure` if cmake gave a database. Otherwise it is the reason for inferring
arguments.
"""


def provide_database(
    scratch: Path, files: Sequence[SourceFile], blobs: BlobReader, arguments: tuple[str, ...] = ()
) -> str:
    """Configure the commit in `scratch/whole` with cmake's `arguments`, and put its database and the headers that cmake
    wrote into `scratch/tree`. Return CONFIGURE_DONE or a reason.
    """
    whole = scratch / "whole"
    whole.mkdir()
    reason = export_whole(whole, files, blobs)
    if reason:
        return reason
    found = configure(whole, arguments=arguments)
    if found.reason:
        return found.reason
    generated = Folder(scratch / "tree" / GENERATED, blobs)
    for path, header in found.headers.items():
        generated.write(path, header)
    (whole / CONFIGURED).parent.mkdir(parents=True)
    (whole / CONFIGURED).write_bytes(found.database.replace(BUILD.encode(), f"/source/{GENERATED}".encode()))
    usable = bool(read_database(whole, CONFIGURED).entries)
    if usable:
        (scratch / "tree" / CONFIGURED).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(whole / CONFIGURED, scratch / "tree" / CONFIGURED)
    shutil.rmtree(whole)
    return CONFIGURE_DONE if usable else "the configured database names no file of the tree"
