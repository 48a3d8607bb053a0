"""Friends that a class declares by a qualified name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.semantic.documents.assembling import documents_of


@pytest.mark.parametrize(
    ("friend", "declared"),
    [
        ("friend int inner::secret(const Box &);", "int secret(const Box &box);"),
        ("friend int ::outer::inner::secret(const Box &);", "int secret(const Box &box);"),
        ("friend class inner::Key;", "class Key;"),
        ("friend int secret(const Box &);", None),
    ],
)
def test_a_qualified_friend_is_declared_before_its_class(friend: str, declared: str | None, tmp_path: Path) -> None:
    sources = {
        "box.h": "namespace outer {\nclass Box;\n"
        "namespace inner {\nint secret(const Box &box);\nclass Key;\n}\n"
        f"class Box {{\n  int side_ = 1000003;\n  {friend}\n}};\n}}\n",
    }
    text = documents_of(tmp_path, sources)["outer::Box"].text
    assert friend in text
    assert (text.index(declared) < text.index(friend)) if declared else ("class Key;" not in text)
