from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.file_policy import (
    CLASHING_PATH,
    NO_ROOM,
    NOT_INCLUDED,
    NOT_PLAIN_PATH,
    TOO_LARGE,
    TREE_BYTES,
)
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.tree import export as exporting
from megacpp_assets.semantic.tree.export import export, export_whole
from megacpp_assets.semantic.tree.folder import is_plain


class _Blobs:
    """Blobs by id, as `BlobReader` gives them."""

    def __init__(self, blobs: dict[str, bytes]) -> None:
        self._blobs = blobs
        self.asked: list[str] = []

    def read(self, blob: str) -> bytes:
        self.asked.append(blob)
        return self._blobs[blob]


def _listed(files: dict[str, bytes]) -> list[SourceFile]:
    return [
        SourceFile(path, path, len(data), "c++" if path.endswith((".h", ".cc", ".def", ".inc")) else "", False, "MIT")
        for path, data in files.items()
    ]


def _export(tree: Path, files: dict[str, bytes]):  # type: ignore[no-untyped-def]
    return export(tree, _listed(files), _Blobs(files), 1000)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/etc/passwd", "../a.h", "a/../b.h", "a//b.h", "./a.h", "a\nb.h", ".megacpp/x.h", ""])
def test_a_path_that_could_leave_the_folder_is_not_plain(path: str) -> None:
    assert not is_plain(path)


def test_an_unsafe_path_is_recorded_and_nothing_is_written(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    sources = _export(tree, {"../out.h": b"int x;", "in.h": b"int y;"})
    assert [(file.path, reason) for file, reason in sources.rejected] == [("../out.h", NOT_PLAIN_PATH)]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in.h", "tree"]


def test_a_file_where_another_needs_a_folder_is_recorded(tmp_path: Path) -> None:
    sources = _export(tmp_path, {"a.h": b"int x;", "a.h/b.h": b"int y;"})
    assert [reason for _, reason in sources.rejected] == [CLASHING_PATH]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside.h"
    outside.write_bytes(b"kept")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.h").symlink_to(outside)
    _export(tree, {"a.h": b"int x;"})
    assert outside.read_bytes() == b"kept"


def test_rejected_sources_fragments_and_templates_stay_available_to_the_compiler(tmp_path: Path) -> None:
    files = {
        "a.cc": b'#include "ops.tbl"\n#include "big.h"\n',
        "ops.tbl": b'#include "more.tbl"\n',
        "more.tbl": b"OP(x)\n",
        "other.tbl": b"unused\n",
        "big.h": b"int x;" * 400,
        "config.h.in": b"#cmakedefine A\n",
        "notes.txt": b"text\n",
        "Kbuild": b"obj-y += a.o\n",
        "deep/Kbuild": b"obj-y += b.o\n",
    }
    sources = _export(tmp_path, files)
    assert [file.path for file, _ in sources.taken] == ["a.cc"]
    assert {file.path for file in sources.companions} == {"ops.tbl", "more.tbl", "big.h", "config.h.in", "Kbuild"}
    assert all(file.skipped for file in sources.companions)
    assert (tmp_path / "big.h").read_bytes() == files["big.h"]


def test_a_blob_over_the_size_limit_is_never_read(tmp_path: Path) -> None:
    zeros = SourceFile("x.cc", "zeros", 5 << 30, "c++", False, "MIT")
    blobs = _Blobs({"a.cc": b'#include "x.cc"\n'})
    sources = export(tmp_path, [*_listed({"a.cc": b'#include "x.cc"\n'}), zeros], blobs, 1000)  # type: ignore[arg-type]
    assert [(file.path, reason) for file, reason in sources.rejected] == [("x.cc", TOO_LARGE)]
    assert blobs.asked == ["a.cc"]


def test_a_tree_takes_no_more_than_its_room_whatever_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"tree over {TREE_BYTES >> 30} GiB" == NO_ROOM
    monkeypatch.setattr(file_policy, "TREE_BYTES", 1000)
    sources = {f"{index}.cc": b'#include "table.dat"\n'.ljust(300) for index in range(5)}
    files = {**sources, **{f"{index}/table.dat": b"1,".ljust(90) for index in range(5)}}
    found = _export(tmp_path, files)
    assert [file.path for file, _ in found.taken] == ["0.cc", "1.cc", "2.cc"]
    assert [file.path for file in found.companions] == ["0/table.dat"]
    left_out = ["3.cc", "4.cc", *(f"{index}/table.dat" for index in range(1, 5))]
    assert [(file.path, reason) for file, reason in found.rejected] == [(path, NO_ROOM) for path in left_out]
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 1000


def test_a_tree_over_its_room_is_not_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"CMakeLists.txt": b"project(a)\n", "a.cc": b"int a;\n"}
    assert export_whole(tmp_path / "fits", _listed(files), _Blobs(files)) == ""  # type: ignore[arg-type]
    monkeypatch.setattr(file_policy, "TREE_BYTES", 10)
    assert export_whole(tmp_path / "tree", _listed(files), _Blobs(files)) == NO_ROOM  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["CMakeLists.txt", "a.cc", "fits"]


