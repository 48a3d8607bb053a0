"""Small sources through the slow parser and the meaning half, without git and without processes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS, STRUCTURE_CATEGORIES
from megacpp_assets.contract.recipe.documents import SemanticRecipe
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.text.document import Document
from megacpp_assets.semantic.graph.analysis.analysis import FileFacts, analyse
from megacpp_assets.semantic.graph.repository import Repository, build_repository
from megacpp_assets.semantic.labels.char_store import CharStore
from megacpp_assets.semantic.parsing.parsed import ParsedFile
from megacpp_assets.semantic.tree.text import decode
from tests.semantic.slow_parser import parse_file

Sources = Mapping[str, str]
EACH_ITS_OWN = SemanticRecipe(strategy="per_chunk", body_depth=5, replication=0, parsed_documents=0)
"""Every root has a document, with all that it uses; none is parsed again, which costs as much as all of the rest."""


def analysed(tree: Path, sources: Sources, *, parse: bool = True) -> list[tuple[FileFacts, NDArray[np.void]]]:
    """Facts and painted characters of each file, in path order."""
    for path, text in sources.items():
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    result = []
    for path in sorted(sources, key=str.encode):
        data = sources[path].encode()
        file = SourceFile(path, "0" * 40, len(data), "c++", path.endswith(".h"), "MIT")
        arguments = ["-x", "c++", "-std=c++17", f"-I{tree}"]
        parsed = parse_file(tree, path, arguments) if parse else ParsedFile(path, "failed", "inferred", "crash")
        result.append(analyse(file, decode(path, data), parsed))
    return result


def one(text: str, *, parse: bool = True) -> tuple[FileFacts, NDArray[np.void]]:
    """Facts and painted characters of one file."""
    with tempfile.TemporaryDirectory() as name:
        return analysed(Path(name).resolve(), {"a.cc": text}, parse=parse)[0]


def labels(text: str, *, parse: bool = True) -> dict[str, str]:
    """Category -> the text of that category, white space dropped; unlabelled text is `other`."""
    _, chars = one(text, parse=parse)
    found: dict[str, str] = {}
    for character, category in zip(text, chars[c.STRUCTURE_IDS].tolist(), strict=True):
        if not character.isspace():
            name = STRUCTURE_CATEGORIES[category]
            found[name] = found.get(name, "") + character
    return found


def index(tree: Path, sources: Sources) -> tuple[Repository, CharStore]:
    """The repository made of `sources`."""
    tree.mkdir(exist_ok=True)
    store = CharStore(tree)
    facts = []
    for entry, chars in analysed(tree / "tree", sources):
        store.put(len(facts), chars)
        facts.append(entry)
    return build_repository(facts), store.seal()


def assembled(
    tree: Path, sources: Sources, recipe: SemanticRecipe | None = None, budget: int = DOCUMENT_TOKENS
) -> list[Document | Skipped]:
    """Every document of `sources`, and what has none."""
    repository, store = index(tree, sources)
    return list(documents(repository, store, recipe or EACH_ITS_OWN, budget))


def by_root(entries: list[Document | Skipped]) -> dict[str, Document]:
    """Documents by their root's name."""
    return {entry.root.name: entry for entry in entries if isinstance(entry, Document)}
