"""Which suffixes mean C, C++ or a language beside them: what compilers, build tools and editors take them for."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from megacpp_assets.contract.sources import file_policy
from megacpp_assets.contract.sources.source_file import FRAGMENTS

C_SOURCES: Final = frozenset({".c"})
CPP_SOURCES: Final = frozenset(".cpp .cc .cxx .c++ .cp .C .cu .hip .ino .cppm .ccm .cxxm .c++m .ixx .mpp .mxx".split())
"""Sources, those of CUDA, HIP and Arduino among them, and the interface units of modules."""
C_OR_CPP_HEADERS: Final = frozenset({".h", *FRAGMENTS})
"""Headers that are of the language that most of the repository's sources have."""
CPP_HEADERS: Final = frozenset(".hpp .hxx .hh .h++ .hp .H .cuh .inl .ipp .tcc .tpp .txx .icc .tlh .tli".split())
"""Headers, and files of definitions that a header includes at its end."""
CUDA: Final = frozenset({".cu", ".cuh", ".hip"})
NEIGHBOURS: Final = {
    **dict.fromkeys((".m", ".mm"), file_policy.OBJECTIVE_C),
    ".cl": file_policy.OPENCL,
    **dict.fromkeys((".i", ".ii"), file_policy.PREPROCESSED),
}
"""Languages that share C's grammar and are not read: the reason that is recorded of such a file."""
IF_INCLUDED: Final = frozenset({"", ".impl", ".imp", ".inline", ".tpl", ".tmpl", ".x"})
"""Files of any kind have these; one that a source includes by its name is a C++ header, as in the standard library."""
_ASIDE: Final = re.compile(rb'//[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/)?|"(?>(?:\\.|[^"\\\n]++)*)"')
_CONDITION: Final = re.compile(rb"[ \t]*#[ \t]*(if|el|endif)")
_CPP: Final = re.compile(
    rb"[ \t]*(?:class[ \t]+[A-Za-z_][\w: \t]*+(?:\{|$)|namespace\b[^;()=]*+(?:\{|$)|template[ \t]*<"
    rb"|(?:public|private|protected)[ \t]*:)"
)
"""A line that no C has."""
_CASE_COUNTS: Final = frozenset({".C", ".H"})
"""GCC and clang take these for C++; the suffix of any other file is read without regard to case."""


def suffix_of(path: str) -> str:
    """Return the suffix of `path` as the tables of this module spell it."""
    suffix = PurePosixPath(path).suffix
    return suffix if suffix in _CASE_COUNTS else suffix.lower()


def looks_like_cpp(code: bytes) -> bool:
    """Return whether a header has a line of C++ that no condition on `__cplusplus` hides from C."""
    if not any(word in code for word in (b"class", b"namespace", b"template")):
        return False
    hidden: list[bool] = []
    for line in _ASIDE.sub(b" ", code).splitlines():
        if condition := _CONDITION.match(line):
            if condition[1] == b"if":
                hidden.append(b"__cplusplus" in line)
            elif hidden and condition[1] == b"endif":
                hidden.pop()
        elif not any(hidden) and _CPP.match(line):
            return True
    return False


def is_cuda(path: str) -> bool:
    """Return whether the file at `path` is CUDA or HIP."""
    return suffix_of(path) in CUDA
