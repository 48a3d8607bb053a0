"""Files of a tree that describe how it is built, by their names."""

from __future__ import annotations

import posixpath
import re

DATABASE = "compile_commands.json"
KBUILD = "Kbuild"


_RESPONSE_FILE = re.compile(rb"""@[^\s"',@]*?([^\s"',@/\\]+)(?=[\s"',])""")
RESPONSE_ENDING = ".rsp"
_RULES = frozenset({"CMakeLists.txt", "Makefile", "GNUmakefile", "makefile", "meson.build", "BUILD", "BUILD.bazel"})
_RULE_ENDS = (".cmake", ".bzl", ".bazelrc", ".mk")


def describes_build(path: str) -> bool:
    """Return whether `path` looks like a compile database, a header template, build rules or the top of a kernel's
    build.
    """
    return is_template(path) or posixpath.basename(path) == DATABASE or path == KBUILD or has_rules(path)


def has_rules(path: str) -> bool:
    """Return whether `path` looks like rules of CMake, make, Meson or Bazel, which may state a language standard."""
    return posixpath.basename(path) in _RULES or path.endswith(_RULE_ENDS)


def is_template(path: str) -> bool:
    """Return whether `path` looks like a template of a generated header (`config.h.in`)."""
    return path.endswith((".h.in", ".hpp.in", ".h.cmake", ".hpp.cmake", ".h.cmake.in", ".hpp.cmake.in"))


def response_files(path: str, data: bytes) -> set[str]:
    """Return the last names of the response files (`@flags.rsp`) that a compile database or another response file
    names.
    """
    if posixpath.basename(path) != DATABASE and not path.endswith(RESPONSE_ENDING):
        return set()
    return {name.decode("utf-8", "surrogateescape") for name in _RESPONSE_FILE.findall(data + b"\n")}
