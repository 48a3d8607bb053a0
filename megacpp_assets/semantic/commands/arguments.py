"""Filters compile arguments with a strict allow-list. Arguments that are not known to be harmless are dropped.

libclang writes files for -MF, expands @files, and reads any path that it is given. A repository must not choose those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from megacpp_assets.semantic.tree.tree_paths import TreePaths

MAX_ARGUMENTS = 20_000
MAX_LENGTH = 8192

_EXACT = frozenset(
    "-m32 -m64 -pthread -ansi -nostdinc -nostdinc++ -trigraphs -fPIC -fpic -fPIE -fpie "
    "-fexceptions -fno-exceptions -fcxx-exceptions -fno-cxx-exceptions -frtti -fno-rtti "
    "-fsigned-char -fno-signed-char -funsigned-char -fno-unsigned-char -fshort-enums -fno-short-enums -fshort-wchar "
    "-fno-short-wchar -fchar8_t -fno-char8_t -fno-ms-extensions -fgnu89-inline -fno-gnu89-inline "
    "-ffreestanding -fno-freestanding -fhosted -fno-builtin -fno-threadsafe-statics -fno-operator-names "
    "-fsized-deallocation -fno-sized-deallocation -faligned-allocation -fno-aligned-allocation -fasm -fno-asm "
    "-fblocks -fno-blocks -fwrapv -fno-strict-aliasing -fno-common -fcommon -fno-delete-null-pointer-checks".split()
)
# Not -fms-extensions: it enables __asm blocks, whose assembler opens any file for .incbin, outside of the compiler's
# view.
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"-std=(c|gnu)(89|90|99|9x|11|1x|17|18|2x|23)",
        r"-std=(c|gnu)\+\+(98|03|0x|11|1y|14|1z|17|2a|20|2b|23|2c|26)",
        r"-std=iso9899:(1990|199409|1999|2011|2017)",
        r"-march=(x86-64(-v[234])?|i[3-6]86)",
        r"-m(no-)?(mmx|sse|sse2|sse3|ssse3|sse4|sse4\.[12]|avx|avx2|avx512(f|bw|cd|dq|vl)|fma|bmi2?|popcnt|lzcnt|f16c"
        r"|aes|pclmul|sha|crc32|soft-float|red-zone)",
        r"-D[A-Za-z_][A-Za-z0-9_]*(\([A-Za-z0-9_, .]*\))?(=.*)?",
        r"-U[A-Za-z_][A-Za-z0-9_]*",
        r"-x(c|c\+\+|c-header|c\+\+-header)",
    )
)
_FOLDERS = ("-isystem", "-iquote", "-idirafter", "-I")
_FILES = ("-include", "-imacros")
_VALUES = ("-D", "-U", "-x")
_WITH_PATHS = frozenset((*_FOLDERS, *_FILES))
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def allowed(arguments: Sequence[str], paths: TreePaths, base: str) -> tuple[str, ...]:
    """Return what `AllowList` keeps of one command line."""
    return AllowList(paths).of(arguments, base)


class AllowList:
    """Selects the arguments of many command lines that may reach the compiler. Repeated arguments are checked once."""

    def __init__(self, paths: TreePaths) -> None:
        self._paths = paths
        self._known: dict[tuple[str, str, str], tuple[str, ...]] = {}
        self._lists: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, arguments: Sequence[str], base: str) -> tuple[str, ...]:
        """Return the allowed `arguments` in their order, each as one word (`-Iinclude`). Equal lists are one object.

        Every path must resolve inside the tree, and is rewritten relative to it, or be a folder of the toolchain's
        headers. `base` is the tree-relative folder to which relative paths refer. Everything else is dropped, with the
        values of dropped options.
        """
        kept: list[str] = []
        for option, value in _options(arguments[:MAX_ARGUMENTS]):
            if len(option) + len(value) > MAX_LENGTH:
                continue
            key = base if option in _WITH_PATHS else "", option, value
            if key not in self._known:
                self._known[key] = tuple(_kept(option, value, self._paths, base))
            kept += self._known[key]
        whole = tuple(kept)
        return self._lists.setdefault(whole, whole)


def language_of(arguments: Sequence[str]) -> str | None:
    """Return the language that the last `-x` chooses ("c" or "c++"), or None."""
    chosen = [argument[2:].removesuffix("-header") for argument in arguments if argument.startswith("-x")]
    return chosen[-1] if chosen else None


def standard_of(arguments: Sequence[str]) -> str:
    """Return the standard that the last `-std=` chooses, or ""."""
    chosen = [argument.removeprefix("-std=") for argument in arguments if argument.startswith("-std=")]
    return chosen[-1] if chosen else ""


def for_language(arguments: Sequence[str], language: str, standard: str) -> tuple[str, ...]:
    """Return a complete command line without the toolchain's part: `-x`, one fitting `-std`, then the allowed
    `arguments`.

    An option of the other language would be an error. `standard` is used if no `-std` fits.
    """
    standards = [argument for argument in arguments if argument.startswith("-std=")]
    fitting = [argument for argument in standards if ("++" in argument) == (language == "c++")]
    unfit = ("-x", "-std=", "-ansi", *(("-fgnu89-inline",) if language == "c++" else ()))
    rest = [argument for argument in arguments if not argument.startswith(unfit)]
    return ("-x", language, fitting[-1] if fitting else f"-std={standard}", *rest)


def include_folder(option: str, folder: str) -> str:
    """Return the argument that adds `folder`, of the tree or absolute, to a search list."""
    return option + _safe_path(folder)


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield options and their values. Words without a leading dash are skipped."""
    position = 0
    while position < len(arguments):
        if not arguments[position].startswith("-"):
            position += 1
            continue
        option, value, used = _split(arguments, position)
        position += used
        yield option, value


