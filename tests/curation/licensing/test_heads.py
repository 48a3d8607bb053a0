"""Licence heads of sources: which comment is one, and that layout and names of authors do not make another."""

from __future__ import annotations

import pytest

from megacpp_assets.curation.licensing.heads import WORDS, licence_head

_APACHE = """\
// Copyright 2017 The Abseil Authors.
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.

#include <map>
"""


def _key(text: str) -> str:
    head = licence_head(text.encode())
    assert head is not None
    return head.key


def test_a_head_in_another_layout_by_another_author_is_the_same_head() -> None:
    block = _APACHE.replace("// ", " * ").replace("//\n", " *\n").replace(" * Copyright", "/* Copyright")
    block = block.replace(".\n\n#", ".\n */\n#").replace("2017 The Abseil", "2024 Some Other")
    assert "/* Copyright 2024 Some Other" in block and _key(block) == _key(_APACHE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "int x; // Licensed under the MIT license\n",
        "// Adds two numbers.\nint add(int, int);\n",
        "/* Copyright 2020 X */",
    ],
)
def test_a_text_without_a_licence_comment_before_its_code_has_no_head(text: str) -> None:
    assert licence_head(text.encode()) is None


def test_the_head_may_stand_behind_another_comment_and_a_byte_order_mark() -> None:
    assert _key("\ufeff/* -*- C++ -*- */\n\n" + _APACHE) == _key(_APACHE)


def test_a_comment_that_never_ends_is_cut_after_a_number_of_words() -> None:
    head = licence_head(b"/* This file is part of x.\n" + b"word " * 5000)
    assert head is not None and len(head.text.split()) == WORDS
