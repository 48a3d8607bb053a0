"""Copies of files across repositories, by the signatures that `curated_files` stored: clusters, and which copy stays.

Nothing is drawn and no order of arrival counts: files are taken in the order of repository and path. A file is a copy
of the one that stays only if both are similar; that they are in one cluster is not enough.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from megacpp_assets.compute.shingles import shingles
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.sources.curated import DECISIONS_FILE, KEEP, SIGNATURES_FILE
from megacpp_assets.contract.sources.file_policy import SHARED_COPY
from megacpp_assets.curation.copies import Copies, is_vendored, jaccard, joined, signature_of
from megacpp_assets.curation.copies_list import SharedCopy, ordered
from megacpp_assets.semantic.tree.text import decode
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.git_objects import BlobReader, blob_reader
from megacpp_assets.storage.layout import curated_path, raw_path
from megacpp_assets.storage.parquet import row_groups


class SharedFile(NamedTuple):
    """A file of a repository. `first` is True in a dataset whose files stay before all others, as held-out ones do."""

    repo: str
    path: str
    blob: str
    first: bool = False


def find_shared(root: Path, sources: Iterable[tuple[str, RepoRef, bool]], least: float) -> list[SharedCopy]:
    """Return the copies among the repositories of `sources`, each (dataset, repository, whether its files stay first).

    `least` is the similarity of copies. Raises `LineageGap` if a repository was not curated.
    """
    copies, files, owner = Copies(), [], dict[str, RepoRef]()
    for dataset, repo, first in sources:
        curated = open_artifact(root, curated_path(dataset, repo)).fetched()
        columns = ["filepath", "blob", "decision", "reason"]
        for table in row_groups(curated.file(DECISIONS_FILE), columns):
            rows = (row for row in table.to_pylist() if row["decision"] == KEEP or row["reason"] == SHARED_COPY)
            files += [SharedFile(repo.name, row["filepath"], row["blob"], first) for row in rows]
        for table in row_groups(curated.file(SIGNATURES_FILE), ["blob", "signature"]):
            for row in table.to_pylist():
                if row["blob"] not in owner:
                    owner[row["blob"]] = repo
                    copies.add_signature(row["blob"], signature_of(row["signature"]))
    with ExitStack() as opened:
        readers: dict[RepoRef, BlobReader] = {}

        def text_of(blob: str) -> str:
            repo = owner[blob]
            if repo not in readers:
                readers[repo] = opened.enter_context(blob_reader(open_artifact(root, raw_path(repo))))
            return decode(blob, readers[repo].read(blob)).text

        known = frozenset(owner)
        return shared_copies([file for file in files if file.blob in known], copies, text_of, least)


def shared_copies(
    files: Sequence[SharedFile], copies: Copies, text_of: Callable[[str], str], least: float
) -> list[SharedCopy]:
    """Return a line for each file of a cluster with files of two repositories or more."""
    sizes = Counter(file.repo for file in files)
    group_of = joined(copies.near(text_of, least))
    groups: dict[str, list[SharedFile]] = defaultdict(list)
    for file in files:
        groups[group_of(file.blob)].append(file)
    shared = (group for group in groups.values() if len({file.repo for file in group}) > 1)
    return ordered(copy for group in shared for copy in _judged(group, sizes, text_of, least))


def _judged(
    group: Sequence[SharedFile], sizes: Mapping[str, int], text_of: Callable[[str], str], least: float
) -> Iterator[SharedCopy]:
    stays = min(group, key=lambda file: _rank(file, sizes))
    cluster = hashlib.sha256(f"{stays.repo}\0{stays.blob}".encode()).hexdigest()[:16]
    own = shingles(text_of(stays.blob))
    alike = {stays.blob: True}
    for file in group:
        if file.blob not in alike:
            alike[file.blob] = jaccard(own, shingles(text_of(file.blob))) >= least
        copied = file.repo != stays.repo and not file.first and alike[file.blob]
        yield SharedCopy(cluster, file.repo, file.path, file.blob, f"{stays.repo}:{stays.path}" if copied else "")


def _rank(file: SharedFile, sizes: Mapping[str, int]) -> tuple[bool, bool, bool, int, str, bytes]:
    """Of copies the first by this order stays.

    One of a dataset that stays first; one outside of folders for others' code; one below a folder or file that has its
    repository's name, such as `zlib/` in zlib; that of the larger repository; the first by repository and path.
    """
    words = {posixpath.splitext(part)[0].lower() for part in file.path.split("/")}
    named = file.repo.lower() in words
    return not file.first, is_vendored(file.path), not named, -sizes[file.repo], file.repo, file.path.encode()
