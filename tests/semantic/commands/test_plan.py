from __future__ import annotations

import json
from pathlib import Path

import pytest

from megacpp_assets.semantic.commands.plan import STUB_FOLDER, Standards
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.parsing.worker import CALL_EXPRESSION
from tests.semantic.parsing_trees import parse_in_process, planned, write_tree


def test_without_a_database_every_file_gets_inferred_folders_and_its_languages_standard(tmp_path: Path) -> None:
    files = write_tree(tmp_path, {"include/a.h": "", "src/a.cpp": "#include <a.h>\n", "src/b.c": "", "readme.md": ""})
    units = planned(tmp_path, files, Standards(c="gnu17", cpp="c++20"))
    assert [(unit.path, unit.mode, unit.header) for unit in units] == [
        ("include/a.h", "inferred", True),
        ("src/a.cpp", "inferred", False),
        ("src/b.c", "inferred", False),
    ]
    assert units[1].arguments == ("-x", "c++", "-std=c++20", "-Iinclude")
    assert units[2].arguments == ("-x", "c", "-std=gnu17", "-Iinclude")


def test_a_byte_order_mark_hides_no_include(tmp_path: Path) -> None:
    sources = {"src/a.cc": '\ufeff#include "a.h"\n', "include/a.h": "\n"}
    (unit, _) = planned(tmp_path, write_tree(tmp_path, sources), Standards())[::-1]
    assert "-Iinclude" in unit.arguments


def test_a_file_in_no_target_borrows_the_commonest_arguments_of_its_neighbours(tmp_path: Path) -> None:
    names = ("lib/a.cpp", "lib/b.cpp", "lib/c.cpp", "lib/new.cpp", "lib/new.h", "tool/t.cpp", "other/o.c")
    flags = {"lib/a.cpp": "-DLIB", "lib/b.cpp": "-DLIB", "lib/c.cpp": "-DODD", "tool/t.cpp": "-DTOOL"}
    entries = [
        {"directory": ".", "file": name, "arguments": ["cc", flag, "-std=c++20"]} for name, flag in flags.items()
    ]
    files = write_tree(tmp_path, {**dict.fromkeys(names, ""), "compile_commands.json": json.dumps(entries)})
    units = {unit.path: unit for unit in planned(tmp_path, files, Standards())}
    assert units["lib/c.cpp"].mode == "database"
    assert units["lib/c.cpp"].arguments == ("-x", "c++", "-std=c++20", "-DODD")
    for path in ("lib/new.cpp", "lib/new.h"):
        assert units[path].mode == "nearest"
        assert units[path].arguments == ("-x", "c++", "-std=c++20", "-DLIB")
    assert units["other/o.c"].arguments == ("-x", "c", "-std=gnu11", "-DLIB")


def test_stubs_are_written_only_where_the_tree_has_nothing_of_that_name(tmp_path: Path) -> None:
    sources = {"a.cpp": '#include "config.h"\n', "config.h.in": "#cmakedefine A\n"}
    files = write_tree(tmp_path / "plain", sources)
    (unit,) = planned(tmp_path / "plain", files, Standards())
    assert unit.arguments[-1] == f"-idirafter{STUB_FOLDER}"
    assert (tmp_path / "plain" / STUB_FOLDER / "config.h").read_text() == "/* #undef A */\n"
    files = write_tree(tmp_path / "taken", {**sources, ".megacpp": "a file of the repository"})
    (unit,) = planned(tmp_path / "taken", files, Standards())
    assert unit.arguments[-1] == "-DHAVE_CONFIG_H"


def test_stubs_that_cannot_all_be_files_are_written_as_far_as_they_can(tmp_path: Path) -> None:
    """Of a header and one in a folder of its name, the header stays: whatever a tree includes, the plan is made."""
    text = '#include "config.h"\n#include "config.h/x.h"\n#include <generated/a>\n#include <generated/a/b>\n'
    kernel = {"Kbuild": "\n", "include/linux/kconfig.h": "\n", "core/a.c": text}
    planned(tmp_path, write_tree(tmp_path, {**kernel, "config.h.in": "", "x.h.in": ""}), Standards())
    stubs = tmp_path / STUB_FOLDER
    found = {path.relative_to(stubs).as_posix() for path in stubs.rglob("*") if path.is_file()}
    assert found == {"config.h", "generated/a"}


