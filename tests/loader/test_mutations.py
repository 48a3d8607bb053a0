"""Damaged files of a Megatron pair and its sidecars: never a wrong value, never another error, never much memory.

`MEGACPP_MUTATIONS=10000` looks at ten thousand; without it a few stand for them.
"""

from __future__ import annotations

import os
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.errors import LineageGap, MegacppError
from megacpp_assets.contract.megatron_files import BIN, prefix_name
from megacpp_assets.loader.rows import open_rows
from megacpp_assets.megatron.pair.reader import open_bin_idx
from megacpp_assets.megatron.stage import MegatronBinIdxSpec, run
from megacpp_assets.megatron.verify import verify_prefix
from megacpp_assets.packed.stage import run as pack
from megacpp_assets.storage.artifact import Artifact
from tests.packed.enriched_documents import DATASET, MIXTURE, VOCABULARY, small_corpus
from tests.storage.mutation import mutated

COUNT = int(os.environ.get("MEGACPP_MUTATIONS", "60"))
MOST_BYTES = 64 << 20


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    root = tmp_path_factory.mktemp("root")
    pack(small_corpus(root, 12).spec())
    return run(MegatronBinIdxSpec(root, DATASET, MIXTURE))


def _read(artifact: Artifact) -> None:
    rows = np.arange(2)
    open_rows(artifact, DATASET, symbols=True, changes=True, chunks=True, platforms=True).batch(rows)


def _unsealed(prefix: Path) -> bytes | None:
    """The documents of the pair, their lengths first, as its files alone give them; None where one is refused."""
    try:
        verify_prefix(prefix, VOCABULARY)
        pair = open_bin_idx(prefix)
        return pair.lengths.tobytes() + b"".join(pair.document(n).tobytes() for n in range(pair.documents))
    except MegacppError:
        return None


@pytest.mark.timeout(3600 if COUNT > 1000 else 120)
def test_no_mutated_file_gives_other_values_or_takes_more_than_its_room(made: Artifact) -> None:
    prefix = made.directory / prefix_name(DATASET, "train")
    names = [entry.name for entry in made.manifest.files if entry.name.startswith(prefix.name) and entry.bytes]
    read = [name for name in names if not name.endswith(".documents.parquet")]
    documents = _unsealed(prefix)
    assert documents is not None
    chance, given, most = random.Random(6), [], 0
    tracemalloc.start()
    for number in range(COUNT):
        file = made.directory / names[number % len(names)]
        whole = file.read_bytes()
        damaged = mutated(whole, chance)
        if damaged == whole:
            continue
        file.write_bytes(damaged)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        if file.name in read:
            try:
                _read(made)
                given.append((number, file.name))
            except LineageGap as error:
                assert file.name in str(error)
        found = _unsealed(prefix)
        most = max(most, tracemalloc.get_traced_memory()[1] - before - len(damaged))
        if file.name != prefix.name + BIN:
            assert found in (None, documents), (number, file.name)
        file.write_bytes(whole)
    tracemalloc.stop()
    assert given == []
    assert most < MOST_BYTES
    _read(made)
