from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS, platforms
from megacpp_assets.semantic.documents.text.platform_rules import in_range, match_text
from megacpp_assets.semantic.documents.text.platforms import platform_ids


def names(text: str, standard: str = "", files: tuple[str, ...] = ("a.cc",)) -> list[str]:
    return [str(platforms().by_id[each]) for each in platform_ids(text, standard, files)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#ifdef _WIN32\n#endif\n", ["os=windows"]),
        ("#if defined(__linux__) || \\\n    defined __aarch64__\n#endif\n", ["os=linux", "arch=arm64"]),
        ("#if 1\n#elif defined(_MSC_VER) && _MSC_VER > 1900\n#endif\n", ["compiler=msvc"]),
        ("#include <linux/io_uring.h>\n", ["os=linux"]),
        ("# include <arm_neon.h> // fast\n", ["arch=neon"]),
        ('#include "windows.h" // <unistd.h>\n', []),
        ("#define A _WIN32\nint __linux__;\n", []),
        ("// #ifdef _WIN32\n/*\n#ifdef __APPLE__\n*/\n", []),
        ("#if A // _WIN32\n#endif /* __linux__ */\n", []),
        ('auto s = R"(\n#ifdef _WIN32\n)";\n', []),
        ("#ifndef MY__linux__H\n#endif\n", []),
    ],
)
def test_a_document_is_for_what_its_conditionals_and_headers_name(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_standard_is_that_of_the_parse_and_c_has_none() -> None:
    assert [names("", standard) for standard in ("c++20", "gnu++2b", "c++03", "gnu11", "")] == [
        ["cpp_std=c++20"], ["cpp_std=c++23"], ["cpp_std=c++98"], [], [],
    ]  # fmt: skip


def test_a_cuda_source_is_for_cuda_whatever_it_says() -> None:
    assert names("", "c++17", ("b.h", "a.cu")) == ["gpu=cuda", "cpp_std=c++17"]


def test_of_too_many_platforms_those_stay_that_the_text_names_first() -> None:
    macros = [each.signs[0] for each in platforms().by_id.values() if each.kind in ("arch", "os")]
    text = "".join(f"#ifdef {macro}\n#endif\n" for macro in reversed(macros))
    found = platform_ids(text, "c++17", ())
    assert len(found) == MAX_PLATFORM_IDS and found[-1] == 109
    assert found[:-1] == sorted({each for macro in macros[-19:] for each in platforms().by_sign[macro]})[:19]


_SIGNS = st.sampled_from([*sorted(platforms().by_sign), "FOO", "__cplusplus", "<vector>"])
_LINES = st.one_of(
    st.builds("#if defined({}) && !defined({})\n".format, _SIGNS, _SIGNS),
    st.builds("  # ifdef {} // _WIN32\n".format, _SIGNS),
    st.builds("#include {}\n".format, _SIGNS),
    st.builds("int a = 1; // {}\n".format, _SIGNS),
    st.builds("/* {}\n#ifdef {} */\n".format, _SIGNS, _SIGNS),
    st.just("#else\n"),
    st.just("#endif\n"),
)


@given(lines=st.lists(_LINES, max_size=30), standard=st.sampled_from(["c++17", "gnu++20", "c11", ""]))
def test_found_platforms_are_ascending_and_what_a_reader_without_the_lexer_finds(
    lines: list[str], standard: str
) -> None:
    text = "".join(lines)
    found = platform_ids(text, standard, ["a.cc"])
    assert in_range(found)
    assert match_text(found, text, standard, ["a.cc"])
    assert platform_ids("// before\n" + text + "\n", standard, ["a.cc"]) == found


@given(lines=st.lists(_LINES, max_size=10), wrong=st.sampled_from(sorted(platforms().by_id)))
def test_a_platform_that_nothing_tells_is_seen(lines: list[str], wrong: int) -> None:
    text = "".join(lines)
    found = platform_ids(text, "c++17", ["a.cc"])
    platform = platforms().by_id[wrong]
    if wrong not in found and not any(sign.removesuffix(">") in text for sign in platform.signs):
        assert not match_text(sorted([*found, wrong]), text, "c++17", ["a.cc"])
