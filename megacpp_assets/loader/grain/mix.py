"""A mixture as an OLMo data mix: bare token files, a list of them for each split, and the index that loaders read.

FOLDER/tokens/NAME_{train,valid}.npy    tokens without a header, as OLMo's files are
FOLDER/{train,valid}.txt                lines LABEL,PATH; PATH is relative to FOLDER
FOLDER/{train,valid}_index.json         what `load_index` reads here and in MaxText
FOLDER/tokenizer/                       for `transformers.AutoTokenizer`
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from megacpp_assets.contract.canonical import sha256_file
from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.megatron_files import BIN, IDX
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.loader.grain.files import raw_header_reader
from megacpp_assets.loader.grain.index import OlmoNpyIndex, build_index
from megacpp_assets.megatron.flat import MixtureFiles, place_file
from megacpp_assets.megatron.pair.reader import read_header
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.tokenizer.artifact import transformers_files

_NAMES: Final = {2: "uint16", 4: "uint32"}
"""OLMo's types of raw token files by width. Megatron has no uint32 and calls the same four bytes int32."""


def export_olmo(files: MixtureFiles, folder: Path, *, copy: bool = False) -> dict[str, OlmoNpyIndex]:
    """Write the mix into the new `folder`; returns the index of each split. Windows have the length of packed rows.

    Token files are hard links where the file system allows them, else copies; `copy` always copies. The paths of an
    index are absolute: a moved folder needs `path_remap`. `SpecError` if `folder` exists, `LineageGap` if a file of the
    mixture differs from its manifest.
    """
    if folder.exists():
        raise SpecError(f"folder {folder}", expected="a new folder", found="an existing path", do="name another")
    row_tokens = files.row_tokens
    commit = str(files.tokenizer.manifest.stats.get("commit", ""))
    indexes = {}
    for split in SPLITS:
        source = files.source(split, BIN)
        tokens = folder / "tokens" / f"{source.stem}.npy"
        place_file(source, tokens, copy=copy)
        expected = files.megatron.manifest.file(source.name).sha256
        if sha256_file(tokens) != expected:
            raise LineageGap(str(tokens), expected=f"sha256 {expected}", found="other bytes", do="export it again")
        label = files.mixture.key.replace("/", "_")
        write_atomic(folder / f"{split}.txt", f"{label},{tokens.relative_to(folder).as_posix()}\n".encode())
        reader = raw_header_reader(_NAMES[read_header(files.source(split, IDX)).dtype.itemsize])
        index = build_index([(str(tokens.resolve()), label)], row_tokens, tokenizer=commit, header_reader=reader)
        index.save(folder / f"{split}_index.json")
        indexes[split] = index
    write_atomic(folder / "tokenizer" / TOKENIZER_FILE, files.tokenizer.file(TOKENIZER_FILE).read_bytes())
    for name, data in transformers_files(longest=row_tokens).items():
        write_atomic(folder / "tokenizer" / name, data)
    return indexes
