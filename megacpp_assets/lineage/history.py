"""Everything that a data root made and traced to what it was made from: the graph of its manifests, by their hashes.

The manifests that lie sealed on the disk and those that were kept are the truth. Reading ten thousand of them takes
a second, so what was read is remembered in the cache; a seal in another state than then is read again.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.columns import COMPLETE_FILE, MANIFEST_FILE
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.manifest import InputRef, Manifest, ours, require_format
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.history import kept_manifest, kept_manifests
from megacpp_assets.storage.layout import ARTIFACT_DEPTHS, lineage_cache_path
from megacpp_assets.storage.locks import LOCKS_DIRECTORY

_ENTRY: Final = sha256_bytes(b"history 1")
"""The name of the cache's one entry; the number counts its formats."""
_REMEMBERED: Final = {"pinned_repos": ("config", "commit"), "tokenizer": ("stats", "commit")}

State = list[int]
"""Inode, size, modification and change time of a seal."""


@dataclass(frozen=True, slots=True)
class Made:
    """A manifest: where its artifact lay, what it is, what it was made from; `commit` of a repository or tokenizer."""

    sha256: str
    path: str
    stage: str
    partition: str
    commit: str
    inputs: tuple[InputRef, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The manifests of a data root by hash; `lying` says by path which of them lie on the disk."""

    root: Path
    rows: Mapping[str, list[Any]]
    lying: Mapping[str, str]

    def made(self, sha256: str) -> Made:
        """The manifest of that hash; `LineageGap` if no such one is known."""
        if sha256 not in self.rows:
            do = "put it back from a copy of the data root, or run again what was made from it"
            raise LineageGap(f"manifest {sha256}", expected="sealed on the disk, or kept", found="neither", do=do)
        path, stage, partition, commit, inputs = self.rows[sha256]
        return Made(sha256, path, stage, partition, commit, tuple(InputRef(*entry) for entry in inputs))

    def of_stage(self, stage: str) -> Iterator[Made]:
        """Every manifest of a stage, those that were replaced since too."""
        return (self.made(sha256) for sha256, row in self.rows.items() if row[1] == stage)

    def lies(self, made: Made) -> bool:
        """Whether that very artifact is what its path holds now."""
        return self.lying.get(made.path) == made.sha256

    def read(self, made: Made) -> Manifest:
        """The whole manifest."""
        if self.lies(made):
            return Manifest.from_bytes((self.root / made.path / MANIFEST_FILE).read_bytes(), made.path)
        return Manifest.from_bytes(kept_manifest(self.root, made.sha256)[1], made.path)

    def chain(self, made: Made) -> dict[str, Made]:
        """`made` and everything behind it, by hash; `LineageGap` naming the first manifest that is not known."""
        reached = {made.sha256: made}
        queue = [made]
        while queue:
            for entry in queue.pop().inputs:
                if entry.manifest_sha256 not in reached:
                    found = self._input(entry)
                    reached[found.sha256] = found
                    queue.append(found)
        return reached

    def made_from(self, sources: Iterable[str], *, without: str = "") -> set[str]:
        """Hashes of everything that was made from manifests of those hashes, not by way of the stage `without`."""
        users: dict[str, list[str]] = defaultdict(list)
        for sha256, row in self.rows.items():
            for entry in row[4]:
                users[entry[1]].append(sha256)
        found: set[str] = set()
        queue = list(sources)
        while queue:
            for user in users.get(queue.pop(), ()):
                if user not in found and self.rows[user][1] != without:
                    found.add(user)
                    queue.append(user)
        return found

    def missing(self) -> dict[str, str]:
        """Hash and path of every input whose manifest is neither sealed on the disk nor kept."""
        inputs = (entry for row in self.rows.values() for entry in row[4])
        return {sha256: path for path, sha256 in inputs if sha256 not in self.rows}

    def _input(self, entry: InputRef) -> Made:
        try:
            return self.made(entry.manifest_sha256)
        except LineageGap as gap:
            raise LineageGap(f"{entry.path}: {gap}") from gap


def read_history(root: Path) -> History:
    """The history of `root`; only its cache is written. `LineageGap` for a manifest that is not what was kept."""
    before = _remembered(root)
    states, rows = before["states"], before["rows"]
    lying, new_states = {}, {}
    for path, state in _seals(root):
        known = states.get(path)
        sha256 = known[1] if known is not None and known[0] == state else _sealed(root, path)
        if sha256:
            lying[path] = sha256
            new_states[path] = [state, sha256]
    wanted = {**dict.fromkeys(kept_manifests(root), ""), **{sha256: path for path, sha256 in lying.items()}}
    kept = {sha256: rows[sha256] if sha256 in rows else _read(root, sha256, path) for sha256, path in wanted.items()}
    if new_states != states or kept.keys() != rows.keys():
        _remember(root, {"states": new_states, "rows": kept})
    return History(root, kept, lying)


def _seals(root: Path) -> Iterator[tuple[str, State]]:
    """(path, state of the seal) of every artifact on the disk. The folders above artifacts are listed, not theirs."""
    for folder, depth in ARTIFACT_DEPTHS.items():
        for path in _below(root, folder, depth):
            with suppress(OSError):
                stat = os.stat(f"{root}/{path}/{COMPLETE_FILE}")
                yield path, [stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def _below(root: Path, path: str, depth: int) -> Iterator[str]:
    try:
        names = sorted(os.listdir(f"{root}/{path}"))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if depth == 1:
            yield f"{path}/{name}"
        else:
            yield from _below(root, f"{path}/{name}", depth - 1)


def _sealed(root: Path, path: str) -> str:
    """The hash in a seal, if the manifest beside it has it; an artifact that is being made anew has none."""
    try:
        sha256 = (root / path / COMPLETE_FILE).read_text(encoding="ascii", errors="replace").strip()
        manifest = (root / path / MANIFEST_FILE).read_bytes()
    except FileNotFoundError:
        return ""
    return sha256 if sha256_bytes(manifest) == sha256 else ""


def _read(root: Path, sha256: str, path: str) -> list[Any]:
    """A row of the history: path, stage, partition, commit, and (path, hash) of each input."""
    if path:
        data = (root / path / MANIFEST_FILE).read_bytes()
    else:
        path, data = kept_manifest(root, sha256)
    # A whole `Manifest` has a dozen files, whose entries take longer to make than all else.
    with ours(path):
        manifest = orjson.loads(data)
        require_format(manifest["format"])
        section, key = _REMEMBERED.get(manifest["stage"], ("", ""))
        commit = manifest[section].get(key, "") if section else ""
        inputs = [[entry["path"], entry["manifest_sha256"]] for entry in manifest["inputs"]]
        return [path, manifest["stage"], manifest["partition"], commit, inputs]


def _remembered(root: Path) -> dict[str, Any]:
    entry = Cache(root / lineage_cache_path()).peek(_ENTRY)
    return orjson.loads(entry) if entry else {"states": {}, "rows": {}}  # type: ignore[no-any-return]


def _remember(root: Path, facts: Mapping[str, Any]) -> None:
    # Beside a folder that was copied out of a data root nothing is written; one that cannot be written is still read.
    if (root / LOCKS_DIRECTORY).is_dir():
        with suppress(OSError):
            Cache(root / lineage_cache_path()).put(_ENTRY, orjson.dumps(facts))
