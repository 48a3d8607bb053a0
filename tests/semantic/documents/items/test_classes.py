from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.semantic.documents.items.items import Items
from tests.semantic.sources import index

SOURCES = {
    "a.h": "#pragma once\nstruct Core { int first; };\n",
    "b.h": """\
#pragma once
struct Core { int second; };
struct Other { int third; };
int make();
typedef int Direct;
typedef int Usual;
typedef int Third;
""",
}


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ({"Third": ["Other", "Core"]}, {"Other": "Other", "Core": "Core"}),
        ({"Third": ["Direct"], "Direct": ["Core"]}, {"Core": "Direct"}),
        ({"Third": ["Usual"], "Usual": ["Direct"], "Direct": ["Core"]}, {"Core": "Usual"}),
        ({"Third": ["Usual", "Other"], "Usual": ["Core"]}, {"Other": "Other", "Core": "Usual"}),
        ({"Third": ["Direct", "Core"], "Direct": ["Third"]}, {"Core": "Core"}),
        ({"Third": ["make"], "make": ["Core"]}, {}),
    ],
)
def test_an_alias_leads_to_the_nearest_classes_of_its_file_by_aliases_alone(
    uses: dict[str, list[str]], expected: dict[str, str], tmp_path: Path
) -> None:
    repository, _ = index(tmp_path, SOURCES)
    names = [node.chunk.name for node in repository.nodes]
    number = {name: place for place, name in enumerate(names)}
    used = {number[user]: [number[name] for name in found] for user, found in uses.items()}
    found = Items(repository).classes.behind_alias(number["Third"], lambda each: used.get(each, ()))
    # The last chunk of a name is that of the file of the alias.
    assert list(found) == [((number[name], number[name] + 1), called) for name, called in expected.items()]
