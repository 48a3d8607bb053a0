from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.documents.text.standard import StandardHeaders, header_in_c, header_in_cxx
from megacpp_assets.semantic.labels.char_store import Part
from tests.semantic.documents.assembling import documents_of
from tests.semantic.sources import Sources, assembled, index


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("std::string", "string"),
        ("std::__cxx11::to_string", "string"),
        ("std::vector::push_back", "vector"),
        ("std::chrono::steady_clock", "chrono"),
        ("std::size_t", "cstddef"),
        ("size_t", "cstddef"),
        ("printf", "cstdio"),
        ("pthread_mutex_lock", "pthread.h"),
        ("std", ""),
        ("mine::string", ""),
        ("", ""),
    ],
)
def test_the_header_of_a_name_is_the_one_that_the_standard_promises(name: str, header: str) -> None:
    assert header_in_cxx(name) == header


def test_headers_of_c_end_in_h() -> None:
    assert [header_in_c(name) for name in ("printf", "size_t", "string")] == ["stdio.h", "stddef.h", ""]


def _texts(tree: Path, sources: Sources) -> dict[str, str]:
    recipe = SemanticRecipe(strategy="file", parsed_documents=0)
    made = (entry for entry in assembled(tree, sources, recipe) if isinstance(entry, Document))
    return {entry.root.name: entry.text for entry in made}


def test_a_header_that_came_through_another_file_is_included_once_at_the_top(tmp_path: Path) -> None:
    sources = {
        "all.h": "#pragma once\n#include <string>\n#include <climits>\n#include <cstring>\n",
        "user.cc": '#include "all.h"\n#include <stdio.h>\n#define SIZE(text) strlen(text)\n'
        'std::string printed(int number) {\n  if (number < INT_MAX) printf("%d", number);\n'
        '  return std::string("some text of a length", SIZE("some"));\n}\n',
    }
    text = _texts(tmp_path, sources)["SIZE"]
    assert text.removeprefix('#include "all.h"\n').startswith(
        "#include <stdio.h>\n#include <climits>\n#include <cstring>\n#include <string>\n\n"
    )
    assert text.count("#include <") == 4


def test_the_header_string_does_not_stand_for_cstring(tmp_path: Path) -> None:
    header = "#pragma once\n#include <cstring>\n"
    source = (
        '#include <string>\n#include "a.h"\nlong size(const std::string &s) { return strlen(s.c_str()) + 1000003; }\n'
    )
    text = _texts(tmp_path, {"a.h": header, "b.cc": source})["size"]
    assert "#include <string>" in text and "#include <cstring>" in text


def test_names_of_the_repository_need_no_standard_header(tmp_path: Path) -> None:
    text = 'int strlen(const char *text) { return text[0] ? 1000000 : 2000000; }\nint used() { return strlen("a"); }\n'
    assert all("#include" not in each for each in _texts(tmp_path, {"own.cc": text}).values())


def test_a_standard_type_that_an_unconfigured_tree_does_not_find_comes_with_its_header(tmp_path: Path) -> None:
    """Such a tree declares `uint32_t` for compilers that this machine is not."""
    types = "#pragma once\n#ifdef HAVE_STDINT\n#include <stdint.h>\n#else\ntypedef __int32 some32_t;\n#endif\n"
    user = "int user(const uint32_t *first) { return (int)*first + 1000000; /* ptrdiff_t */ }\n"
    text = _texts(tmp_path, {"types.h": types, "user.c": '#include "types.h"\n' + user})["user"]
    assert text.count("stdint") == 1 and "stddef" not in text


def test_a_substitute_of_a_standard_function_or_type_gives_way_to_the_header(tmp_path: Path) -> None:
    """The type of a member and the function that a body calls: their headers are in the toolchain of this machine."""
    length = "static size_t strlen(const char *text) {\n  size_t length = 0;\n  while (text[length]) ++length;\n"
    missing = f"typedef unsigned int size_t;\n{length}  return length;\n}}\n"
    sources = {
        "system.h": f"#pragma once\n#ifdef HAVE_HEADERS\n#include <string.h>\n#else\n{missing}#endif\n",
        "text.h": '#pragma once\n#include "system.h"\nstruct text {\n  const char *data;\n  size_t size;\n};\n',
        "user.c": '#include "text.h"\nvoid user(struct text *text) { text->size = strlen(text->data) + 1000000; }\n',
    }
    text = _texts(tmp_path, sources)["user"]
    assert "size_t size;" in text and "typedef" not in text and "++length" not in text
    assert text.startswith("#include <cstddef>\n#include <cstring>\n")


