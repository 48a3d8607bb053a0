"""Versions of files: which are rejected, and why."""

from __future__ import annotations

import pytest

from megacpp_assets.contract.sources.file_policy import GENERATED, NOT_UTF8
from megacpp_assets.versions.files import FileVersions


class _Blobs:
    """Blobs by their id."""

    def __init__(self, **blobs: bytes) -> None:
        self._blobs = blobs

    def read(self, blob: str) -> bytes:
        return self._blobs[blob]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"int x;\n", ""),
        (b"// @generated\nint x;\n", GENERATED),
        (b"// caf\xe9\nint x;\n", NOT_UTF8),
    ],
)
def test_a_version_that_a_tool_wrote_or_that_is_not_utf8_is_rejected(data: bytes, reason: str) -> None:
    assert FileVersions(_Blobs(one=data), 1000).get("one").reason == reason  # type: ignore[arg-type]
