"""The one byte representation of values that are hashed or stored: canonical JSON, sha256, fingerprints."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20


def canonical_json(value: Any) -> bytes:
    """Return `value` as UTF-8 JSON with sorted keys, two-space indent, a final newline and no NaN."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def sha256_bytes(data: bytes) -> str:
    """Return the sha256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Return the sha256 of the file at `path` in hexadecimal. The file is read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def fingerprint(facts: Mapping[str, Any]) -> str:
    """Return the identity of a piece of work: the sha256 of `facts` as canonical JSON."""
    return sha256_bytes(canonical_json(facts))
