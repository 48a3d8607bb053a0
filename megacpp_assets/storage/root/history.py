"""Keeps every manifest of a data root under its hash, so that replaced and removed artifacts stay traceable.

A kept manifest is one line with the path of the artifact, and then the bytes of the manifest. It is written before the
artifact is sealed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.storage.atomic import write_any
from megacpp_assets.storage.root.layout import HISTORY

_KEPT = re.compile(r"[0-9a-f]{64}")


def keep_manifest(root: Path, path: str, manifest: bytes) -> None:
    """Keep the manifest of the artifact at `path`, unless it is already kept."""
    file = root / HISTORY / sha256_bytes(manifest)
    if not file.exists():
        write_any(file, path.encode() + b"\n" + manifest)


def kept_manifests(root: Path) -> set[str]:
    """Return the sha256 of every kept manifest."""
    try:
        return {name for name in os.listdir(root / HISTORY) if _KEPT.fullmatch(name)}
    except FileNotFoundError:
        return set()


def kept_manifest(root: Path, sha256: str) -> tuple[str, bytes]:
    """Return the path of the artifact and the bytes of its manifest; `LineageGap` if the hash differs."""
    # There are thousands of them, and pathlib would take as long as reading them.
    with open(f"{root}/{HISTORY}/{sha256}", "rb", buffering=0) as file:
        path, _, manifest = file.read().partition(b"\n")
    if (found := sha256_bytes(manifest)) != sha256:
        again = f"before megacpp run replaces {path.decode(errors='replace')}, it keeps the manifest again"
        do = f"restore it from a copy, or remove it: {again}"
        raise LineageGap(f"{HISTORY}/{sha256}", expected="the manifest of that sha256", found=f"sha256 {found}", do=do)
    return path.decode(), manifest
