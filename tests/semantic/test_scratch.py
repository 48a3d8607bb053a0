from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.file_policy import CLASHING_PATH, NOT_PLAIN_PATH
from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.semantic.scratch import export, is_plain


class _Blobs:
    """Blobs by id, as `BlobReader` gives them."""

    def __init__(self, blobs: dict[str, bytes]) -> None:
        self._blobs = blobs

    def read(self, blob: str) -> bytes:
        return self._blobs[blob]


def _export(tree: Path, files: dict[str, bytes], language: str = "c++"):  # type: ignore[no-untyped-def]
    entries = [
        SourceFile(path, path, len(data), language if path.endswith((".h", ".cc")) else "", False, "MIT")
        for path, data in files.items()
    ]
    return export(tree, entries, _Blobs(files), 1000)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/etc/passwd", "../a.h", "a/../b.h", "a//b.h", "./a.h", "a\nb.h", ".megacpp/x.h", ""])
def test_a_path_that_could_leave_the_folder_is_not_plain(path: str) -> None:
    assert not is_plain(path)


def test_an_unsafe_path_is_recorded_and_nothing_is_written(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    sources = _export(tree, {"../out.h": b"int x;", "in.h": b"int y;"})
    assert [(file.path, reason) for file, reason in sources.refused] == [("../out.h", NOT_PLAIN_PATH)]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in.h", "tree"]


def test_a_file_where_another_needs_a_folder_is_recorded(tmp_path: Path) -> None:
    sources = _export(tmp_path, {"a.h": b"int x;", "a.h/b.h": b"int y;"})
    assert [reason for _, reason in sources.refused] == [CLASHING_PATH]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside.h"
    outside.write_bytes(b"kept")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.h").symlink_to(outside)
    _export(tree, {"a.h": b"int x;"})
    assert outside.read_bytes() == b"kept"


def test_refused_sources_fragments_and_templates_stay_available_to_the_compiler(tmp_path: Path) -> None:
    files = {
        "a.cc": b'#include "ops.def"\n#include "big.h"\n',
        "ops.def": b'#include "more.def"\n',
        "more.def": b"OP(x)\n",
        "other.def": b"unused\n",
        "big.h": b"int x;" * 400,
        "config.h.in": b"#cmakedefine A\n",
        "notes.txt": b"text\n",
        "Kbuild": b"obj-y += a.o\n",
        "deep/Kbuild": b"obj-y += b.o\n",
    }
    sources = _export(tmp_path, files)
    assert [file.path for file, _ in sources.taken] == ["a.cc"]
    assert {file.path for file in sources.companions} == {"ops.def", "more.def", "big.h", "config.h.in", "Kbuild"}
    assert all(file.skipped for file in sources.companions)
    assert (tmp_path / "big.h").read_bytes() == files["big.h"]
