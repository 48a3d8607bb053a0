"""The compiler that reads the sources: libclang, its built-in headers, and the system's C and C++ library headers.

It is found from installed packages, never from an environment variable, and tested by parsing before use. Headers of
other packages in `/usr/include` are hidden: what a machine has installed besides would change the documents.
"""

from __future__ import annotations

import importlib.util
import os
import posixpath
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.semantic import _visitor
from megacpp_assets.semantic.commands.compiler_view import view_arguments, write_view
from megacpp_assets.semantic.tree.system_headers import LIBRARY_ENTRIES

MAJOR = "18"
_DO_HEADERS = "apt-get install libstdc++-12-dev libc6-dev (or the C++ standard library headers of your system)"
_PROBES = {
    "probe.c": ("c", "#include <stddef.h>\n#include <stdio.h>\nsize_t n;\n"),
    "probe.cpp": ("c++", "#include <stddef.h>\n#include <vector>\nstd::vector<size_t> v;\n"),
}
_GCC_DIR = re.compile(r"^(?P<root>/.*/gcc/[^/]+/(?P<version>[0-9.]+))/")
_CPP_DIR = re.compile(r"^(?P<root>/.*/include/c\+\+/(?P<version>[0-9.]+|v1))/")
_VERSIONED_DIR = re.compile(r"^/.*?/(c\+\+|gcc/[^/]+)/([0-9.]+|v1)(?=/(?!\.\./))")
_MACRO = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+(__GLIBC__|__GLIBC_MINOR__|__GLIBCXX__|_LIBCPP_VERSION)[ \t]+(\d+)", re.M
)
_INCLUDE = "/usr/include"
_MACHINE = re.compile(r"[a-z0-9_]+-linux-(?:gnu|musl)\w*")
"""A folder of headers for one type of machine, such as `x86_64-linux-gnu`."""
_VERSION_HEADERS = frozenset({"features.h", "c++config.h", "__config"})
ENVIRONMENT = (
    "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS", "SDKROOT",
    "GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH", "QA_OVERRIDE_GCC3_OPTIONS", "LIBCLANG_NOTHREADS", "PWD",
    "LIBCLANG_DISABLE_PCH_VALIDATION", "CINDEXTEST_EDITING", "SOURCE_DATE_EPOCH", "FORCE_CLANG_DIAGNOSTICS_CRASH",
)  # fmt: skip
"""Variables by which a machine could change what libclang reads. They are removed before every parse."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The location of the compiler on this machine, and its `identity`: only versions, part of the stage's
    configuration.

    `header_roots` are the folders and headers (real paths) outside of a tree that a source may include. `header_names`
    pairs every name by which the compiler reaches one of them, dots removed, with its real path.
    """

    library: str
    resource_dir: str
    header_roots: tuple[str, ...]
    header_names: tuple[tuple[str, str], ...]
    identity: Mapping[str, str]

    @property
    def visible(self) -> dict[str, str]:
        """Folders and headers that the parser sees in addition to the tree: name -> real path."""
        return {self.resource_dir: self.resource_dir, **dict(self.header_names)}

    def owns(self, path: str) -> bool:
        """Return whether the file at the absolute `path` is one of the toolchain's own headers, also through links."""
        return _lies_below(path, self.header_roots)


@lru_cache(maxsize=1 << 14)  # every unit reads the same few thousand headers, which do not change while a process runs
def _lies_below(path: str, roots: tuple[str, ...]) -> bool:
    real = os.path.realpath(path)
    return any(real == root or real.startswith(root + os.sep) for root in roots)


def find_toolchain() -> Toolchain:
    """Return the installed toolchain. `EnvironmentLacks`, with what to install, unless it parses its own headers
    without errors.
    """
    library = _package_dir("clang", "libclang==18.1.1") / "native" / "libclang.so"
    resources = _package_dir("clang_tidy", "clang-tidy==18.1.8") / "data" / "lib" / "clang" / MAJOR
    for path, package in ((library, "libclang==18.1.1"), (resources / "include" / "stddef.h", "clang-tidy==18.1.8")):
        if not path.is_file():
            raise EnvironmentLacks("C++ toolchain", expected=path.name, found="none", do=f"pip install {package}")
    version = _visitor.version(str(library))
    if f"version {MAJOR}." not in version:
        raise EnvironmentLacks("libclang", expected=f"major {MAJOR}", found=version, do="pip install libclang==18.1.1")
    includes = self_test(str(library), str(resources))
    toolchain = _describe(str(library), resources, version, includes)
    self_test(toolchain.library, toolchain.resource_dir, toolchain)
    return toolchain


def self_test(library: str, resource_dir: str, seen: Toolchain | None = None) -> list[str]:
    """Parse `<stddef.h>` and `<vector>` and return the files read. `EnvironmentLacks` if there are errors.

    With `seen` the parser has the view of a tree: the toolchain's headers must be found there too.
    """
    with tempfile.TemporaryDirectory(prefix="megacpp-probe-") as folder:
        tree = os.path.realpath(Path(folder, "tree"))
        os.mkdir(tree)
        if seen:
            write_view(tree, seen.visible)
        return _probe(library, resource_dir, Path(tree), view_arguments(tree) if seen else ())


