"""A git repository that mixes good generated files with everything hostile, and its `semantic_jsonl`."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import orjson
import pyarrow.parquet as pq

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import DOCUMENT_TOKENS
from megacpp_assets.contract.recipe.documents import HoldoutRecipe, SemanticRecipe
from megacpp_assets.curation.stage import CuratedFilesSpec
from megacpp_assets.curation.stage import run as curate
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.semantic.stage import SemanticJsonlSpec
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.root.layout import RECEIPTS, semantic_cache_path
from tests.repos.git_tree import git, make_repository
from tests.semantic.hostile_sources import MARK
from tests.semantic.parsing_trees import toolchain
from tests.storage.records import plain_records

GOOD_FOLDER = "good/"
ODD_NAMES = (
    "new\nline.cc", 'quo"te.cc', "apo'strophe.cc", "$(touch evil).cc", "`id`.cc", "-o.cc", "@args.cc", "=root.cc",
    "sp ace.cc", "tab\t.cc", "back\\slash.cc", "c:colon.cc", "per%cent.cc", "star*.cc", "\u202egnp.cc", "\u00e9.cc",
    "e\u0301.cc", "UPPER.CC", ".hidden.cc", "deep/" * 100 + "deep.cc", "long" * 60 + ".cc", "con.cc", ".megacpp/a.cc",
)  # fmt: skip
LINKS = {
    "host.cc": "/etc/passwd", "up.cc": "../../../etc/passwd", "loop.cc": "loop.cc", "root": "/",
    "inside.cc": "good/m0.cc", "bad/out.h": "CANARY", "bad/away": "AWAY",
}  # fmt: skip


def good(count: int) -> dict[str, bytes]:
    """`count` sources that call each other through headers; nothing in them is named by any other file."""
    files: dict[str, bytes] = {}
    for index in range(count):
        before = f"good::step{index - 1}(value)" if index % 7 else "value"
        header = f"#pragma once\nnamespace good {{ struct Box{index} {{ int value; }}; int step{index}(int value); }}\n"
        source = f'#include "m{index}.h"\n' + (f'#include "m{index - 1}.h"\n' if index % 7 else "")
        source += (
            f"namespace good {{\n// Step {index}.\nstatic int own{index}(Box{index} box) {{ return box.value; }}\n"
        )
        source += f"int step{index}(int value) {{ return own{index}(Box{index}{{{before}}}) + {index}; }}\n}}\n"
        files |= {f"{GOOD_FOLDER}m{index}.h": header.encode(), f"{GOOD_FOLDER}m{index}.cc": source.encode()}
    return files


def plant_canary(folder: Path) -> tuple[Path, str]:
    """A readable file of the host with a word that nothing else holds: (its path, the word).

    The text of an included file is no output of the stage. A macro of it, used by who includes it, is a symbol there.
    """
    word = f"canary_{secrets.token_hex(12)}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "canary.h"
    path.write_text(f"#define {MARK} struct {word} {{ int {word}_member; }};\nint {word}_declared;\n")
    return path, word


def spec_of(base: Path, name: str, files: Mapping[str, bytes], canary: Path | None = None) -> SemanticJsonlSpec:
    """Pins a repository of `files` and returns its spec; with a canary, odd names and links lead to it."""
    upstream, root = base / name / "upstream", base / name / "data"
    make_repository(upstream, dict(files))
    if canary is not None:
        _make_strange(upstream, canary)
    root.mkdir()
    chosen = pin(CatalogueEntry("mixed", str(upstream), "v1"), "v1", root)
    fetch(PinnedReposSpec(root, chosen))
    curate(CuratedFilesSpec(root, "d", chosen.partition, chosen.license))
    # A document for each root, no file held out, and neither the price of context nor the length of a token measured in
    # the whole repository: what a file's documents hold is then its own doing.
    recipe = SemanticRecipe(strategy="per_chunk", chars_per_token=4.0, replication=50.0)
    budgets, held = (DOCUMENT_TOKENS,), HoldoutRecipe(share=0)
    return SemanticJsonlSpec(
        root, "d", chosen.partition, chosen.commit, chosen.license, recipe, toolchain(), budgets, held
    )


def _make_strange(upstream: Path, canary: Path) -> None:
    for index, name in enumerate(ODD_NAMES):
        path = upstream / "names" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"int named{index}() {{ return {index}; }}\n")
    (Path(os.fsdecode(os.fsencode(upstream / "names") + b"/\xff\xfe.cc"))).write_text("int unnamed;\n")
    for name, where in LINKS.items():
        path = upstream / name
        path.parent.mkdir(exist_ok=True)
        path.symlink_to({"CANARY": str(canary), "AWAY": str(canary.parent)}.get(where, where))
    git(upstream, "add", "-A")
    git(upstream, "commit", "-q", "-m", "strange")
    git(upstream, "tag", "-f", "-a", "v1", "-m", "v1")


def good_documents(artifact: Artifact) -> list[bytes]:
    """The documents of the good files, byte for byte but for the commit that they come from."""
    return [
        orjson.dumps({key: value for key, value in record.items() if key != c.COMMIT})
        for record in plain_records(artifact, DOCUMENT_TOKENS)
        if record[c.FILEPATH].startswith(GOOD_FOLDER)
    ]


def everything(artifact: Artifact) -> bytes:
    """All that the stage left: files and receipts as they are; documents, tables and kept units as they are read."""
    folders = (artifact.directory, artifact.root / RECEIPTS)
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    tables = [pq.read_table(path).to_pylist() for path in files if path.suffix == ".parquet"]
    records = plain_records(artifact, DOCUMENT_TOKENS)
    read = orjson.dumps([records, tables])
    return b"\0".join([*(path.read_bytes() for path in files), read, artifact.manifest.to_bytes(), *kept(artifact)])


def kept(artifact: Artifact) -> list[bytes]:
    """Every entry of the cache, decompressed."""
    folder = artifact.root / semantic_cache_path()
    names = [path.relative_to(folder).as_posix().replace("/", "") for path in folder.rglob("*") if path.is_file()]
    entries = [Cache(folder).get(name) for name in sorted(names)]
    return [entry for entry in entries if entry is not None]


@contextmanager
def overheard(log: Path) -> Iterator[None]:
    """What this process and those that it starts print, on either stream, goes to `log`."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        before = [os.dup(stream) for stream in (1, 2)]
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
        try:
            yield
        finally:
            for stream, saved in zip((1, 2), before, strict=True):
                os.dup2(saved, stream)
                os.close(saved)
