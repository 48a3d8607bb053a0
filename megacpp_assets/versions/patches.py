"""Reads the line differences of commits from one `git diff-tree` process: hunks of lines, numbered on both sides."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Final

from megacpp_assets.commits.log import NO_OBJECT
from megacpp_assets.contract.sources.commit import Commit
from megacpp_assets.repos.git import environment, require_success

CONTEXT: Final = 32
REMOVED: Final = 45
ADDED: Final = 43
"""The first byte of a line of a hunk: a space, `-` or `+`."""
_NO_NEWLINE: Final = 92
_BLOCK: Final = 1 << 20
_START: Final = re.compile(rb"^(?:diff --git |[0-9a-f]{40}$)", re.MULTILINE)
"""Lines of a file's text begin with one of the bytes above, so a line with this pattern begins a new section."""
_INDEX: Final = re.compile(rb"^index ([0-9a-f]{40})\.\.([0-9a-f]{40})", re.MULTILINE)
_HUNK: Final = re.compile(rb"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@.*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a hunk: `kind` is CONTEXT, REMOVED or ADDED; `text` has its line end, if the file has one there.

    `pre` and `post` count lines from 0. If the line is not on a side, it is the next line of that side.
    """

    kind: int
    text: bytes
    pre: int
    post: int


@dataclass(frozen=True, slots=True)
class Patch:
    """The difference of two blobs: git's unparsed section of a patch. The blob of a side that does not exist is ""."""

    blob_pre: str
    blob_post: str
    section: bytes

    def hunks(self) -> Iterator[list[PatchLine]]:
        """Yield the lines of each hunk. A binary file has no hunk."""
        starts = list(_HUNK.finditer(self.section))
        for number, found in enumerate(starts):
            end = starts[number + 1].start() if number + 1 < len(starts) else len(self.section)
            yield _lines(self.section[found.end() : end], int(found[1]), int(found[2]))

    @property
    def changed_bytes(self) -> int:
        """The size of the patch in bytes, context included: about the size of its document."""
        return len(self.section)


def _lines(body: bytes, first_pre: int, first_post: int) -> list[PatchLine]:
    # A side without lines has the number of the line before it, so both count from 0 by this.
    pre, post = max(first_pre - 1, 0), max(first_post - 1, 0)
    lines: list[PatchLine] = []
    for raw in body.split(b"\n")[:-1]:
        kind = raw[0] if raw else CONTEXT
        if kind == _NO_NEWLINE:
            lines[-1] = PatchLine(lines[-1].kind, lines[-1].text[:-1], lines[-1].pre, lines[-1].post)
            continue
        lines.append(PatchLine(kind, raw[1:] + b"\n", pre, post))
        pre += kind != ADDED
        post += kind != REMOVED
    return lines


def read_patches(git_dir: Path, commits: Iterable[str], context: int) -> Iterator[tuple[str, list[Patch]]]:
    """Yield (commit, its patches) in the order of `commits`, with `context` unchanged lines around each change.

    Memory holds the patches of one commit. Raises the errors of `git`.
    """
    command = [
        "git", "--git-dir", str(git_dir), "diff-tree", "--stdin", "-p", "-r", "--root", "-M", "-l400", "--full-index",
        f"-U{context}", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules",
    ]  # fmt: skip
    with tempfile.TemporaryFile() as listed, tempfile.TemporaryFile() as errors:
        listed.writelines(f"{commit}\n".encode() for commit in commits)
        listed.seek(0)
        with subprocess.Popen(
            command, stdin=listed, stdout=subprocess.PIPE, stderr=errors, env=environment()
        ) as process:
            assert process.stdout is not None
            try:
                yield from _by_commit(_sections(process.stdout))
            finally:
                process.kill()
            errors.seek(0)
            require_success("diff-tree", process.wait(), errors.read(_BLOCK))


BlobPair = tuple[str, str]
"""The blobs before and after a change."""


def patches_of(git_dir: Path, commits: Sequence[Commit], context: int) -> Iterator[dict[BlobPair, Patch]]:
    """Yield the patches of each of `commits`; none for a commit without a difference, which git leaves out."""
    patches = read_patches(git_dir, (commit.commit for commit in commits), context)
    following = next(patches, None)
    for commit in commits:
        if following is not None and following[0] == commit.commit:
            yield {(patch.blob_pre, patch.blob_post): patch for patch in following[1]}
            following = next(patches, None)
        else:
            yield {}


def _sections(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the sections of the output. Each begins with a commit or with a file."""
    rest = b""
    while block := stream.read(_BLOCK):
        rest += block
        starts = [found.start() for found in _START.finditer(rest)]
        for start, end in pairwise(starts):
            yield rest[start:end]
        rest = rest[starts[-1] :] if starts else rest
    if rest:
        yield rest


def _by_commit(sections: Iterable[bytes]) -> Iterator[tuple[str, list[Patch]]]:
    commit, patches = "", list[Patch]()
    for section in sections:
        if not section.startswith(b"diff --git "):
            if commit:
                yield commit, patches
            commit, patches = section[:40].decode(), []
        elif found := _INDEX.search(section):
            patches.append(Patch(_blob(found[1].decode()), _blob(found[2].decode()), section))
    if commit:
        yield commit, patches


def _blob(name: str) -> str:
    return "" if name == NO_OBJECT else name
