"""The arguments for a Linux kernel tree without a compile database: what its build passes to the compiler for every
file.

In: the tree's paths and sources. Out: arguments per C file, and stubs of headers that only a build makes. Programs that
run on the host (`tools`, `scripts`, ...) are ordinary C and do not get them. The compiler's own headers stay, because
older kernels need `<stdarg.h>`. Those of the C library do not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from megacpp_assets.semantic.tree.build_files import KBUILD
from megacpp_assets.semantic.tree.includes import include_spellings
from megacpp_assets.semantic.tree.tree_paths import PRECOMPILED

_FORCED = ("include/linux/kconfig.h", "include/linux/compiler_types.h")
_FLAGS = (
    "-D__KERNEL__", "-nostdlibinc", "-fshort-wchar", "-funsigned-char", "-fno-common", "-fno-strict-aliasing",
    '-DKBUILD_MODNAME="module"', '-DKBUILD_BASENAME="module"', '-DKBUILD_MODFILE="module"',
)  # fmt: skip
_FOLDERS = ("arch/{}/include", "include", "arch/{}/include/uapi", "include/uapi")
_ARCH = re.compile(r"arch/([\w-]+)/")
_OF_HOST = re.compile(r"(?:tools|scripts|usr|samples|Documentation)/|.*/tools/")
_CONFIG = (
    "64BIT 1", "X86 1", "X86_64 1", "MMU 1", "SMP 1", "MODULES 1", "PRINTK 1", "BUG 1", "NET 1", "INET 1", "BLOCK 1",
    "PCI 1", "HZ 250", "NR_CPUS 64", "NODES_SHIFT 6", "PAGE_SHIFT 12", "PGTABLE_LEVELS 4", "X86_L1_CACHE_SHIFT 6",
    "X86_INTERNODE_CACHE_SHIFT 6", "PHYSICAL_START 0x1000000", "PHYSICAL_ALIGN 0x200000", "LOG_BUF_SHIFT 17",
    "ILLEGAL_POINTER_VALUE 0xdead000000000000",
)  # fmt: skip
"""A plain x86-64 machine. Every other option is off."""
_GENERATED = {
    "generated/autoconf.h": "".join(f"#define CONFIG_{option}\n" for option in _CONFIG),
    "generated/bounds.h": "#define NR_PAGEFLAGS 24\n#define MAX_NR_ZONES 4\n#define NR_CPUS_BITS 6\n"
    "#define SPINLOCK_SIZE 4\n#define LRU_GEN_WIDTH 0\n#define __LRU_REFS_WIDTH 0\n",
    "generated/utsrelease.h": '#define UTS_RELEASE "0"\n',
    "linux/version.h": "#define LINUX_VERSION_CODE 0\n"
    "#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))\n",
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel tree: its forced headers, and the search folders of each architecture that exist."""

    forced: tuple[str, ...]
    folders: Mapping[str, tuple[str, ...]]

    def arguments(self, path: str, language: str) -> tuple[str, ...]:
        """Return the arguments of a C file of the kernel itself; none for any other file."""
        if language != "c" or _OF_HOST.match(path):
            return ()
        found = _ARCH.match(path)
        folders = self.folders.get(found[1] if found else "x86", self.folders["x86"])
        forced = [part for header in self.forced for part in ("-include", header)]
        return (*_FLAGS, *(f"-I{folder}" for folder in folders), *forced)


def kernel_of(paths: Collection[str]) -> Kernel | None:
    """Return the kernel of a tree with `paths`, or None."""
    known = set(paths)
    parents = {path[: cut.start()] for path in known for cut in re.finditer("/", path)}
    twins = {header for header in _FORCED for end in PRECOMPILED if header + end in known | parents}
    forced = tuple(header for header in _FORCED if header in known and header not in twins)
    if KBUILD not in known or not forced:
        return None
    arches = {"x86", *(match[1] for path in known if (match := _ARCH.match(path)))}
    return Kernel(
        forced,
        {
            arch: tuple(folder for form in _FOLDERS if (folder := form.format(arch)) in parents)
            for arch in sorted(arches)
        },
    )


def kernel_stubs(paths: Collection[str], sources: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Return header stubs by spelling: generated ones, and the generic form of headers that an architecture lacks."""
    known = set(paths)
    stubs = {}
    for spelling in sorted({spelling for _, source in sources for _, spelling in include_spellings(source)}):
        folder, _, name = spelling.partition("/")
        generic = f"asm-generic/{name}"
        if spelling in _GENERATED or folder == "generated":
            stubs[spelling] = _GENERATED.get(spelling, "")
        elif folder == "asm" and ({f"include/{generic}", f"include/uapi/{generic}"} & known):
            stubs[spelling] = f"#include <{generic}>\n"
    return stubs
