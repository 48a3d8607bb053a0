"""Folders that a client sends to other hosts."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
import zstandard

from megacpp_assets.compute.executors.folders import _unpack, pack_folder
from tests.compute.batches import Shared


def _archive(entry: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(entry, io.BytesIO(b"x" * entry.size))
    return zstandard.compress(buffer.getvalue())


def _entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def test_a_folder_is_the_same_after_it_was_packed_and_unpacked(tmp_path: Path) -> None:
    (tmp_path / "tree" / "a").mkdir(parents=True)
    (tmp_path / "tree" / "a" / "b.h").write_bytes(b"\0int b;\n" * 100_000)
    (tmp_path / "tree" / "empty.h").touch()
    local = tmp_path / "host" / "place" / "tree"
    local.parent.parent.mkdir()
    _unpack(Shared(str(tmp_path / "tree")), pack_folder(str(tmp_path / "tree")), local)
    assert (local / "a" / "b.h").read_bytes() == b"\0int b;\n" * 100_000
    assert (local / "empty.h").read_bytes() == b""


@pytest.mark.parametrize(
    "entry",
    [
        _entry("../out.h"),
        _entry("a/../../out.h"),
        _entry("/tmp/out.h"),
        _entry("out.h", tarfile.SYMTYPE, "/etc/passwd"),
        _entry("out.h", tarfile.LNKTYPE, "/etc/passwd"),
        _entry("out.h", tarfile.FIFOTYPE),
    ],
)
def test_an_archive_with_anything_but_regular_files_below_the_folder_is_rejected(
    entry: tarfile.TarInfo, tmp_path: Path
) -> None:
    local = tmp_path / "host" / "place" / "tree"
    local.parent.parent.mkdir()
    with pytest.raises(ValueError, match=r"expected regular files below it, found"):
        _unpack(Shared(str(tmp_path)), _archive(entry), local)
    assert not [each for each in tmp_path.rglob("*") if each.is_file() or each.is_symlink()]