def _probe(library: str, resource_dir: str, tree: Path, view: tuple[str, ...]) -> list[str]:
    includes: set[str] = set()
    with working_directory(tree):
        for name, (language, text) in _PROBES.items():
            Path(name).write_text(text, encoding="utf-8")
            arguments = ["-x", language, "-resource-dir", resource_dir, "-Wno-everything", *view]
            found = _parse_probe(library, name, arguments)
            if found["errors"]:
                raise EnvironmentLacks(
                    "C++ toolchain", expected=f"{text.split()[-3]} parses without errors", found=found["errors"],
                    do=_DO_HEADERS,
                )  # fmt: skip
            includes.update(os.fsdecode(path) for path in found["includes"])
    return sorted(path for path in includes if os.path.isabs(path))


@contextmanager
def working_directory(folder: Path) -> Iterator[None]:
    """Work inside `folder` without the variables that steer compilers; restore both after the block."""
    before = os.getcwd()
    removed = {name: os.environ.pop(name) for name in ENVIRONMENT if name in os.environ}
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.update(removed)


def _parse_probe(library: str, name: str, arguments: list[str]) -> dict[str, Any]:
    try:
        result: dict[str, Any] = _visitor.parse(library, name, arguments, 0, 1000)
    except RuntimeError as error:
        raise EnvironmentLacks("libclang", expected="a parse of a probe", found=str(error), do=_DO_HEADERS) from error
    return result


def _package_dir(package: str, requirement: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentLacks("C++ toolchain", expected=package, found="none", do=f"pip install {requirement}")
    return Path(next(iter(spec.submodule_search_locations)))


def _describe(library: str, resources: Path, version: str, includes: Sequence[str]) -> Toolchain:
    real = [os.path.realpath(path) for path in includes]
    gcc = next((match for path in includes if (match := _GCC_DIR.match(path))), None)
    cpp = next((match for path in real if (match := _CPP_DIR.match(path))), None)
    roots = {os.path.realpath(resources)}
    roots.update(os.path.realpath(match["root"]) for match in (gcc, cpp) if match)
    library_names = {path: os.path.realpath(path) for path in library_headers(_INCLUDE)}
    macros = _version_macros(includes)
    identity = {
        "libclang": version,
        "builtin_headers": f"clang-tidy {_distribution_version('clang-tidy')}",
        "c_library": _c_library(macros),
        "cxx_library": _cxx_library(cpp["version"] if cpp else "", macros),
        "gcc": gcc["version"] if gcc else "none",
    }
    names = {**library_names, **dict(header_names(includes, sorted(roots)))}
    ordered = tuple(sorted(roots.union(library_names.values())))
    return Toolchain(library, str(resources), ordered, tuple(sorted(names.items())), identity)


def library_headers(folder: str) -> Iterator[str]:
    """Yield the paths in a `folder` of headers that are of the C library, the C++ library or the kernel."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name) if os.path.isdir(folder) else ():
        if entry.name in LIBRARY_ENTRIES:
            yield entry.path
        elif _MACHINE.fullmatch(entry.name):
            yield from library_headers(entry.path)


def _version_macros(includes: Sequence[str]) -> dict[str, str]:
    """Return the version macros of the C and C++ libraries, from the headers that a parse has read."""
    found = (path for path in includes if posixpath.basename(path) in _VERSION_HEADERS)
    texts = (Path(path).read_bytes() for path in sorted(found))
    return {name.decode(): value.decode() for text in texts for name, value in _MACRO.findall(text)}


def _c_library(macros: Mapping[str, str]) -> str:
    """Return glibc's version. musl and others name none in their headers: then only the C++ library is identified."""
    known = "__GLIBC__" in macros and "__GLIBC_MINOR__" in macros
    return f"glibc {macros['__GLIBC__']}.{macros['__GLIBC_MINOR__']}" if known else "not glibc"


def _cxx_library(version: str, macros: Mapping[str, str]) -> str:
    """Return the version of the folder and of the library itself, because two builds of one release may differ."""
    own = [f"{name} {macros[name]}" for name in ("__GLIBCXX__", "_LIBCPP_VERSION") if name in macros]
    return " ".join([f"c++/{version}" if version else "unknown", *own])


def header_names(includes: Sequence[str], roots: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return (name, real path) of each of `roots`, and of the C++ and gcc folders as the read files `includes` spell
    them.

    The compiler finds those through paths such as `/../lib/gcc/12/../../../include/c++/12`. If `/lib` is a link, the
    same path with its dots removed names another folder. Whole roots get no second name, because they would be searched
    twice.
    """
    names = {root: root for root in roots}
    for path in includes:
        folder = _VERSIONED_DIR.match(path)
        if folder:
            names[posixpath.normpath("/" + folder[0].lstrip("/"))] = os.path.realpath(folder[0])
    return tuple(sorted(names.items()))


def _distribution_version(name: str) -> str:
    from importlib import metadata  # noqa: PLC0415 - slow to import, used once

    return metadata.version(name)
