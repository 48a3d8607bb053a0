"""Arguments by which a repository tries to make a compiler read, write or load; the judge of what is left of them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from megacpp_assets.semantic.tree.tree_paths import TreePaths
from tests.semantic.parsing_trees import toolchain

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
    ["-isystem", "/usr/include/../../etc"], ["-I/usr/include/../../etc"], ["-I//usr/include/../../etc"],
    ["-isystem", "/usr/include/linux\0/../../../etc"], ["-include", "/usr/include/../../etc/passwd"],
)  # fmt: skip

HEADER_ROOTS = ("/usr/include",)
_PATH_OPTIONS = ("-isystem", "-iquote", "-idirafter", "-I")
_PLAIN = re.compile(
    r"-D[A-Za-z_]\w*(\([\w, .]*\))?(=[^\x00-\x1f\x7f]*)?|-U[A-Za-z_]\w*"
    r"|-std=[a-z]+[+]{0,2}[0-9a-z]+|-std=iso9899:[0-9]+|-march=(x86-64(-v[234])?|i[3-6]86)"
    r"|-m[a-z0-9.-]+|-f[A-Za-z0-9_-]+|-x(c|c\+\+|c-header|c\+\+-header)|-pthread|-ansi|-trigraphs|-nostdinc(\+\+)?",
    re.ASCII,
)
_BANNED = re.compile(
    r"-f(modules|asm-blocks|ms-extensions|ms-compatibility|borland|plugin|pass-plugin|profile|sanitize|xray|debug|dump"
    r"|save|time|crash|diagnostics|module|build-session|openmp|proc|test|auto|coverage|embed|plugin|syntax-only|use)"
    r"|-m(llvm|relocation|thread-model|link|register-allocator|tune)"
)


def hostile_tree(base: Path) -> TreePaths:
    """A tree with a folder named like an option, a header with a precompiled twin and a link out of it.

    The headers of the system may be searched too.
    """
    tree = base / "tree"
    (tree / "include" / "deep").mkdir(parents=True)
    (tree / "=odd").mkdir()
    (tree / "@odd").mkdir()
    (tree / "config.h").write_text("")
    (tree / "poisoned.h").write_text("")
    (tree / "poisoned.h.gch").write_text("")
    (tree / "escape").symlink_to("/etc")
    return TreePaths(os.path.realpath(tree), "/build/machine/project", HEADER_ROOTS)


def escapes(arguments: Sequence[str], tree: str) -> str:
    """The first of `arguments` that could do more than steer the parse of files of `tree`, "" if there is none.

    Knows nothing of how the list was made: plain words of a closed shape, or a path that really lies in the tree,
    or a folder below the system's headers.
    """
    pending = list(arguments)
    while pending:
        argument = pending.pop(0)
        option = next((known for known in _PATH_OPTIONS if argument.startswith(known)), "")
        if argument in {"-include", "-imacros"}:
            value = pending.pop(0) if pending else ""
            if not _inside(value, tree) or not os.path.isfile(os.path.join(tree, value)):
                return f"{argument} {value}"
            if any(os.path.lexists(os.path.join(tree, value + ending)) for ending in (".pch", ".gch")):
                return f"{argument} {value}"
        elif option and not _inside(argument[len(option) :], tree) and not _of_system(argument[len(option) :]):
            return argument
        elif not option and (not _PLAIN.fullmatch(argument) or _BANNED.match(argument)):
            return argument
    return ""


def _inside(path: str, tree: str) -> bool:
    real = os.path.realpath(os.path.join(tree, path))
    # A leading "=" is the sysroot, "-" another option, "@" a response file.
    return bool(path) and path[0] not in "=-@" and "\0" not in path and (real == tree or real.startswith(tree + os.sep))


def _of_system(path: str) -> bool:
    return os.path.isdir(path) and any(os.path.realpath(path).startswith(root + "/") for root in HEADER_ROOTS)


@cache
def options_of_libclang() -> tuple[str, ...]:
    """Every spelling in the option table of the installed libclang, `-o` to `--serialize-diagnostics`."""
    data = Path(toolchain().library).read_bytes()
    found = set(re.findall(rb"(?<=\0)(--?[A-Za-z#][\w+=,.:#-]{0,60})(?=\0)", data))
    return tuple(sorted(option.decode() for option in found))
