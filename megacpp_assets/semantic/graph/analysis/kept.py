"""Caches analyses by everything that they depend on, so that a cached analysis equals a new one.

Failures are not cached, because the machine may have caused them.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version

import orjson

from megacpp_assets.semantic.graph.analysis import entry as analysis_entry
from megacpp_assets.semantic.graph.analysis.analyses import Analysed, AnyItem, analyse_files
from megacpp_assets.semantic.parsing.lots import Crew
from megacpp_assets.semantic.parsing.stored import unit_entry
from megacpp_assets.semantic.parsing.worker import UnitResult
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.caching.code import code_identity

_LIBRARIES = ("numpy", "tree-sitter", "tree-sitter-cpp")
"""Libraries on which an analysis depends, in addition to this package's code and the parser."""


def analyses(items: Sequence[AnyItem], crew: Crew, store: Cache, *, cpu_s: int, wall_s: float) -> Iterator[Analysed]:
    """Yield the analyses of `items` from `store`; analyse and store those that are missing. See `analyse_files`."""
    left: list[AnyItem] = []
    keys: dict[str, str] = {}
    for item in items:
        key = keys[item.path] = _key(item, cpu_s, wall_s)
        kept = store.get(key)
        if kept is None:
            left.append(item)
        else:
            yield analysis_entry.from_bytes(kept, item)
    for analysed in analyse_files(left, crew, cpu_s=cpu_s, wall_s=wall_s):
        if not analysed.reason:
            store.put(keys[analysed.facts.file.path], analysis_entry.to_bytes(analysed))
        yield analysed


def _key(item: AnyItem, cpu_s: int, wall_s: float) -> str:
    digest = hashlib.sha256(_code())
    source = item.source
    content = hashlib.sha256(source.data).hexdigest()
    digest.update(orjson.dumps([content, source.flags, cpu_s, wall_s]))
    digest.update(unit_entry.to_bytes(UnitResult(item.parsed)))
    return digest.hexdigest()


@cache
def _code() -> bytes:
    facts = {
        "code": code_identity(__name__),
        "python": sys.version,
        **{library: version(library) for library in _LIBRARIES},
    }
    return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)
