"""A tree built like a Linux kernel, small and written here, parses with the arguments of a kernel's build."""

from __future__ import annotations

from pathlib import Path

from megacpp_assets.semantic.commands.kernel import kernel_of, kernel_stubs
from megacpp_assets.semantic.commands.plan import Standards
from tests.semantic.parsing_trees import listing, parse_in_process, planned, write_tree

TREE = {
    "Kbuild": "obj-y += core/\n",
    "include/linux/kconfig.h": "#include <generated/autoconf.h>\n#define IS_ON(option) (option)\n",
    "include/linux/compiler_types.h": "#define __init __attribute__((cold))\n",
    "include/linux/time.h": "#pragma once\ntypedef long long ktime_t;\n",
    "include/linux/stdio.h": "#error no header of a kernel is meant by a name of the C library\n",
    "include/uapi/linux/word.h": "typedef unsigned word_t;\n",
    "include/asm-generic/delay.h": "static inline void delay(int ticks) { (void)ticks; }\n",
    "arch/x86/include/asm/page.h": "#define PAGE_BYTES (1 << CONFIG_PAGE_SHIFT)\n",
    "arch/arm/include/asm/page.h": "#define ARM_BYTES 4096\n",
    "core/main.c": "#include <linux/time.h>\n#include <linux/word.h>\n#include <asm/page.h>\n#include <asm/delay.h>\n"
    "#ifndef __KERNEL__\n#error not a kernel\n#endif\n#include <stddef.h>\n#include <linux/version.h>\n"
    "static int __init start(ktime_t now)\n{\n\tword_t size = PAGE_BYTES;\n\tdelay(IS_ON(CONFIG_SMP));\n"
    "\treturn (int)now + size;\n}\nint main_part(void) { return start(1); }\n",
    "arch/arm/head.c": "#include <asm/page.h>\nint size = ARM_BYTES;\n",
    "tools/show.c": "#include <stdio.h>\nint main(void) { return printf(\"%d\", 1); }\n",
}  # fmt: skip


def test_every_file_of_a_kernel_parses_without_an_error(tmp_path: Path) -> None:
    found = parse_in_process(tmp_path, TREE)
    sources = [path for path in found if path.endswith(".c")]
    assert [(path, found[path].errors, found[path].status) for path in sources] == [
        ("arch/arm/head.c", 0, "clean"), ("core/main.c", 0, "clean"), ("tools/show.c", 0, "clean"),
    ]  # fmt: skip


def test_the_arguments_are_those_of_the_kernels_build_as_far_as_its_files_exist(tmp_path: Path) -> None:
    units = {unit.path: unit for unit in planned(tmp_path, write_tree(tmp_path, TREE), Standards())}
    arguments = units["core/main.c"].arguments
    assert arguments[:4] == ("-x", "c", "-std=gnu11", "-D__KERNEL__")
    folders = [argument for argument in arguments if argument.startswith("-I")]
    assert folders[:3] == ["-Iarch/x86/include", "-Iinclude", "-Iinclude/uapi"]
    forced = [arguments[at + 1] for at, argument in enumerate(arguments) if argument == "-include"]
    assert forced == ["include/linux/kconfig.h", "include/linux/compiler_types.h"]
    assert "-Iarch/arm/include" in units["arch/arm/head.c"].arguments
    assert "-D__KERNEL__" not in units["tools/show.c"].arguments


def test_a_kernels_file_sees_no_header_of_the_c_library(tmp_path: Path) -> None:
    found = parse_in_process(tmp_path, {**TREE, "core/host.c": "#include <stdlib.h>\n"})
    assert found["core/host.c"].errors == 1


def test_a_tree_is_a_kernel_only_with_its_build_file_and_its_headers(tmp_path: Path) -> None:
    assert kernel_of(TREE) is not None
    assert kernel_of([path for path in TREE if path != "Kbuild"]) is None
    assert kernel_of([path for path in TREE if not path.startswith("include/linux/")]) is None
    without = {path: text for path, text in TREE.items() if path != "Kbuild"}
    write_tree(tmp_path, without)
    units = planned(tmp_path, listing(without), Standards())
    assert not any("-D__KERNEL__" in unit.arguments for unit in units)


def test_a_forced_header_with_a_precompiled_twin_is_not_forced() -> None:
    """The compiler would read the twin, whatever a stranger made it of."""
    for twin in ("include/linux/kconfig.h.gch", "include/linux/kconfig.h.pch", "include/linux/kconfig.h.gch/any"):
        kernel = kernel_of([*TREE, twin])
        assert kernel is not None and kernel.forced == ("include/linux/compiler_types.h",)


def test_stubs_stand_only_for_what_a_build_would_make() -> None:
    source = b"#include <asm/delay.h>\n#include <asm/none.h>\n#include <generated/new.h>\n#include <linux/time.h>\n"
    stubs = kernel_stubs(TREE, [("core/main.c", source)])
    assert stubs == {"asm/delay.h": "#include <asm-generic/delay.h>\n", "generated/new.h": ""}
