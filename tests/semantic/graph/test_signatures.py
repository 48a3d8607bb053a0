"""Signatures: which functions can be declared without their bodies."""

from __future__ import annotations

import pytest

from megacpp_assets.semantic.graph.signatures import needs_body


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
