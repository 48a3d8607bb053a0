"""Licence texts are strangers': what is found is right, and the time it takes is in proportion to the text."""

from __future__ import annotations

import pickle
import re
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.compute.executors.answers import unpack
from megacpp_assets.compute.executors.isolated import run_isolated
from megacpp_assets.repos.licensing.licences import (
    HEAD_BYTES,
    UNKNOWN,
    file_licence,
    is_licence_file,
    repository_licence,
)

_BSD = b"Redistribution and use in source and binary forms"
_WORDS = (
    b"Apache License", b"Version 2.0", b", Version 2.0", b"GNU GENERAL PUBLIC LICENSE", b"Version 2", b"Version 3",
    b" ", _BSD, b"Neither the name", b"Boost Software License", b"Permission is hereby granted, free of charge",
    b"\n", b"x",
)  # fmt: skip
_AS_PATTERNS = (
    ("Apache-2.0", rb"Apache License\s+Version 2\.0|Apache License, Version 2\.0"),
    ("BSL-1.0", rb"Boost Software License"),
    ("GPL-2.0-only", rb"GNU GENERAL PUBLIC LICENSE\s+Version 2"),
    ("GPL-3.0-only", rb"GNU GENERAL PUBLIC LICENSE\s+Version 3"),
    ("MIT", rb"Permission is hereby granted, free of charge"),
    ("BSD-3-Clause", rb"(?s)Redistribution and use in source and binary forms.*Neither the name"),
    ("BSD-2-Clause", rb"Redistribution and use in source and binary forms"),
)
_LONG = 2_000_000


def _by_patterns(texts: list[bytes]) -> str:
    found = (spdx for text in texts for spdx, pattern in _AS_PATTERNS if re.search(pattern, text))
    return next(found, UNKNOWN)


@given(st.lists(st.lists(st.sampled_from(_WORDS), max_size=12).map(b"".join), max_size=3))
def test_a_licence_is_the_first_text_s_first_mark(texts: list[bytes]) -> None:
    assert repository_licence(texts) == _by_patterns(texts)


def _within_seconds(text: bytes) -> tuple[str, str]:
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    return repository_licence([text]), file_licence(text)


@pytest.mark.parametrize(
    "unit",
    [
        _BSD,
        b"Apache License ",
        b"GNU GENERAL PUBLIC LICENSE\t",
        b" ",
        b"SPDX-License-Identifier: ",
        b"Neither the name",
    ],
)
@pytest.mark.parametrize("head", [b"", _BSD, b"Apache License", b"GNU GENERAL PUBLIC LICENSE"])
def test_one_long_line_takes_no_more_than_seconds(head: bytes, unit: bytes) -> None:
    text = head + unit * (_LONG // len(unit))
    value, failure = unpack(run_isolated(pickle.dumps((_within_seconds, text)), 120))
    assert failure is None
    assert value[0] in {UNKNOWN, "BSD-2-Clause", "BSD-3-Clause"}


@given(st.integers(0, 40), st.sampled_from(["MIT", "Apache-2.0 WITH LLVM-exception", "(MIT OR BSL-1.0)"[1:-1]]))
def test_a_tag_is_found_in_the_head_alone(before: int, tag: str) -> None:
    line = f"// SPDX-License-Identifier: {tag}\n".encode()
    assert file_licence(b"\n" * before + line) == tag
    assert file_licence(b"\n" * HEAD_BYTES + line) == ""


def test_only_files_at_the_root_state_a_repository_s_licence() -> None:
    assert is_licence_file("100644", "LICENSE.TXT") and is_licence_file("100755", "Copying")
    assert not is_licence_file("100644", "lib/LICENSE")
    assert not is_licence_file("120000", "LICENSE")