def _kept(option: str, value: str, paths: TreePaths, base: str) -> Iterator[str]:
    if _CONTROL.search(option + value):
        return
    if option in _FOLDERS:
        yield from _with_path(option, value, lambda path: paths.folder(path, base))
    elif option in _FILES:
        yield from _with_path(option, value, lambda path: paths.file(path, base))
    elif option + value in _EXACT or any(pattern.fullmatch(option + value) for pattern in _PATTERNS):
        yield option + value


def _split(arguments: Sequence[str], position: int) -> tuple[str, str, int]:
    """Return an option, its value, and how many arguments they are. The value is empty if it is missing."""
    argument = arguments[position]
    for option in (*_FOLDERS, *_FILES, *_VALUES):
        if argument == option:
            following = arguments[position + 1 : position + 2]
            return option, following[0] if following else "", 2
        if argument.startswith(option) and option not in _FILES:
            return option, argument[len(option) :], 1
    return argument, "", 2 if argument in _SKIPPED_WITH_VALUE else 1


def _with_path(option: str, value: str, resolve: Callable[[str], str | None]) -> Iterator[str]:
    path = resolve(value)
    if path is not None and option in _FILES:
        yield option
        yield _safe_path(path)
    elif path is not None:
        yield include_folder(option, path)


def _safe_path(path: str) -> str:
    # clang reads a leading "=" as the sysroot, "-" as an option and "@" as a response file.
    return path if path[0].isalnum() or path[0] in "._/" else f"./{path}"


_SKIPPED_WITH_VALUE = frozenset(
    "-o -MF -MT -MQ -MJ -Xclang -Xpreprocessor -Xassembler -Xlinker -Xanalyzer -mllvm -arch -target -T -u -z -L -F "
    "--sysroot -isysroot -iprefix -iwithprefix -iwithprefixbefore -isystem-after -ivfsoverlay -iframework --param "
    "-include-pch -serialize-diagnostics --serialize-diagnostics -working-directory -dependency-file -load --config "
    "-resource-dir -gcc-toolchain -B -Xarch_host -Xarch_device -cxx-isystem -stdlib++-isystem -index-store-path".split()
)
"""Options whose value is the next argument. The value is dropped with them, so that it cannot pass as an option."""
