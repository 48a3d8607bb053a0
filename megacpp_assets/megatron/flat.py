"""A mixture in the flat layout that Megatron's launchers expect: one folder of pairs and one of the tokenizer.

FOLDER/megatron/clang_semantic_4k_v10_{train,valid}.{bin,idx}
FOLDER/tokenizer/tokenizer.json
FOLDER/SHA256SUMS, FOLDER/clang_semantic_4k_v10.json
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from megacpp_assets.contract.canonical import canonical_json, sha256_file
from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX, pairs_name, prefix_name
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.megatron.launch import megatron_tokenizer
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.atomic import copy_any, write_atomic

PAIRS: Final = "megatron"
TOKENIZER: Final = "tokenizer"
SUMS_FILE: Final = "SHA256SUMS"


@dataclass(frozen=True, slots=True)
class MixtureFiles:
    """The pairs of one mixture of `dataset`, and the tokenizer that made their tokens."""

    megatron: Artifact
    tokenizer: Artifact
    dataset: str
    mixture: Mixture

    def source(self, split: str, suffix: str) -> Path:
        """Return a file of a pair in the artifact; `LineageGap` if it differs from the manifest."""
        return self.megatron.file(prefix_name(pairs_name(self.megatron.manifest), split) + suffix)

    @property
    def row_tokens(self) -> int:
        """Tokens of a packed row."""
        return int(self.megatron.manifest.stats["row_tokens"])

    @property
    def name(self) -> str:
        """The name of the pairs in the flat layout, for example `clang_semantic_4k_v10`."""
        return f"clang_semantic_{self.mixture.phase}_v10"

    def prefix(self, split: str) -> str:
        """Return the path of a pair below the folder, without suffix."""
        return f"{PAIRS}/{prefix_name(self.name, split)}"


def export_flat(files: MixtureFiles, folder: Path, *, copy: bool = False) -> None:
    """Write the flat layout into `folder`.

    Pairs are hard links where the file system allows them, else copies; `copy` always copies. Every file is read again
    and compared with the manifest. `SpecError` if `folder` holds other data under one of the names, `LineageGap` if a
    file of the mixture differs from its manifest.
    """
    pairs = {files.prefix(split) + suffix: files.source(split, suffix) for split in SPLITS for suffix in (BIN, IDX)}
    hashes = {name: files.megatron.manifest.file(source.name).sha256 for name, source in pairs.items()}
    tokenizer = f"{TOKENIZER}/{TOKENIZER_FILE}"
    hashes[tokenizer] = files.tokenizer.manifest.file(TOKENIZER_FILE).sha256
    _require_same(folder, hashes)
    for name, source in pairs.items():
        place_file(source, folder / name, copy=copy)
    megatron_tokenizer(files.tokenizer, folder / TOKENIZER)
    for name, sha256 in hashes.items():
        if sha256_file(folder / name) != sha256:
            raise LineageGap(str(folder / name), expected=f"sha256 {sha256}", found="other bytes", do="export it again")
    write_atomic(folder / f"{files.name}.json", canonical_json(_origin(files, hashes)))
    _add_sums(folder / SUMS_FILE, hashes)


def _require_same(folder: Path, hashes: Mapping[str, str]) -> None:
    """Raise `SpecError` if a file of `folder` would be replaced by other bytes: a training may be reading it."""
    for name, sha256 in hashes.items():
        path = folder / name
        if path.exists() and sha256_file(path) != sha256:
            do = "remove that file, or name another folder"
            raise SpecError(str(path), expected=f"no file, or sha256 {sha256}", found="another file", do=do)


def place_file(source: Path, path: Path, *, copy: bool) -> None:
    """Make `path` a hard link of `source`, or a copy with `copy` and where links are impossible."""
    if path.exists() and not copy:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if not copy:
        # Another file system, or one without hard links: the bytes are copied instead.
        with suppress(OSError):
            os.link(source, path)
            return
    copy_any(path, source)


def _origin(files: MixtureFiles, hashes: Mapping[str, str]) -> dict[str, object]:
    """Return the facts that an experiment log should name: the hashes of the data and the commit of the tokenizer."""
    return {
        "dataset": files.dataset,
        "mixture": files.mixture.key,
        "manifest_sha256": files.megatron.manifest.sha256,
        "tokenizer_commit": files.tokenizer.manifest.stats.get("commit", ""),
        "sha256": dict(hashes),
    }


def _add_sums(path: Path, hashes: Mapping[str, str]) -> None:
    """Add `hashes` to the file of sums.

    Several mixtures may share a folder, so `sha256sum --check SHA256SUMS` covers all of them.
    """
    lines = path.read_text().splitlines() if path.exists() else []
    known = {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}
    sums = sorted({**known, **hashes}.items())
    write_atomic(path, "".join(f"{sha256}  {name}\n" for name, sha256 in sums).encode())
