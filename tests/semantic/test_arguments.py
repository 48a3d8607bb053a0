from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megacpp_assets.semantic.arguments import allowed, for_language, language_of
from megacpp_assets.semantic.tree_paths import TreePaths

HOSTILE = (
    ["-MD", "-MF", "/tmp/evil.py", "-MT", "import os"], ["-MMD", "-MF", "evil.d"], ["-Wp,-MD,evil.d"],
    ["-MJ", "evil.json"],
    ["-gen-cdb-fragment-path", "evil"], ["-Xclang", "-dependency-dot", "-Xclang", "evil.dot"],
    ["-Xclang", "-header-include-file", "-Xclang", "evil"], ["@/etc/passwd"], ["@args.rsp"], ["--config=/etc/passwd"],
    ["--config", "/etc/passwd"], ["-ivfsoverlay", "/etc/passwd"], ["-include", "/etc/passwd"], ["-include/etc/passwd"],
    ["-imacros", "../outside.h"], ["-I/etc", "-include", "passwd"], ["-idirafter", "/"], ["-isystem", "/etc"],
    ["-isystem=/etc"], ["-I=/etc"], ["-iquote../.."], ["-fsanitize-blacklist=/etc/passwd"],
    ["-fprofile-use=/etc/passwd"],
    ["-fsanitize-ignorelist=/etc/passwd"], ["-fxray-always-instrument=/etc/passwd"], ["-fbracket-depth=1000000"],
    ["-ftemplate-depth=100000000"], ["-fconstexpr-steps=4294967295"], ["-fconstexpr-depth=1000000"], ["-x", "ir"],
    ["-x", "ast"], ["-xcuda"], ["-working-directory", "/etc"], ["-working-directory=/etc"], ["-load", "evil.so"],
    ["-fplugin=evil.so"], ["-fpass-plugin=evil.so"], ["-mllvm", "-load=evil.so"], ["-o", "evil.o"], ["-oevil.o"],
    ["--serialize-diagnostics", "evil.dia"], ["-save-temps=obj"], ["-ftime-trace=evil"], ["-index-store-path", "evil"],
    ["-fmodules", "-fmodules-cache-path=evil"], ["-fmodule-file=evil.pcm"], ["-include-pch", "evil.pch"], ["-B/etc"],
    ["--sysroot=/etc"], ["-isysroot", "/etc"], ["-resource-dir", "/etc"], ["-gcc-toolchain", "/etc"], ["--version"],
    ["-print-search-dirs"], ["-###"], ["-v"], ["-emit-ast"], ["-S"], ["-E"], ["-T", "/etc/passwd"], ["/etc/passwd"],
    ["-include", "poisoned.h"], ["-I", "escape"], ["-Iescape/.."], ["-DX=1\n#include \"/etc/passwd\""], ["-D", "-load"],
    ["-march=native"], ["-target", "spirv"], ["-Iinclude\0/etc"], ["-I" + "a/" * 5000], ["-stdlib=libc++"], ["-c", "-"],
)  # fmt: skip
SHAPE = re.compile(
    r"-(I|isystem|iquote|idirafter)|-[DU][A-Za-z_]|-std=|-m|-f|-x(c|c\+\+)(-header)?$|-(pthread|ansi|trigraphs)$"
    r"|-nostdinc(\+\+)?$"
)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> TreePaths:
    tree = tmp_path_factory.mktemp("tree")
    (tree / "include" / "deep").mkdir(parents=True)
    (tree / "=odd").mkdir()
    (tree / "config.h").write_text("")
    (tree / "poisoned.h").write_text("")
    (tree / "poisoned.h.gch").write_text("")
    (tree / "escape").symlink_to("/etc")
    return TreePaths(os.path.realpath(tree))


