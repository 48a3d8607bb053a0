"""One byte representation for facts that are hashed or stored: canonical JSON, sha256, fingerprints."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20


def canonical_json(value: Any) -> bytes:
    """`value` as UTF-8 JSON: sorted keys, two-space indent, final newline, no NaN."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def sha256_bytes(data: bytes) -> str:
    """Hex sha256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex sha256 of the file at `path`, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Identity of a piece of work: sha256 of its canonical facts."""
    return sha256_bytes(canonical_json(facts))
