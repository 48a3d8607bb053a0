"""Reads files of C++20 modules as plain C++, because the parser builds no modules.

In module mode libclang shows nothing after `export`, and stops at an import of a module that was not built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from megacpp_assets.semantic.commands.arguments import standard_of
from megacpp_assets.semantic.commands.plan import Unit

_MODULE = re.compile(rb"\n[ \t]*(?:export[ \t]+)?(?:import|module)\b[^(){}=\n]*;")
"""Applied to a text with a line feed in front."""
_WITHOUT = ("-Xclang", "-fno-cxx-modules")
_WITH_MODULES = ("++2", "++3")
"""Parts of the names of the standards that have modules: `c++20`, `gnu++2a`, ..."""


def as_plain(units: Sequence[Unit], text_of: Callable[[str], bytes]) -> list[Unit]:
    """Return `units`. Those that export, belong to or import a module are parsed as if there were none."""
    return [
        replace(unit, arguments=(*unit.arguments, *_WITHOUT))
        if any(part in standard_of(unit.arguments) for part in _WITH_MODULES) and is_of_module(text_of(unit.path))
        else unit
        for unit in units
    ]


def module_places(text: bytes) -> list[int]:
    """Return the bytes where a unit declares or imports a module."""
    return [match.start() for match in _MODULE.finditer(b"\n" + text)]


def is_of_module(text: bytes) -> bool:
    """Return whether a unit imports a module or belongs to one.

    No module is built, so it sees names of others only through a shared header.
    """
    return _MODULE.search(b"\n" + text) is not None
