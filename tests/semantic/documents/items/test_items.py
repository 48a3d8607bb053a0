from __future__ import annotations

from pathlib import Path

from megacpp_assets.semantic.documents.items.items import Items
from tests.semantic.sources import index


def test_an_enumeration_is_used_by_the_names_of_its_enumerators(tmp_path: Path) -> None:
    text = "typedef enum {\n  FIRST, /* a, b */\n#define MADE 3\n  SECOND = 2,\n  COUNT\n} order;\n"
    repository, _ = index(tmp_path, {"a.h": f"{text}struct table {{ int of[COUNT]; }};\nenum class kind {{ MOST }};\n"})
    items = Items(repository)
    number = {node.chunk.name: number for number, node in enumerate(repository.nodes)}
    assert items.spells(number["table"], number["order"])
    assert items.names(number["order"]) == {"order", "FIRST", "SECOND", "COUNT"}
    assert items.names(number["kind"]) == {"kind"}
