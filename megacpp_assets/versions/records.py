"""Documents of commits as JSONL records: the keys of semantic documents, and the runs of the commit's edits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import TRAIN_SPLIT, VALID_SPLIT
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.schemas import JSONL_KEYS
from megacpp_assets.contract.sources.commit import Change, Commit
from megacpp_assets.semantic.documents.text.platforms import platform_ids
from megacpp_assets.versions.text.pieces import Pieces

_CHARS_PER_TOKEN: Final = 4


def names_of(change: Change) -> tuple[str, ...]:
    """Return every path that the file of `change` has had."""
    return (change.path, change.old_path, *change.names)


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """The repository of documents, and functions of a file's names: its licence, and whether it is held out."""

    repo: RepoRef
    license_of: Callable[[Sequence[str]], str]
    validates: Callable[[Sequence[str]], bool]


def record(version: str, commit: Commit, change: Change, pieces: Pieces, origin: LineOrigin) -> bytes:
    """Return the JSON line of a document of `commit`. Label columns are empty, which stands for their fill values."""
    text = pieces.text
    identity = "\0".join((origin.repo.name, version, commit.commit, change.path, text))
    starts, ends = ([part[key] for part in pieces.constituents] for key in ("byte_start", "byte_end"))
    first, end = pieces.span or (min(starts, default=0), max(ends, default=0))
    values: dict[str, Any] = {
        c.DOC_ID: hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:32],
        c.REPO: origin.repo.name,
        c.REF: origin.repo.ref,
        c.COMMIT: commit.commit,
        c.FILEPATH: change.path,
        c.BYTE_START: first,
        c.BYTE_END: end,
        c.LICENSE: origin.license_of(names_of(change)),
        c.SPLIT: VALID_SPLIT if origin.validates(names_of(change)) else TRAIN_SPLIT,
        c.CONSTITUENTS: pieces.constituents,
        c.LANGUAGE: change.language,
        c.PLATFORM_IDS: platform_ids(text, "", [change.path]),
        c.TEXT: text,
        **dict.fromkeys(c.PAINTED_COLUMNS, ()),
        c.ROLES: pieces.roles,
        c.CHUNK_BOUNDARIES: pieces.chunks,
        c.CALL_EDGES: pieces.calls,
        c.TYPE_EDGES: pieces.types,
        c.TOKEN_ESTIMATE: len(text) // _CHARS_PER_TOKEN,
    }
    ordered = {key: values[key] for key in JSONL_KEYS} | {c.CHANGES: pieces.changes}
    return orjson.dumps(ordered, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
