from __future__ import annotations

from pathlib import Path

from megacpp_assets.semantic.documents.items.items import Items
from tests.semantic.sources import index


def test_an_enumeration_is_used_by_the_names_of_its_enumerators(tmp_path: Path) -> None:
    made = "#define XX(name) MADE_##name,\n  XX(FOURTH)\n#undef XX\n"
    text = f"typedef enum {{\n  FIRST, /* a, b */\n{made}  SECOND = 2,\n  COUNT\n}} order;\n"
    repository, _ = index(tmp_path, {"a.h": f"{text}struct table {{ int of[COUNT]; }};\nenum class kind {{ MOST }};\n"})
    items = Items(repository)
    number = {node.chunk.name: number for number, node in enumerate(repository.nodes)}
    assert items.spells(number["table"], number["order"])
    assert items.names(number["order"]) == {"order", "FIRST", "MADE_FOURTH", "SECOND", "COUNT"}
    assert items.names(number["kind"]) == {"kind"}