def test_what_a_header_declares_ahead_in_std_gives_way_to_the_standard_header(tmp_path: Path) -> None:
    ahead = (
        "namespace std {\ntemplate <class T> struct char_traits;\ntemplate <class C, class T> class basic_ostream;\n"
    )
    ahead += "typedef basic_ostream<char, char_traits<char>> ostream;\n}\n"
    sources = {
        "ahead.h": f"#pragma once\n{ahead}struct Key {{ int id; }};\n",
        "user.cc": '#include "ahead.h"\nvoid write(std::ostream &out);\n'
        "void user(std::ostream &out, Key v) { static int made = 1000003; write(out); made += v.id; }\n",
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert text.startswith("#include <ostream>\n") and "struct Key { int id; };" in text
    assert "namespace std" not in text and "basic_ostream" not in text


def test_a_specialization_of_a_template_of_std_stays(tmp_path: Path) -> None:
    special = "namespace std {\ntemplate <> struct hash<Key> {\n  size_t operator()(const Key &v) const;\n};\n}\n"
    sources = {
        "key.h": f"#pragma once\n#include <functional>\nstruct Key {{ int id; }};\n{special}",
        "user.cc": '#include "key.h"\nsize_t user(Key v) { std::hash<Key> made; return made(v) + 1000003; }\n',
    }
    text = documents_of(tmp_path, sources)["user"].text
    assert "struct hash<Key>" in text and "namespace std {" in text


def test_a_name_of_std_in_a_header_that_leaves_its_includes_to_its_users_comes_with_its_header(tmp_path: Path) -> None:
    text = "struct Worker {\n  std::function<void()> call;  // std::thread\n  int number_of_this_worker;\n};\n"
    shown = _texts(tmp_path, {"worker.h": text})["Worker"]
    assert shown.startswith("#include <functional>\n") and "#include <thread>" not in shown


def test_a_standard_name_that_the_document_declares_itself_needs_no_header(tmp_path: Path) -> None:
    sources = {
        "own.h": "#pragma once\nint strlen(const char *text);\n",
        "user.cc": '#include "own.h"\nint user(const char *text) { return strlen(text) + 1000000; }\n',
    }
    text = _texts(tmp_path, sources)["user"]
    assert "int strlen(const char *text);" in text and "<cstring>" not in text


def test_a_macro_of_several_lines_brings_the_header_of_what_it_names(tmp_path: Path) -> None:
    sources = {
        "check.h": "#pragma once\n#include <cstdio>\n#include <cstdlib>\n#define CHECK(x) \\\n  do { \\\n"
        '    if (!(x)) fprintf(stderr, "failed"); \\\n  } while (0)\n'
        'inline void unused() { fprintf(stderr, "a text of some length"); }\n',
        "user.cc": '#include "check.h"\nint checked(int value) { CHECK(value > 1000); return value; }\n',
    }
    assert "#include <cstdio>" in _texts(tmp_path, sources)["checked"]


def test_an_include_below_what_needs_it_does_not_stand_for_the_one_at_the_top(tmp_path: Path) -> None:
    late = "#include <cstring>\n#define LATE_MACRO_OF_A_FILE 1000000\n"
    sources = {
        "a.h": "#pragma once\n#include <cstring>\n",
        "b.cc": '#include "a.h"\nint length_of(const char *text) { return strlen(text) + 1000; }\n' + late,
    }
    for text in _texts(tmp_path, sources).values():
        if "strlen" in text:
            assert text.index("#include <cstring>") < text.index("strlen")


def test_a_constant_in_a_macro_brings_its_header_though_the_parser_never_saw_it(tmp_path: Path) -> None:
    text = "#define LARGEST (DBL_MAX + OWN_MAX)\nint used(int v) { return v + 1000000; }\n"
    assert "#include <cfloat>\n" in _texts(tmp_path, {"own.cc": text})["LARGEST"]


def test_a_function_that_a_macro_calls_brings_its_header(tmp_path: Path) -> None:
    text = "#define LENGTH(text) (own(text) + strlen(text))\nint own(const char *);\nint used() { return 100000; }\n"
    assert _texts(tmp_path, {"own.cc": text})["LENGTH"].startswith("#include <cstring>\n\n#define LENGTH")


def test_a_constant_that_the_repository_defines_needs_no_header(tmp_path: Path) -> None:
    text = "#define DBL_MAX 1e30\n#define LARGEST (DBL_MAX + 1)\nint used(int v) { return v + 1000000; }\n"
    assert "#include" not in _texts(tmp_path, {"own.cc": text})["DBL_MAX"]


@pytest.mark.parametrize("kind", ["std::uint8_t", "uint8_t"])
def test_the_type_of_the_values_of_an_enumeration_brings_its_header(kind: str, tmp_path: Path) -> None:
    sources = {
        "a.h": "#pragma once\n#include <cstdint>\n",
        "b.cc": f'#include "a.h"\nenum class level : {kind} {{ low }};\n',
    }
    assert _texts(tmp_path, sources)["level"].startswith("#include <cstdint>\n")


def test_a_name_of_std_in_a_macro_brings_its_header(tmp_path: Path) -> None:
    text = "#define KEY std::uint64_t\nint used(int v) { return v + 1000000; }\n"
    assert "#include <cstdint>\n" in _texts(tmp_path, {"own.cc": text})["KEY"]


@pytest.mark.parametrize(
    ("macro", "in_c", "headers"),
    [
        ("std::atomic_##name", False, {"atomic"}),
        ("atomic_##name", True, {"stdatomic.h"}),
        ("memory_order_ ## name", True, {"stdatomic.h"}),
        ("own_##name", True, set()),
        ("SIG_##name", True, set()),  # names of several headers have this beginning
        ("used_##name + thread_##name", True, set()),
    ],
)
def test_a_macro_that_completes_a_name_of_the_standard_brings_its_header(
    macro: str, in_c: bool, headers: set[str], tmp_path: Path
) -> None:
    text = f"#define OWN(name) {macro}\nint used_here(int v) {{ return v + 1000000; }}\n"
    repository, chars = index(tmp_path, {"own.cc": text})
    assert StandardHeaders(repository, chars).needed([Part(0, 0, 0, len(text))], in_c=in_c) == headers


def test_a_name_that_the_repository_completes_itself_brings_no_header(tmp_path: Path) -> None:
    text = "#define OWN(name) atomic_##name\nint atomic_own(void) { return 1000000; }\n"
    repository, chars = index(tmp_path, {"own.cc": text})
    assert StandardHeaders(repository, chars).needed([Part(0, 0, 0, len(text))], in_c=True) == set()


def test_functions_of_atomics_have_a_header_in_c() -> None:
    assert header_in_c("atomic_exchange_explicit") == "stdatomic.h"


@pytest.mark.parametrize(
    ("name", "header"),
    [("S_IFREG", "sys/stat.h"), ("iconv_t", "iconv.h"), ("FE_UPWARD", "cfenv"), ("regex_t", "regex.h")],
)
def test_a_name_of_posix_brings_its_header(name: str, header: str, tmp_path: Path) -> None:
    user = f'#include "lib.h"\nint user(int n) {{ return (int)sizeof({name}) + n + 1000003; }}\n'
    sources = {"lib.h": f"#pragma once\n#include <{header}>\n", "user.cc": user}
    assert f"#include <{header}>" in _texts(tmp_path, sources)["user"]


@pytest.mark.parametrize(
    ("word", "dropped", "headers"), [("int64_t", True, {"cstdint"}), ("int64_t", False, set()), ("long", True, set())]
)
def test_a_type_in_text_that_the_preprocessor_dropped_brings_its_header(
    word: str, dropped: bool, headers: set[str], tmp_path: Path
) -> None:
    source = f"int user(int n) {{\n#ifdef EXACT\n  {word} wide = n;\n#endif\n  return n + 1000003;\n}}\n"
    repository, chars = index(tmp_path, {"user.cc": source})
    parsed = replace(repository.files[0].parsed, skipped_ranges=((18, 50),) if dropped else ())
    repository = replace(repository, files=[replace(repository.files[0], parsed=parsed)])
    assert StandardHeaders(repository, chars).needed([Part(0, 0, 0, len(source))], in_c=False) == headers


LINE = "  int64_t wide = n;\n"
ABOVE = "// é\n" * 40 + "int user(int n) {\n#ifdef EXACT\n"


@pytest.mark.parametrize(
    ("dropped", "is_needed"),
    [
        (((-20, 0),), False),
        (((-20, 1),), True),
        (((len(LINE) - 1, len(LINE) + 5),), True),
        (((len(LINE), len(LINE) + 5),), False),
        (((-20, -10), (0, 5)), True),
        (((-20, -10), (len(LINE), len(LINE) + 5)), False),
    ],
)
def test_the_dropped_text_is_that_of_the_characters_that_a_document_shows(
    dropped: tuple[tuple[int, int], ...], is_needed: bool, tmp_path: Path
) -> None:
    repository, chars = index(tmp_path, {"user.cc": f"{ABOVE}{LINE}#endif\n  return n + 1000003;\n}}\n"})
    place = len(ABOVE.encode())
    parsed = replace(repository.files[0].parsed, skipped_ranges=tuple((place + a, place + b) for a, b in dropped))
    repository = replace(repository, files=[replace(repository.files[0], parsed=parsed)])
    shown = Part(0, 0, len(ABOVE), len(ABOVE) + len(LINE))
    assert StandardHeaders(repository, chars).needed([shown], in_c=False) == ({"cstdint"} if is_needed else set())


def test_a_name_that_std_has_from_outside_needs_its_header(tmp_path: Path) -> None:
    sources = {
        "a.cc": "#include <vector>\n#include <cstdint>\nusing key = std::uint32_t;\n",
        "b.cc": "int unrelated;\n",
    }
    repository, chars = index(tmp_path, sources)
    text = repository.files[0].source.text
    headers = StandardHeaders(repository, chars)
    assert headers.needed([Part(0, 0, 0, len(text))], in_c=False) == {"cstdint"}
