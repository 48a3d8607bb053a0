"""The embedded sample as git repositories of two tagged commits each. Their ids are the same on every machine."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

from megacpp_assets.repos.git import git
from megacpp_assets.repos.sources import SAMPLE_DIRECTORY

EMBEDDED = "sample-"
"""The prefix of the names of the repositories that are part of the package."""
TAGS = ("v1.0.0", "v1.1.0")
_PERSON = "megacpp_assets sample <sample@megacpp.invalid>"
_FIRST_DATE = 1_700_000_000


def make_sample_repositories(root: Path) -> list[str]:
    """Create `<root>/sample_git/<name>.git` for every sample repository that is missing; return the names of all."""
    trees = Path(str(resources.files("megacpp_assets.sample").joinpath("repos")))
    names = sorted(path.name for path in trees.iterdir() if path.is_dir())
    for name in names:
        target = root / SAMPLE_DIRECTORY / f"{name}.git"
        if not target.exists():
            _make(trees / name, target)
    return names


def _make(tree: Path, target: Path) -> None:
    temporary = target.with_suffix(".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.parent.mkdir(parents=True, exist_ok=True)
    git("init", "--bare", "--quiet", str(temporary))
    git("fast-import", "--quiet", git_dir=temporary, stdin=_import_stream(tree))
    git("symbolic-ref", "HEAD", "refs/heads/main", git_dir=temporary)
    temporary.rename(target)


def _import_stream(tree: Path) -> bytes:
    """Return a fast-import stream with one commit per tag. The second commit changes files of the first."""
    parts: list[bytes] = []
    for number, tag in enumerate(TAGS):
        message = f"Release {tag}\n".encode()
        parts.append(f"commit refs/heads/main\nmark :{number + 1}\n".encode())
        parts.append(f"committer {_PERSON} {_FIRST_DATE + number * 86_400} +0000\n".encode())
        parts.append(f"data {len(message)}\n".encode() + message)
        if number:
            parts.append(f"from :{number}\n".encode())
        folder = tree / tag
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            data = path.read_bytes()
            parts.append(f"M 100644 inline {path.relative_to(folder).as_posix()}\ndata {len(data)}\n".encode())
            parts.append(data + b"\n")
        parts.append(f"\nreset refs/tags/{tag}\nfrom :{number + 1}\n\n".encode())
    return b"".join(parts)
