"""C++20 modules for a parser that builds none: their files are read as plain C++.

In module mode libclang shows nothing of what stands behind `export`, and stops at an import that nobody built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from megacpp_assets.semantic.commands.arguments import standard_of
from megacpp_assets.semantic.commands.plan import Unit

_MODULE = re.compile(rb"\n[ \t]*(?:export[ \t]+)?(?:import|module)\b[^(){}=\n]*;")
"""Of a text with a line feed in front."""
_WITHOUT = ("-Xclang", "-fno-cxx-modules")
_WITH_MODULES = ("++2", "++3")
"""Parts of the names of the standards that have modules: `c++20`, `gnu++2a`, ..."""


def as_plain(units: Sequence[Unit], text_of: Callable[[str], bytes]) -> list[Unit]:
    """`units`; those that export, are part of or import a module are parsed as if there were none."""
    return [
        replace(unit, arguments=(*unit.arguments, *_WITHOUT))
        if any(part in standard_of(unit.arguments) for part in _WITH_MODULES) and is_of_module(text_of(unit.path))
        else unit
        for unit in units
    ]


def is_of_module(text: bytes) -> bool:
    """Whether a unit imports a module or is part of one: no module is built here, so that others' names come to it by
    the header that it shares, or not at all."""
    return _MODULE.search(b"\n" + text) is not None
