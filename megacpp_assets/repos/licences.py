"""A file's licence: its own SPDX tag within the first lines, else the repository's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.storage.git_objects import BlobReader

_HEAD_BYTES = 8192
_SPDX = re.compile(rb"SPDX-License-Identifier:[ \t]*([A-Za-z0-9][A-Za-z0-9.+() -]{0,100}[A-Za-z0-9+)])")
_MARKS = (
    ("Apache-2.0", rb"Apache License\s+Version 2\.0|Apache License, Version 2\.0"),
    ("BSL-1.0", rb"Boost Software License"),
    ("GPL-2.0-only", rb"GNU GENERAL PUBLIC LICENSE\s+Version 2"),
    ("GPL-3.0-only", rb"GNU GENERAL PUBLIC LICENSE\s+Version 3"),
    ("MIT", rb"Permission is hereby granted, free of charge"),
    ("BSD-3-Clause", rb"(?s)Redistribution and use in source and binary forms.*Neither the name"),
    ("BSD-2-Clause", rb"Redistribution and use in source and binary forms"),
)
UNKNOWN = "NOASSERTION"


def with_file_licences(files: Iterable[SourceFile], blobs: BlobReader) -> Iterator[SourceFile]:
    """Each file, with the SPDX id found in its own head where it has one."""
    for file in files:
        tag = None if file.skipped else _SPDX.search(blobs.read(file.blob)[:_HEAD_BYTES])
        yield replace(file, license=tag[1].decode()) if tag else file


def repository_licence(texts: Iterable[bytes]) -> str:
    """SPDX id of the first licence file that is known, else NOASSERTION."""
    for text in texts:
        for spdx, mark in _MARKS:
            if re.search(mark, text):
                return spdx
    return UNKNOWN
