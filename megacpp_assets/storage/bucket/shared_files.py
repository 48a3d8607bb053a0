"""Small files of a data root that never change under their name: kept manifests, recipes, git objects of the registry.

The registry's branch of a dataset, which names its newest tokenizer, is the one file that is replaced.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from megacpp_assets.storage.atomic import write_any
from megacpp_assets.storage.bucket.objects import Objects, crc32c_of
from megacpp_assets.storage.bucket.parallel import in_parallel
from megacpp_assets.storage.root.layout import HISTORY, RECIPES, REGISTRY

MANIFESTS: Final = "manifests/"
_RECIPES: Final = "recipes/"
_REGISTRY: Final = "registry/"
_FOLDERS: Final = {MANIFESTS: HISTORY, _RECIPES: RECIPES, _REGISTRY: REGISTRY}
_BRANCHES: Final = "registry/refs/heads/"


def pull_shared_files(objects: Objects, root: Path) -> None:
    """Fetch the shared files that `root` lacks, and changed branches.

    Git objects come before the refs that name them.
    """
    for prefix, folder in _FOLDERS.items():
        files = {name: root / folder / name.removeprefix(prefix) for name in objects.list(prefix)}
        missing = [
            (name, file)
            for name, file in files.items()
            if ".." not in name.split("/") and (not file.is_file() or name.startswith(_BRANCHES))
        ]
        for are_refs in (False, True):
            in_parallel(lambda each: _pull(objects, *each), [each for each in missing if _is_ref(each[0]) == are_refs])


def push_recipes(objects: Objects, root: Path) -> None:
    """Store the recipes of `root` that the bucket lacks."""
    present = objects.list(_RECIPES)
    for file in sorted((root / RECIPES).glob("*.toml")):
        if f"{_RECIPES}{file.name}" not in present:
            objects.create(f"{_RECIPES}{file.name}", file.read_bytes())


def push_registry(objects: Objects, root: Path) -> None:
    """Store the tokenizers of `root` that the bucket lacks: git objects first, then the refs that name them.

    A branch that the bucket has stays there: this machine may know an older tokenizer (`push_branch`).
    """
    folder = root / REGISTRY
    if not folder.is_dir():
        return
    present = objects.list(_REGISTRY)
    for name in sorted(_files(folder), key=lambda each: (_is_ref(f"{_REGISTRY}{each}"), each)):
        if f"{_REGISTRY}{name}" not in present:
            objects.create(f"{_REGISTRY}{name}", (folder / name).read_bytes())


def push_branch(objects: Objects, root: Path, dataset: str) -> None:
    """Make the bucket's branch of `dataset` the one of `root`, whose tokenizer has just become the bucket's newest."""
    file, name = root / REGISTRY / "refs" / "heads" / dataset, f"{_BRANCHES}{dataset}"
    if not file.is_file():
        return
    data, known = file.read_bytes(), objects.describe(name)
    if known is None or known.crc32c != crc32c_of(data):
        objects.swap(name, data, known.generation if known else 0)


def _is_ref(name: str) -> bool:
    """Return whether the file is a ref, which names a git object that must exist before it."""
    return name.startswith("registry/refs/")


def _pull(objects: Objects, name: str, file: Path) -> None:
    found = objects.read(name)
    if found is not None and not (file.is_file() and file.read_bytes() == found.data):
        write_any(file, found.data)


def _files(folder: Path) -> list[str]:
    return [
        Path(place, name).relative_to(folder).as_posix()
        for place, _, names in os.walk(folder)
        for name in names
        if not name.startswith((".", "tmp_obj_"))
    ]
