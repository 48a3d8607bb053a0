"""Files of a tree that describe how it is built, by their names."""

from __future__ import annotations

import posixpath

DATABASE = "compile_commands.json"
KBUILD = "Kbuild"


def describes_build(path: str) -> bool:
    """Whether `path` looks like a compile database, a header template or the top of a kernel's build."""
    return is_template(path) or posixpath.basename(path) == DATABASE or path == KBUILD


def is_template(path: str) -> bool:
    """Whether `path` looks like a template of a generated header (`config.h.in`)."""
    return path.endswith((".h.in", ".hpp.in", ".h.cmake", ".hpp.cmake", ".h.cmake.in", ".hpp.cmake.in"))