def _database(**arguments: str) -> str:
    entries = [{"directory": ".", "file": f"{n}.cpp", "arguments": ["c++", *a.split()]} for n, a in arguments.items()]
    return json.dumps(entries)


def test_stubs_are_also_written_with_a_database(tmp_path: Path) -> None:
    sources = {"a.cpp": "#include <config.h>\n#if A\n#endif\nint v = B;\n", "config.h.in": "#cmakedefine01 B\n",
               "new.cpp": '#include "config.h"\nint w = B;\n', "samples/config.h": "#error another one\n",
               "compile_commands.json": _database(a="-DA=1")}  # fmt: skip
    units = {
        unit.path: unit for unit in planned(tmp_path / "plan", write_tree(tmp_path / "plan", sources), Standards())
    }
    assert {unit.mode for unit in units.values()} == {"database", "nearest"}
    assert all(unit.arguments[-1] == f"-idirafter{STUB_FOLDER}" for unit in units.values())
    found = parse_in_process(tmp_path / "parsed", sources)
    assert [(path, found[path].errors) for path in ("a.cpp", "new.cpp")] == [("a.cpp", 0), ("new.cpp", 0)]


def test_a_database_may_lead_to_headers_of_the_system_that_are_in_no_default_folder(tmp_path: Path) -> None:
    text = "#include <stddef.h>\n#include <udp.h>\nstruct udphdr header;\n"  # linux/udp.h
    sources = {
        "a.cpp": text,
        "b.cpp": text,
        "compile_commands.json": _database(a="-isystem /usr/include/linux", b="-DB"),
    }
    found = parse_in_process(tmp_path, sources)
    assert found["a.cpp"].errors == 0 and found["b.cpp"].errors > 0


def test_a_stub_never_shadows_a_header_that_the_database_leads_to(tmp_path: Path) -> None:
    sources = {"a.cpp": "#include <config.h>\nint v = REAL;\n", "b.cpp": '#include "config.h"\nint w = REAL;\n',
               "config.h.in": "#cmakedefine REAL\n", "real/config.h": "#define REAL 1\n",
               "compile_commands.json": _database(a="-isystem real", b="-idirafter real")}  # fmt: skip
    found = parse_in_process(tmp_path, sources)
    assert (tmp_path / STUB_FOLDER / "config.h").is_file()
    assert [(path, found[path].errors) for path in ("a.cpp", "b.cpp")] == [("a.cpp", 0), ("b.cpp", 0)]


CUDA = """\
#include <cmath>
#include <vector>
__device__ __host__ inline float root(float x) { return std::sqrt(x); }
template <class T> __global__ void fill(T *p) { __shared__ T s[4]; s[threadIdx.x] = root(2); p[blockIdx.x] = s[0]; }
void launch(float *p, int n) { fill<float><<<dim3(n, 2), 32, 0>>>(p); std::vector<int> v; v.push_back(n); }
"""


@pytest.mark.parametrize("database", ["[]", '[{"directory": ".", "file": "a.cu", "command": "nvcc -DN=1 -c a.cu"}]'])
def test_the_launch_of_a_cuda_kernel_is_a_resolved_call(tmp_path: Path, database: str) -> None:
    files = {"a.cu": CUDA, "b.cuh": CUDA, "c.cc": "int g();\n", "compile_commands.json": database}
    parsed = parse_in_process(tmp_path, files)
    assert {path: file.errors for path, file in parsed.items()} == {"a.cu": 0, "b.cuh": 0, "c.cc": 0}
    for path in ("a.cu", "b.cuh"):
        assert {"root", "fill", "sqrt", "push_back"} <= _called(parsed[path])


def test_exports_of_modules_are_parsed_in_every_standard(tmp_path: Path) -> None:
    text = "export module geo;\nimport other;\nexport int area(int a) { return a; }\nint two() { return area(2); }\n"
    parsed = parse_in_process(
        tmp_path, {"geo.cc": text, "plain.cc": "int f();\n", "CMakeLists.txt": "set(CMAKE_CXX_STANDARD 20)\n"}
    )
    assert parsed["geo.cc"].standard == "c++20"
    assert _called(parsed["geo.cc"]) == {"area"}


def _called(file: ParsedFile) -> set[str]:
    assert file.cursors is not None
    used = file.cursors.uses[file.cursors.kind == CALL_EXPRESSION].tolist()
    return {file.symbols.spelling[row] for row in used if row >= 0}
