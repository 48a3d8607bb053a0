"""Renders templates of headers (`config.h.in`) without their configure step, as stubs for headers that are missing.

What a configure step would find on any POSIX system is on; every other option is off and every other variable 0.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from megacpp_assets.semantic.tree.includes import include_spellings
from megacpp_assets.semantic.tree.system_headers import SYSTEM_HEADERS

MOST_STUBS = 4096
_DEFINE_01 = re.compile(r"^([ \t]*#[ \t]*)cmakedefine01[ \t]+(\w+).*$", re.M)
_DEFINE = re.compile(r"^([ \t]*#[ \t]*)cmakedefine[ \t]+(\w+)(.*)$", re.M)
_UNDEFINED = re.compile(r"^([ \t]*#[ \t]*)undef[ \t]+(\w+)[ \t]*$", re.M)
_VARIABLE = re.compile(r"(?P<code>(?:^|[;})])[ \t]*)?(?:@(?P<at>\w+)@|\$\{(?P<braced>\w+)\})", re.M)
"""A variable, and the code directly before it if no value can follow that: it is an attribute or a line of its own."""
_ASKED = re.compile(
    r"(?:^|_)(?:HAVE_(?:(?P<header>\w+)_H|(?:TYPE_)?(?P<type>\w+_T)|STRUCT_(?P<struct>\w+?))(?:_01)?|SIZEOF_(?P<size>\w+))$"
)
_TYPE_OF = re.compile(r"(?:^|_)TYPE(?:OF)?_")
_SIZES = {"VOID_P": "__SIZEOF_POINTER__"} | {
    name: f"__SIZEOF_{name}__"
    for name in "DOUBLE FLOAT INT LONG LONG_LONG POINTER PTRDIFF_T SHORT SIZE_T WCHAR_T WINT_T".split()
}
"""Sizes by their names in autoconf, as macros of the compiler."""
_TYPES = frozenset(
    "gid_t id_t in_addr_t in_port_t int16_t int32_t int64_t int8_t intmax_t intptr_t max_align_t mode_t nlink_t off_t "
    "pid_t ptrdiff_t pthread_t sa_family_t sigset_t size_t socklen_t ssize_t suseconds_t time_t uid_t uint16_t "
    "uint32_t uint64_t uint8_t uintmax_t uintptr_t useconds_t wchar_t wint_t".split()
)
_STRUCTS = frozenset(
    "addrinfo dirent in6_addr in_addr iovec linger msghdr passwd pollfd rusage sigaction sockaddr sockaddr_in "
    "sockaddr_in6 sockaddr_storage sockaddr_un stat termios timespec timeval tm utsname".split()
)
"""Types of POSIX. A header that lacks one declares it itself, which contradicts the system's."""
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
    that name; `names` are those of the tree. There are at most MOST_STUBS.
    """
    by_header: dict[str, list[str]] = defaultdict(list)
    for path in sorted(templates):
        by_header[posixpath.basename(_header_of(path))].append(path)
    stubs: dict[str, str] = {}
    texts: dict[str, str] = {}
    waiting = [*missing]
    for spelling in waiting:
        if len(stubs) == MOST_STUBS:
            break
        named = by_header.get(posixpath.basename(spelling), [])
        placed = [path for path in named if f"/{_header_of(path)}".endswith(f"/{spelling}")]
        if spelling not in stubs and (placed or len(named) == 1):
            path = (placed or named)[0]
            if path not in texts:
                texts[path] = rendered(templates[path])
                waiting += [each for each in sorted(_included(texts[path])) if posixpath.basename(each) not in names]
            stubs[spelling] = texts[path]
    return stubs


def _included(text: str) -> set[str]:
    return {spelling for _, spelling in include_spellings(text.encode())} - SYSTEM_HEADERS


def rendered(template: str) -> str:
    """Return what a configure step would write if it found the headers and types of C, C++ and POSIX, and nothing else.

    The first arm is taken of those that end with an error. A variable that is the name of a namespace is one.
    """
    text = _CHAIN.sub(lambda chain: chain[0].replace(chain["first"], "1", 1), template)
    text = _DEFINE_01.sub(lambda line: f"{line[1]}define {line[2]} {int(bool(_known(line[2])))}", text)
    text = _DEFINE.sub(lambda line: _defined(line[1], line[2], line[3]), text)
    text = _UNDEFINED.sub(
        lambda line: f"{line[1]}define {line[2]} {known}" if (known := _known(line[2])) else line[0], text
    )
    return _VARIABLE.sub(_value, text)


def headers_of(templates: Iterable[str]) -> frozenset[str]:
    """Return the last names of the headers that `templates` become, which are paths."""
    return frozenset(posixpath.basename(_header_of(path)) for path in templates)


def _header_of(template: str) -> str:
    return template.removesuffix(".in").removesuffix(".cmake")


def _defined(hash_sign: str, name: str, value: str) -> str:
    return f"{hash_sign}define {name}{value}" if _known(name) else f"/* #undef {name} */"


def _value(variable: re.Match[str]) -> str:
    name = variable["at"] or variable["braced"]
    if variable["code"] is not None:
        return variable["code"]
    if _NAMESPACE.search(name):
        return name
    spelled = name.lower() if _TYPE_OF.search(name) else name
    words = [word for word in (*_TYPES, "inline") if spelled.endswith(f"_{word}")]
    return max(words, key=len) if words else _known(name) or "0"


def _known(name: str) -> str:
    """Return the value of an option for what every POSIX system has, as HAVE_SYS_UIO_H or SIZEOF_LONG; else ""."""
    asked = _ASKED.search(name)
    if asked is None:
        return ""
    header, type_, struct = ((asked[part] or "").lower() for part in ("header", "type", "struct"))
    in_folder = header.replace("_", "/", 1)
    has_header = not SYSTEM_HEADERS.isdisjoint((f"{header}.h", f"{in_folder}.h"))
    size = _SIZES.get(asked["size"] or "", "")
    return size or ("1" if has_header or type_ in _TYPES or struct in _STRUCTS else "")
