"""Signatures: which functions can be declared without their bodies."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.graph.signatures import needs_body
from tests.semantic.sources import index


@pytest.mark.parametrize(
    "signature",
    [
        "auto size() const",
        "constexpr auto& Box::front()",
        "template <class T> decltype(auto) forward(T &&value) noexcept",
        "auto operator()(int x) const",
        "auto operator<<(int x)",
        "auto Box::operator bool() const",
        "MACRO auto *first(int (*)(char))",
    ],
)
def test_a_return_type_without_a_type_behind_the_parameters_is_deduced(signature: str) -> None:
    assert needs_body(signature.encode())


def test_a_friend_with_attributes_may_only_be_defined() -> None:
    assert needs_body(b"[[nodiscard]] [[gnu::cold]] friend bool operator==(Box a, Box b)")
    assert not needs_body(b"[[nodiscard]] bool operator==(Box a, Box b)")
    assert not needs_body(b"friend bool operator==(Box a, Box b)")


@pytest.mark.parametrize(
    "signature",
    ["template <class T, class = void> friend void swap(T, T)", "friend int sum(Box b, int times = 1)"],
)
def test_a_friend_with_default_arguments_may_only_be_defined(signature: str) -> None:
    assert needs_body(signature.encode())
    assert not needs_body(signature.replace("friend ", "").encode())


@pytest.mark.parametrize("operator", ["==", "!=", "<=", ">=", "<=>", "+="])
def test_the_name_of_an_operator_is_no_default_argument(operator: str) -> None:
    assert not needs_body(f"friend Box operator{operator}(Box a, Box b)".encode())


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ("class Box FINAL", "class Box"),
        ("class Box final", "class Box"),
        ("class EXPORT Box", "class EXPORT Box"),
        ("template <class T> struct Box FINAL : Base", "template <class T> struct Box"),
    ],
)
def test_the_head_of_a_class_has_no_macro_in_place_of_final(tmp_path: Path, head: str, shown: str) -> None:
    text = f"#define FINAL final\n#define EXPORT\nstruct Base {{}};\n{head} {{ int side; }};\n"
    repository, _ = index(tmp_path, {"a.cc": text})
    heads = [node.signature for node in repository.nodes if node.chunk.name.startswith("Box")]
    assert [text[span.char_start : span.char_end] for span in heads if span] == [shown]


@pytest.mark.parametrize(
    "signature",
    [
        "auto size() const -> int",
        "template <auto N> int size(int x)",
        "int apply(std::function<auto(int) -> int> call)",
        "int autosize(int auto_size)",
        "template <class T> auto f(T x) -> decltype(x + 1)",
    ],
)
def test_other_return_types_are_not(signature: str) -> None:
    assert not needs_body(signature.encode())


@pytest.mark.parametrize("written", ["operator unsigned", "operator const char*", "operator std::pair<int, int>"])
def test_a_conversion_has_a_signature_however_its_type_is_written(tmp_path: Path, written: str) -> None:
    text = f"#include <utility>\nstruct Box {{ {written}() const; }};\nBox::{written}() const {{ return {{}}; }}\n"
    repository, _ = index(tmp_path, {"a.cc": text})
    (span,) = [node.signature for node in repository.nodes if node.chunk.kind == "func_body"]
    assert span is not None
    assert text[span.char_start : span.char_end] == f"Box::{written}() const"
