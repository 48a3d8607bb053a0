"""Copies of files across repositories, by the signatures that `curated_files` stored: clusters, and which copy stays.

Nothing is drawn and no order of arrival counts: files are taken in the order of repository and path. A file is a copy
of the one that stays only if both are similar; that they are in one cluster is not enough.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, lru_cache
from pathlib import Path

from megacpp_assets.compute.shingles import Shingles, shingles
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.sources.curated import DECISIONS_FILE, KEEP, SIGNATURES_FILE
from megacpp_assets.contract.sources.file_policy import SHARED_COPY
from megacpp_assets.curation.copies import KEPT_TEXTS, Copies, is_vendored, jaccard, signature_of
from megacpp_assets.curation.copies_list import SharedCopy, ordered
from megacpp_assets.curation.shared_index import SharedFile, SharedIndex, open_index
from megacpp_assets.semantic.tree.text import decode
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.git_objects import BlobReader, blob_reader
from megacpp_assets.storage.parquet import row_groups
from megacpp_assets.storage.root.layout import curated_path, raw_path


def find_shared(root: Path, sources: Iterable[tuple[str, RepoRef, bool]], least: float) -> list[SharedCopy]:
    """Return the copies among the repositories of `sources`, each (dataset, repository, whether its files stay first).

    `least` is the similarity of copies. Signatures are on disk meanwhile: memory grows with the copies found and with
    the largest cluster alone. Raises `LineageGap` if a repository was not curated.
    """
    listed = list(sources)
    with open_index() as index, ExitStack() as opened:
        for number, (dataset, repo, first) in enumerate(listed):
            curated = open_artifact(root, curated_path(dataset, repo)).fetched()
            columns = ["filepath", "blob", "decision", "reason"]
            for table in row_groups(curated.file(DECISIONS_FILE), columns):
                rows = (row for row in table.to_pylist() if row["decision"] == KEEP or row["reason"] == SHARED_COPY)
                index.add_files(SharedFile(repo.name, row["filepath"], row["blob"], first) for row in rows)
            for table in row_groups(curated.file(SIGNATURES_FILE), ["blob", "signature"]):
                for row in table.to_pylist():
                    index.add_content(row["blob"], number, signature_of(row["signature"]))
        readers: dict[RepoRef, BlobReader] = {}

        def text_of(blob: str) -> str:
            repo = listed[index.owner(blob)][1]
            if repo not in readers:
                readers[repo] = opened.enter_context(blob_reader(open_artifact(root, raw_path(repo))))
            return decode(blob, readers[repo].read(blob)).text

        return _shared(index, text_of, least)


def shared_copies(
    files: Iterable[SharedFile], copies: Copies, text_of: Callable[[str], str], least: float
) -> list[SharedCopy]:
    """Return a line for each file of a cluster with files of two repositories or more."""
    with open_index() as index:
        for blob, signature in copies.signatures():
            index.add_content(blob, 0, signature)
        index.add_files(files)
        return _shared(index, text_of, least)


def _shared(index: SharedIndex, text_of: Callable[[str], str], least: float) -> list[SharedCopy]:
    @lru_cache(maxsize=KEPT_TEXTS)
    def runs_of(blob: str) -> Shingles:
        return shingles(text_of(blob))

    def similar(one: str, other: str) -> bool:
        return jaccard(runs_of(one), runs_of(other)) >= least

    sizes = index.sizes()
    return ordered(copy for group in index.groups(similar) for copy in _judged(group, sizes, text_of, least))


def _judged(
    group: Sequence[SharedFile], sizes: Mapping[str, int], text_of: Callable[[str], str], least: float
) -> Iterator[SharedCopy]:
    stays = min(group, key=lambda file: _rank(file, sizes))
    cluster = hashlib.sha256(f"{stays.repo}\0{stays.blob}".encode()).hexdigest()[:16]
    own = cache(lambda: shingles(text_of(stays.blob)))  # if all files are equal, no text is read
    alike = {stays.blob: True}
    for file in group:
        if file.blob not in alike:
            alike[file.blob] = jaccard(own(), shingles(text_of(file.blob))) >= least
        copied = file.repo != stays.repo and not file.first and alike[file.blob]
        yield SharedCopy(cluster, file.repo, file.path, file.blob, f"{stays.repo}:{stays.path}" if copied else "")


def _rank(file: SharedFile, sizes: Mapping[str, int]) -> tuple[bool, bool, bool, int, str, bytes]:
    """Of copies the first by this order stays.

    One of a dataset that stays first; one outside of folders for others' code; one below a folder or file that has its
    repository's name, such as `zlib/` in zlib; that of the larger repository; the first by repository and path.
    """
    words = {posixpath.splitext(part)[0].lower() for part in file.path.split("/")}
    named = file.repo.lower() in words
    return not file.first, is_vendored(file.path), not named, -sizes.get(file.repo, 0), file.repo, file.path.encode()
