"""Each name of the standard libraries and of POSIX is in the header that is said to promise it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest
from clang import cindex

from megacpp_assets.semantic.documents.standard_names import GLOBAL, IN_C
from megacpp_assets.semantic.documents.standard_names_cxx import CXX
from megacpp_assets.semantic.documents.text.standard import header_in_c, header_in_cxx
from tests.semantic.parsing_trees import toolchain

OTHER = frozenset(
    "alignas alignof bool byte char16_t char32_t false noreturn nullptr_t static_assert thread_local true "
    "wchar_t".split()
)
"""Names of headers of C that are words of C++, or that only `std` has."""
SPACES = frozenset(
    "chrono chrono_literals execution filesystem literals numbers placeholders pmr ranges regex_constants rel_ops "
    "string_literals string_view_literals this_thread views".split()
)
"""Namespaces in `std`."""
NEWER = {
    "atomic": "atomic_flag_notify_all atomic_flag_notify_one atomic_flag_test atomic_flag_test_explicit "
    "atomic_flag_wait atomic_signed_lock_free atomic_unsigned_lock_free",
    "functional": "bind_back copyable_function function_ref",
    "iterator": "basic_const_iterator const_iterator const_sentinel make_const_iterator make_const_sentinel",
    "memory": "allocation_result inout_ptr inout_ptr_t is_sufficiently_aligned out_ptr out_ptr_t start_lifetime_as",
    "new": "hardware_constructive_interference_size hardware_destructive_interference_size",
    "numeric": "add_sat div_sat mul_sat saturate_cast sub_sat",
    "optional": "in_place_optional",
    "ranges": "elements_of from_range from_range_t",
    "stacktrace": CXX["stacktrace"],
    "expected": CXX["expected"],
    "type_traits": "is_corresponding_member is_implicit_lifetime is_layout_compatible "
    "is_pointer_interconvertible_base_of is_pointer_interconvertible_with_class "
    "reference_constructs_from_temporary reference_converts_from_temporary",
    "utility": "forward_like",
}
"""Names by header that not every supported library has, or not for every compiler."""


def _lacking_in_std(header: str, standard: str) -> set[str]:
    """Return the names that `header` does not declare in `std`, of those that it is said to promise."""
    names = [each for each in CXX[header].split() if each not in SPACES]
    lines = [f"namespace check{number} {{ using std::{name}; }}" for number, name in enumerate(names)]
    text = "\n".join((f"#include <{header}>", *lines))
    arguments = ["-x", "c++", f"-std={standard}", "-w", "-ferror-limit=0", "-resource-dir", toolchain().resource_dir]
    unit = cindex.Index.create().parse("check.cc", arguments, [("check.cc", text)])
    errors = [each for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]
    if any(each.spelling.endswith("file not found") for each in errors):
        return set()
    return {names[each.location.line - 2] for each in errors if each.location.file.name == "check.cc"}


def _lacking(header: str, names: Sequence[str]) -> list[str]:
    """Return what a compiler of C++ says about those `names` that are no macros and that `header` does not declare."""
    uses = "".join(f"#ifndef {name}\nusing ::{name};\n#endif\n" for name in names)
    text = f"#define _GNU_SOURCE 1\n#include <{header}>\nusing namespace std;\nnamespace check {{\n{uses}}}\n"
    arguments = ["-x", "c++", "-std=c++20", "-w", "-ferror-limit=0", "-resource-dir", toolchain().resource_dir]
    unit = cindex.Index.create().parse("check.cc", arguments, [("check.cc", text)])
    return [each.spelling for each in unit.diagnostics if each.severity >= cindex.Diagnostic.Error]


@pytest.mark.parametrize("table", [IN_C, GLOBAL])
def test_each_header_has_its_names(table: Mapping[str, str]) -> None:
    named: dict[str, list[str]] = defaultdict(list)
    for name in sorted(table.keys() - OTHER):
        named[table[name]].append(name)
    named.pop("complex.h", None)  # In C++ it declares the class.
    assert {header: found for header, names in named.items() if (found := _lacking(header, names))} == {}


def test_the_header_of_complex_numbers_in_c_has_its_names() -> None:
    names = [name for name, header in IN_C.items() if header == "complex.h"]
    text = "#include <complex.h>\n" + "".join(f"void *use_{name} = (void *)&{name};\n" for name in names)
    arguments = ["-x", "c", "-w", "-resource-dir", toolchain().resource_dir]
    unit = cindex.Index.create().parse("check.c", arguments, [("check.c", text)])
    assert len(names) > 60
    assert [each.spelling for each in unit.diagnostics] == []


@pytest.mark.parametrize("header", sorted(CXX))
def test_each_header_of_cxx_has_its_names_in_an_old_or_a_new_standard(header: str) -> None:
    lacking = _lacking_in_std(header, "c++14") & _lacking_in_std(header, "c++2b")
    assert lacking - set(NEWER.get(header, "").split()) == set()


def test_a_trait_has_its_type_and_its_value_in_one_header() -> None:
    assert {header_in_cxx(f"std::decay{form}") for form in ("", "_t")} == {"type_traits"}
    assert header_in_cxx("std::is_swappable_v") == "type_traits"


def test_names_with_a_beginning_of_their_own_are_in_one_header() -> None:
    assert header_in_c("pthread_create") == header_in_cxx("pthread_t") == "pthread.h"
    assert header_in_c("__m256i") == header_in_cxx("_mm_add_epi32") == "immintrin.h"