def test_many_fragments_cost_their_number_and_not_its_square(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 300
    wide = {f"{index}.inc": b"1,\n" for index in range(count)}
    chain = {f"c{index}.def": f'#include "c{index + 1}.def"\n'.encode() for index in range(count)}
    first = "".join(f'#include "{path}"\n' for path in (*wide, "c0.def"))[:100_000].encode()
    files = {"big.h": first, **wide, **chain, "a.cc": b'#include "big.h"\n'}
    looks = 0

    def counted(function: Callable[..., bool]) -> Callable[..., bool]:
        def call(*arguments: object) -> bool:
            nonlocal looks
            looks += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(SourceFile, "__eq__", counted(SourceFile.__eq__))
    monkeypatch.setattr(exporting, "describes_build", counted(exporting.describes_build))
    sources = _export(tmp_path, files)
    assert {file.path for file in sources.companions} == {"big.h", *wide, *chain}
    assert looks <= 2 * len(files)


def test_a_def_or_inc_is_code_where_a_text_names_it_and_else_recorded(tmp_path: Path) -> None:
    files = {
        "a.cc": b'#include "sub/first.def"\n#define TABLE <second.def>\n',
        "sub/first.def": b'#include "third.def"\nX(1)\n',
        "second.def": b"X(2)\n",
        "third.def": b"X(3)\n",
        "exports.def": b"LIBRARY a\nEXPORTS\n f\n",
        "Makefile.inc": b"CC = gcc\n",
        "table.inc": b"1, 2,\n",
        "table.h": b'int table[] = {\n#include "table.inc"\n};\n',
    }
    found = _export(tmp_path, files)
    assert [file.path for file, _ in found.taken] == [
        "a.cc",
        "second.def",
        "sub/first.def",
        "table.h",
        "table.inc",
        "third.def",
    ]
    assert [(file.path, reason) for file, reason in found.rejected] == [
        ("Makefile.inc", NOT_INCLUDED),
        ("exports.def", NOT_INCLUDED),
    ]


def test_an_included_file_with_no_suffix_is_a_header(tmp_path: Path) -> None:
    text = b'#include "lib/Core"\n#include <list>\n#include "NEWS.tpl"\nint a();'
    names = {"lib/Core": b"int b();", "list": b"milk", "NEWS.tpl": b"int c();", "README": b"text"}
    listed = [replace(file, skipped="" if file.language else file_policy.NOT_CODE) for file in _listed(names)]
    sources = export(tmp_path, [*_listed({"a.cc": text}), *listed], _Blobs({"a.cc": text, **names}), 1000)  # type: ignore[arg-type]
    assert [file.path for file, _ in sources.taken] == ["NEWS.tpl", "a.cc", "lib/Core"]


LINKS = {
    "include/pool": b"../src/pond", "include/one.h": b"../src/pond/w.h", "include/config.h": b"../config.linux",
    "chain.h": b"include/one.h", "out": b"/etc", "up": b"../..", "round": b"round", "self": b".", "none.h": b"gone.h",
}  # fmt: skip


def test_what_links_name_inside_the_tree_has_the_links_paths_too(tmp_path: Path) -> None:
    files = {"src/pond/w.h": b"int w();", "src/pond/deep/v.h": b"int v();", "config.linux": b"#define A 1\n"}
    links = [replace(file, skipped=file_policy.SYMLINK) for file in _listed(LINKS)]
    sources = export(tmp_path, [*_listed(files), *links], _Blobs(files | LINKS), 1000)  # type: ignore[arg-type]
    second = {"include/pool/w.h", "include/pool/deep/v.h", "include/one.h", "include/config.h", "chain.h"}
    assert {file.path for file in sources.companions} == second
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == {
        "src/pond/w.h", "src/pond/deep/v.h", *second,
    }  # fmt: skip
    assert (tmp_path / "chain.h").samefile(tmp_path / "src/pond/w.h"), "so that #pragma once holds"
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))
    assert {file.path for file, reason in sources.rejected if reason == file_policy.SYMLINK} == {
        path for path in LINKS if path.endswith(".h")
    }


def test_a_header_with_classes_in_a_tree_of_c_is_cpp(tmp_path: Path) -> None:
    texts = {"a.h": b"int a(void);\n", "b.h": b"class B {\n};\n", "c.c": b"int a(void) { return 1; }\n"}
    files = [SourceFile(path, path, len(data), "c", path.endswith(".h"), "MIT") for path, data in texts.items()]
    taken = export(tmp_path, files, _Blobs(texts), 1000).taken
    assert {file.path: file.language for file, _ in taken} == {"a.h": "c", "b.h": "c++", "c.c": "c"}
