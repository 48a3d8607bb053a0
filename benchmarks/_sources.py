"""The C/C++ texts that the tokenizer's benchmarks read: files of a directory, or of a commit of a git repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.storage.git_objects import git_environment

SOURCE = "a directory of C/C++ files, or GITDIR@REF of a git repository"
SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inc", ".ipp", ".tcc")
_HEADERS = "/usr/include"


def default_sources() -> list[str]:
    """The mirror's repositories, where there is a mirror, and the installed headers."""
    mirror = os.environ.get("MEGACPP_GIT_MIRROR")
    named = (("fmtlib", "fmt", "11.0.0"), ("google", "googletest", "v1.15.0"))
    repos = [f"{mirror.format(owner=owner, name=name)}@{ref}" for owner, name, ref in named] if mirror else []
    return [*repos, _HEADERS]


def load(sources: Sequence[str]) -> list[bytes]:
    """Distinct UTF-8 texts of all sources, in order; `SpecError` for a source that is not there or has none."""
    texts: dict[bytes, None] = {}
    for source in sources:
        found = [text for text in _read(source) if b"\0" not in text and _decodes(text)]
        if not found:
            raise SpecError(f"source {source!r}", expected=SOURCE, found="no C/C++ file in it")
        texts.update(dict.fromkeys(found))
    return list(texts)


def portions(texts: Sequence[bytes], count: int, budget: int) -> list[list[str]]:
    """`count` portions of about `budget` bytes, no text in two of them, each with files from everywhere.

    Of a small corpus the portions are smaller. `SpecError` if it has fewer than `count` files.
    """
    if len(texts) < count:
        raise SpecError("sources of the benchmark", expected=f"at least {count} distinct files", found=f"{len(texts)}")
    step = max(count, sum(map(len, texts)) // budget)
    step = min(step, len(texts))
    return [[text.decode("utf-8") for text in texts[first::step]] for first in range(count)]


def _read(source: str) -> Iterator[bytes]:
    directory, _, ref = source.rpartition("@")
    if Path(source).is_dir():
        return _read_directory(Path(source))
    if directory and ref and Path(directory).is_dir():
        return _read_commit(directory, ref)
    raise SpecError(f"source {source!r}", expected=SOURCE, found="no such directory")


def _read_directory(directory: Path) -> Iterator[bytes]:
    files = sorted(path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
    for path in files:
        if path.suffix in SUFFIXES or ("c++" in path.parts and not path.suffix):
            yield path.read_bytes()


def _read_commit(directory: str, ref: str) -> Iterator[bytes]:
    try:
        listing = _git(directory, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", f"{ref}^{{commit}}")
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise SpecError(f"source '{directory}@{ref}'", expected=SOURCE, found=said) from error
    for line in listing.decode().split("\0"):
        facts, _, path = line.partition("\t")
        if path.endswith(SUFFIXES):
            yield _git(directory, "cat-file", "blob", facts.split()[2])


def _git(directory: str, *arguments: str) -> bytes:
    """Output of a git command over a repository's git directory."""
    command = ["git", "--git-dir", directory, *arguments]
    return subprocess.run(command, capture_output=True, check=True, env=git_environment()).stdout


def _decodes(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