def escapes(arguments: tuple[str, ...], paths: TreePaths) -> bool:
    """Whether an argument list could make the compiler read outside the tree or do anything but parse."""
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        position += 1
        if argument in {"-include", "-imacros"}:
            argument = arguments[position]
            position += 1
        elif not SHAPE.match(argument) or re.search(r"[\x00-\x1f]", argument):
            return True
        elif not argument.startswith("-i") and not argument.startswith("-I"):
            continue
        folder = re.sub(r"^-(isystem|iquote|idirafter|I)", "", argument)
        real = os.path.realpath(os.path.join(paths.tree, folder))
        if folder.startswith("=") or not (real == paths.tree or real.startswith(paths.tree + "/")):
            return True
    return False


@pytest.mark.parametrize("arguments", HOSTILE, ids=lambda arguments: " ".join(arguments)[:40].encode().hex())
def test_a_hostile_argument_does_not_pass(arguments: list[str], paths: TreePaths) -> None:
    kept = allowed(arguments, paths, "")
    assert not escapes(kept, paths)
    assert not any("evil" in argument or "passwd" in argument or "etc" in argument for argument in kept)


def test_ordinary_arguments_pass_in_one_piece_each(paths: TreePaths) -> None:
    given_arguments = (
        "-DA -D B=2 -UNDEBUG -Iinclude -I include/deep -isystem include -iquote . -include config.h -std=gnu++20 "
        "-m32 -fno-exceptions -fno-rtti -x c++ -O2 -g -Wall -c -o out.o -I=odd"
    ).split()
    assert allowed(given_arguments, paths, "") == (
        "-DA", "-DB=2", "-UNDEBUG", "-Iinclude", "-Iinclude/deep", "-isysteminclude", "-iquote.", "-include",
        "config.h",
        "-std=gnu++20", "-m32", "-fno-exceptions", "-fno-rtti", "-xc++", "-I./=odd",
    )  # fmt: skip


def test_relative_paths_refer_to_the_folder_of_the_entry(paths: TreePaths) -> None:
    assert allowed(["-I..", "-I.", "-I../.."], paths, "include") == ("-I.", "-Iinclude")


def test_absolute_paths_of_the_tree_become_relative(paths: TreePaths) -> None:
    foreign = TreePaths(paths.tree, "/home/somebody/project")
    arguments = [f"-I{paths.tree}/include", "-I/home/somebody/project/include/deep", "-I/home/somebody/projects"]
    assert allowed(arguments, foreign, "") == ("-Iinclude", "-Iinclude/deep")


PIECES = st.sampled_from([piece for arguments in HOSTILE for piece in arguments])
KNOWN = st.sampled_from(
    "-I -D -U -x -isystem -iquote -include -imacros -idirafter -std= -Iinclude -DX -o -MF -Xclang -mllvm include "
    "config.h escape escape/passwd ../x /etc . .. -include-pch -isystem=/ -I- -I@x -D= -DX( -U- -xc -x c++ = @".split(
        " "
    )
)


@settings(max_examples=int(os.environ.get("MEGACPP_HOSTILE_EXAMPLES", "600")))
@given(
    st.lists(st.one_of(PIECES, KNOWN, st.text(max_size=20), st.builds("".join, st.tuples(KNOWN, PIECES))), max_size=8)
)
def test_no_argument_list_escapes(paths: TreePaths, arguments: list[str]) -> None:
    assert not escapes(allowed(arguments, paths, ""), paths)


def test_the_language_of_the_command_line_wins_and_only_a_fitting_standard_stays() -> None:
    assert language_of(("-xc", "-DA", "-xc++-header")) == "c++"
    assert language_of(("-DA",)) is None
    assert for_language(("-std=c++20", "-xc++", "-DA"), "c", "gnu11") == ("-x", "c", "-std=gnu11", "-DA")
    assert for_language(("-std=c++20", "-std=gnu17"), "c++", "c++17") == ("-x", "c++", "-std=c++20")


def test_an_endless_list_is_cut(paths: TreePaths, tmp_path: Path) -> None:
    assert len(allowed([f"-DX{index}" for index in range(30_000)], paths, "")) == 20_000
