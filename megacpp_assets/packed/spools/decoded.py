"""A cache entry with the decoded documents of a phase, shared by all mixtures of a dataset.

The first process makes the entry while the others wait; then all of them map it. An entry is replaced if it is
incomplete, or was made from other inputs or by other code. Its files are compared with their hashes before each use, so
the cache never changes a result.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from megacpp_assets.contract.canonical import fingerprint, sha256_file
from megacpp_assets.contract.document_sets import DocumentSet, tokens_of
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.packed.blend import Origins, origins, shards_of_split
from megacpp_assets.packed.copies.left_out import left_out
from megacpp_assets.packed.spools.spool import Spool, open_spool
from megacpp_assets.packed.spools.spooling import spool_documents
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.storage.caching.code import code_identity
from megacpp_assets.storage.root.layout import decoded_cache_path
from megacpp_assets.storage.root.locks import in_turn

_NEAR_FILE: Final = "near"
_BUDGET_FILE: Final = "budget"
_AGAIN_FILE: Final = "again"
_SEAL_FILE: Final = "sealed.json"
_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Decoded:
    """The documents of both splits, in the order of their sources.

    `near` (training documents,) is True for a near-duplicate of a held-out document, which no mixture takes. `origins`
    says of which document set each training document is.
    """

    train: Spool
    valid: Spool
    near: NDArray[np.bool_]
    origins: Origins


@contextmanager
def decoded(
    root: Path, dataset: str, inputs: Sequence[Artifact], budgets: Sequence[DocumentSet], near_copy: float
) -> Iterator[Decoded]:
    """The documents of the sets `budgets` in the enriched artifacts `inputs`, mapped until the `with` block ends.

    Validation documents come from the first set only. Raises what `spool_documents` raises, and `SpecError` if the
    files repeatedly differ from what was written.
    """
    path = decoded_cache_path(dataset, budgets)
    key = fingerprint(
        {
            "inputs": [artifact.manifest.sha256 for artifact in inputs],
            "budgets": list(budgets),
            "near_copy": near_copy,
            "code": code_identity(__name__),
        }
    )
    # Between the two locks another process may replace the entry, so reading is tried again.
    for _ in range(_TRIES):
        with in_turn(root, path, writes=False):
            if _is_whole(root / path, key):
                yield _opened(root / path)
                return
        with in_turn(root, path, writes=True):
            if not _is_whole(root / path, key):
                _make(root / path, key, inputs, budgets, near_copy)
    raise SpecError(
        path, expected="the bytes that were written", found="other bytes", do="check the disk, or remove the folder"
    )


def _make(folder: Path, key: str, inputs: Sequence[Artifact], budgets: Sequence[DocumentSet], near_copy: float) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shards = {
        split: [shards_of_split(artifact, budgets, split) for artifact in inputs]
        for split in (TRAIN_SPLIT, VALID_SPLIT)
    }
    for split, files in shards.items():
        spool_documents(files, folder / split, max(map(tokens_of, budgets)))
    near = left_out(shards[TRAIN_SPLIT], shards[VALID_SPLIT], near_copy)
    by_source = [origins(artifact, budgets) for artifact in inputs]
    _write(folder / _NEAR_FILE, np.bool_, near)
    _write(folder / _BUDGET_FILE, np.uint8, [source.budget for source in by_source])
    _write(folder / _AGAIN_FILE, np.bool_, [source.again for source in by_source])
    write_atomic(folder / _SEAL_FILE, orjson.dumps({"key": key, "files": _hashes(folder)}))


def _write(path: Path, kind: type[np.generic], parts: Sequence[NDArray[Any]]) -> None:
    path.write_bytes(np.concatenate([np.empty(0, kind), *parts]).tobytes())


def _opened(folder: Path) -> Decoded:
    near, again = (np.frombuffer((folder / name).read_bytes(), np.bool_) for name in (_NEAR_FILE, _AGAIN_FILE))
    budget = np.frombuffer((folder / _BUDGET_FILE).read_bytes(), np.uint8)
    return Decoded(open_spool(folder / TRAIN_SPLIT), open_spool(folder / VALID_SPLIT), near, Origins(budget, again))


def _is_whole(folder: Path, key: str) -> bool:
    """Return whether `folder` has a complete entry for `key` whose files have the sealed hashes."""
    try:
        seal = orjson.loads((folder / _SEAL_FILE).read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return False
    # The files are hashed only if the key matches.
    return bool(seal["key"] == key and seal["files"] == _hashes(folder))


def _hashes(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != _SEAL_FILE)
    return {path.relative_to(folder).as_posix(): sha256_file(path) for path in files}
