"""Renders templates of headers (`config.h.in`) without their configure step, as stubs for headers that are missing.

What a configure step would find on any POSIX system is on; every other option is off and every other variable 0.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence

from megacpp_assets.semantic.tree.includes import include_spellings
from megacpp_assets.semantic.tree.system_headers import SYSTEM_HEADERS

_DEFINE_01 = re.compile(r"^([ \t]*#[ \t]*)cmakedefine01[ \t]+(\w+).*$", re.M)
_DEFINE = re.compile(r"^([ \t]*#[ \t]*)cmakedefine[ \t]+(\w+)(.*)$", re.M)
_UNDEFINED = re.compile(r"^([ \t]*#[ \t]*)undef[ \t]+(\w+)[ \t]*$", re.M)
_VARIABLE = re.compile(r"(?P<code>(?:^|[;})])[ \t]*)?(?:@(?P<at>\w+)@|\$\{(?P<braced>\w+)\})", re.M)
"""A variable, and the code directly before it if no value can follow that: it is an attribute or a line of its own."""
_HEADER = re.compile(r"(?:^|_)HAVE_(\w+)_H(?:_01)?$")
_NAMESPACE = re.compile(r"namespace", re.I)
_CHAIN = re.compile(
    r"^[ \t]*#[ \t]*if[ \t]+(?P<first>@\w+@|\$\{\w+\})[^\n]*\n(?:(?![ \t]*#[ \t]*(?:if|endif))[^\n]*\n)*?"
    r"[ \t]*#[ \t]*else\b[^\n]*\n[ \t]*#[ \t]*error\b",
    re.M,
)
"""Arms by variables of the template, of which one must be taken: the last one is an error."""


def stubs_of(missing: Sequence[str], templates: Mapping[str, str], names: Container[str]) -> dict[str, str]:
    """Return a header for each missing spelling for which the tree has exactly one template, by path or by name.

    `templates` are texts by path. A spelling is also missing if only a stub includes it and the tree has no file of
    that name; `names` are those of the tree.
    """
    by_header: dict[str, list[str]] = defaultdict(list)
    for path in sorted(templates):
        by_header[posixpath.basename(_header_of(path))].append(path)
    stubs: dict[str, str] = {}
    waiting = [*missing]
    for spelling in waiting:
        named = by_header.get(posixpath.basename(spelling), [])
        placed = [path for path in named if f"/{_header_of(path)}".endswith(f"/{spelling}")]
        if spelling not in stubs and (placed or len(named) == 1):
            stubs[spelling] = rendered(templates[(placed or named)[0]])
            included = [each for _, each in include_spellings(stubs[spelling].encode()) if each not in SYSTEM_HEADERS]
            waiting += [each for each in included if posixpath.basename(each) not in names]
    return stubs


def rendered(template: str) -> str:
    """Return what a configure step would write if it found the headers of C, C++ and POSIX, and nothing else.

    The first arm is taken of those that end with an error. A variable that is the name of a namespace is one.
    """
    text = _CHAIN.sub(lambda chain: chain[0].replace(chain["first"], "1", 1), template)
    text = _DEFINE_01.sub(lambda line: f"{line[1]}define {line[2]} {int(_is_there(line[2]))}", text)
    text = _DEFINE.sub(lambda line: _defined(line[1], line[2], line[3]), text)
    text = _UNDEFINED.sub(lambda line: f"{line[1]}define {line[2]} 1" if _is_there(line[2]) else line[0], text)
    return _VARIABLE.sub(_value, text)


def _header_of(template: str) -> str:
    return template.removesuffix(".in").removesuffix(".cmake")


def _defined(hash_sign: str, name: str, value: str) -> str:
    return f"{hash_sign}define {name}{value}" if _is_there(name) else f"/* #undef {name} */"


def _value(variable: re.Match[str]) -> str:
    name = variable["at"] or variable["braced"]
    if variable["code"] is not None:
        return variable["code"]
    return name if _NAMESPACE.search(name) else str(int(_is_there(name)))


def _is_there(name: str) -> bool:
    """Return whether `name` asks for a header that every system has, as HAVE_SYS_UIO_H."""
    asked = _HEADER.search(name)
    header = f"{asked[1].lower()}.h" if asked else ""
    return header in SYSTEM_HEADERS or header.replace("_", "/", 1) in SYSTEM_HEADERS
