"""The columns of the data files, with types and meanings, and the Arrow schemas made of them (docs/contracts.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS

SHARD_DOCUMENTS: Final = 50_000
"""Documents per training parquet shard (docs/contracts.md)."""
ROW_GROUP_ROWS: Final = 1024


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a data file. `note` says in a sentence what it holds; the UI, the reports and docs show it."""

    name: str
    type: pa.DataType
    note: str
    encoding: str = ""
    """Parquet's encoding where a dictionary is worse (`ENCODINGS`)."""


CONSTITUENT: Final = pa.struct(
    [
        ("filepath", pa.string()),
        ("byte_start", pa.int64()),
        ("byte_end", pa.int64()),
        ("char_start", pa.int32()),
        ("char_end", pa.int32()),
        ("role", pa.uint8()),
        ("blob", pa.string()),
        ("encoding", pa.string()),
    ]
)
"""Where a stretch of a document's text, [char_start, char_end), came from, and its role (names.ROOT_ROLE, …). `blob` is
the object id of the file's version; "" is the version of the document's own commit. The bytes [byte_start, byte_end) of
the file are the characters in `encoding`, a codec of Python's."""
CHUNK_BOUNDARY: Final = pa.struct(
    [
        ("char_offset", pa.int32()),
        ("char_end", pa.int32()),
        ("kind", pa.string()),
        ("name", pa.string()),
        ("dep_level", pa.int32()),
        ("is_leaf", pa.bool_()),
    ]
)
CALL_EDGE: Final = pa.struct([("caller_idx", pa.int32()), ("callee_idx", pa.int32()), ("confidence", pa.string())])
TYPE_EDGE: Final = pa.struct([("type_idx", pa.int32()), ("user_idx", pa.int32()), ("confidence", pa.string())])
TOKEN_EDGE: Final = pa.struct([("from", pa.uint16()), ("to", pa.uint16())])


def _element(column: c.TokenColumn) -> pa.DataType:
    return pa.type_for_alias(column.type)


_OF_CHAR: Final = {column.char_name: column for column in c.TOKEN_COLUMNS if column.char_name}
PAINTED_TYPES: Final = {name: _element(_OF_CHAR[name]) for name in c.PAINTED_COLUMNS}
CHANGE_TYPES: Final = {name: _element(_OF_CHAR[name]) for name in c.CHANGE_COLUMNS}
"""Element type of each change column, and of its token-level twin."""
CHAR_TYPES: Final = {name: _element(_OF_CHAR[name]) for name in c.CHAR_COLUMNS}
"""Element type of each character-level column; a token-level column has the same type until it is packed."""


def _per_char(names: Iterable[str]) -> tuple[Column, ...]:
    """Return character-level columns."""
    found = [_OF_CHAR[name] for name in names]
    return tuple(
        Column(column.char_name, pa.list_(_element(column)), _char_note(column), column.char_encoding)
        for column in found
    )


def _char_note(column: c.TokenColumn) -> str:
    where = "Only in documents of commits; empty in others. " if column.group == "changes" else ""
    return f"{where}For each character: {column.note}"


def _per_token(names: Iterable[str]) -> tuple[Column, ...]:
    """Return the token-level columns made from character-level ones, as enriched parquet has them."""
    found = [_OF_CHAR[name] for name in names]
    return tuple(
        Column(column.name, pa.list_(_element(column)), _token_note(column), column.encoding) for column in found
    )


def _token_note(column: c.TokenColumn) -> str:
    return f"For the first character of each token: {column.note}" if column.char_name else column.note


def _carried(column: Column) -> Column:
    """Return a column of documents as packed rows have it."""
    return Column(c.CARRIED[column.name], pa.list_(column.type), f"For each document of the row: {column.note}")


def _packed(column: c.TokenColumn) -> Column:
    """Return the column as packed rows have it."""
    kind = pa.type_for_alias(column.packed_type or column.type)
    return Column(column.name, pa.list_(kind), _token_note(column), column.encoding)


DOCUMENT_COLUMNS: Final = 0
"""Raise this by one when `_DOCUMENT` changes: it raises the VERSION of each stage that stores documents."""
_DOCUMENT: Final = (
    Column(
        c.DOC_ID,
        pa.string(),
        "Identity of the document, computed from its content and place. The ids of the parts of a split document end "
        "with the part's number.",
    ),
    Column(c.REPO, pa.string(), "Name of the repository in the catalogue."),
    Column(
        c.REF, pa.string(), "Reference of the repository: a tag, a commit, or tip- and the first digits of a commit."
    ),
    Column(c.COMMIT, pa.string(), "Pinned commit, in hexadecimal."),
    Column(
        c.FILEPATH, pa.string(), "Path of the file within its repository. For a document: the file of its first root."
    ),
    Column(c.BYTE_START, pa.int64(), "First byte of the first root in `filepath`."),
    Column(c.BYTE_END, pa.int64(), "First byte after the first root in `filepath`."),
    Column(c.LICENSE, pa.string(), "SPDX expression of the licence."),
    Column(c.SPLIT, pa.string(), "valid if the document's file is held out, else train."),
    Column(
        c.CONSTITUENTS,
        pa.list_(CONSTITUENT),
        "Source of each piece of the text: file, bytes, characters of the text, role, encoding.",
    ),
    Column(c.LANGUAGE, pa.string(), "c or c++."),
    Column(
        c.PLATFORM_IDS,
        pa.list_(pa.uint16()),
        "Ids of the platforms that the code targets or asks for in #if. The C++ standard has an id too. The list of "
        "ids is contract/platforms.toml.",
    ),
    Column(c.TEXT, pa.string(), "Text of the document."),
)
_CHUNKS: Final = (
    Column(
        c.CHUNK_BOUNDARIES, pa.list_(CHUNK_BOUNDARY), "Chunks of the text: characters, kind, name, dependency level."
    ),
    Column(c.CALL_EDGES, pa.list_(CALL_EDGE), "Pairs of chunks: the first calls the second."),
    Column(c.TYPE_EDGES, pa.list_(TYPE_EDGE), "Pairs of chunks: a type, and a chunk that uses the type."),
)
_CHARACTER_LEVEL: Final = (*_per_char(c.CHAR_COLUMNS), *_CHUNKS)
_ESTIMATE: Final = Column(c.TOKEN_ESTIMATE, pa.int32(), "Estimated number of tokens, BOS included.")
_TOKEN_IDS: Final = Column(c.TOKEN_IDS_COLUMN, pa.list_(pa.uint32()), "Token ids, beginning with BOS.", c.BYTES)
_TOKEN_SPANS: Final = (
    Column(c.TOKEN_CHAR_STARTS, pa.list_(pa.int32()), "First character of each token.", "DELTA_BINARY_PACKED"),
    Column(c.TOKEN_CHAR_ENDS, pa.list_(pa.int32()), "First character after each token.", "DELTA_BINARY_PACKED"),
)
_TOKEN_COUNT: Final = Column(c.ACTUAL_TOKEN_COUNT, pa.int32(), "Number of tokens, BOS included.")
_DEP_LEVELS: Final = next(_packed(column) for column in c.TOKEN_COLUMNS if column.name == c.TOKEN_DEP_LEVELS_COLUMN)
_TOKEN_CHUNKS: Final = (
    Column(c.TOKEN_CHUNK_STARTS_COLUMN, pa.list_(pa.uint32()), "First token of each chunk.", c.BYTES),
    Column(c.TOKEN_CHUNK_ENDS_COLUMN, pa.list_(pa.uint32()), "First token after each chunk.", c.BYTES),
    Column(c.TOKEN_CHUNK_KINDS_COLUMN, pa.list_(pa.uint8()), "Structure category of each chunk."),
    Column(
        c.TOKEN_CHUNK_DEP_LEVELS_COLUMN,
        pa.list_(pa.uint16()),
        "Dependency level of each chunk, counted from the leaves.",
    ),
    Column(c.TOKEN_CALL_EDGES_COLUMN, pa.list_(TOKEN_EDGE), "Pairs of chunks: the first calls the second."),
    Column(c.TOKEN_TYPE_EDGES_COLUMN, pa.list_(TOKEN_EDGE), "Pairs of chunks: the first uses a type of the second."),
)
_ROWS: Final = (
    Column(c.PACK_ID, pa.int64(), "Number of the row in its split, from 0."),
    Column(c.INPUT_IDS, pa.list_(pa.uint32()), "Token ids of the row: whole documents, then padding.", c.BYTES),
    Column(c.TARGET_IDS, pa.list_(pa.uint32()), "The token that follows each token of the row.", c.BYTES),
    Column(c.LOSS_MASK, pa.list_(pa.uint8()), "1 where a token and the next token are of one document, else 0."),
    Column(c.DOC_IDS, pa.list_(pa.uint32()), "For each token, the number of its document within the row."),
    Column(c.VALID_TOKEN_COUNT, pa.int32(), "Tokens of the row without padding."),
    Column(c.NUM_DOCS, pa.int32(), "Documents in the row."),
    Column(c.TRAINED_TOKEN_COUNT, pa.int32(), "Sum of the loss mask."),
    Column(c.SLACK_TOKENS, pa.int32(), "Padding tokens of the row."),
    *(_carried(column) for column in _DOCUMENT if column.name in c.CARRIED),
    Column(c.SOURCE_DOC_TOKEN_LENGTHS, pa.list_(pa.int32()), "Tokens of each document of the row."),
    Column(
        c.SOURCE_PLATFORM_IDS,
        pa.list_(pa.uint16()),
        f"Platforms of the row's documents: {MAX_PLATFORM_IDS} ids for each document, padded with 0.",
    ),
)
_SEQUENCES: Final = (
    Column(c.SEQUENCE, pa.int64(), "Number of the sequence in the Megatron pair, from 0."),
    Column(c.TOKENS, pa.int32(), "Tokens of the sequence."),
)


def _schema(*columns: Column) -> pa.Schema:
    return pa.schema([pa.field(column.name, column.type) for column in columns])


SEMANTIC: Final = _schema(*_DOCUMENT, *_CHARACTER_LEVEL, _ESTIMATE)
"""A semantic JSONL record. A JSON reader that is given this schema guesses no type from the first lines of a file."""
JSONL_KEYS: Final = tuple(SEMANTIC.names)
"""Keys of a semantic JSONL record, all required. A record that is made of a commit has `columns.CHANGES` too."""
HEAD_KEYS: Final = tuple(column.name for column in _DOCUMENT)
"""The first of these keys, which stand before the character columns."""
TOKENIZED: Final = _schema(
    *_DOCUMENT, _TOKEN_IDS, *_TOKEN_SPANS, _TOKEN_COUNT, *_CHARACTER_LEVEL, *_per_char(c.CHANGE_COLUMNS)
)
ENRICHED: Final = _schema(
    *_DOCUMENT,
    _TOKEN_IDS,
    _TOKEN_COUNT,
    *_per_token(c.CHAR_COLUMNS),
    *_per_token(c.CHANGE_COLUMNS),
    _DEP_LEVELS,
    *_TOKEN_CHUNKS,
)
PACKED: Final = _schema(*_ROWS, *map(_packed, c.TOKEN_COLUMNS), *_TOKEN_CHUNKS)
"""Chunk starts and ends are row offsets; edges index the row's chunks. Variable-length chunk columns are padded to
`fixed_max_chunks(T)` by the loader, never here."""
MEGATRON_DOCUMENTS: Final = _schema(_SEQUENCES[0], _DOCUMENT[0], _DOCUMENT[1], _SEQUENCES[1])
"""Which document each Megatron sequence is, in sequence order."""

_COLUMNS: Final = (
    *_DOCUMENT, *_CHARACTER_LEVEL, *_per_char(c.CHANGE_COLUMNS), _ESTIMATE, _TOKEN_IDS, *_TOKEN_SPANS, _TOKEN_COUNT,
    *_per_token(c.CHAR_COLUMNS), *_per_token(c.CHANGE_COLUMNS), _DEP_LEVELS, *_TOKEN_CHUNKS, *_ROWS, *_SEQUENCES,
)  # fmt: skip
_INDEX: Final = {
    "status": "How the parse of the file ended: clean, errors, failed or skipped.",
    "mode": "Source of the file's compile arguments: its own database entry, the nearest entry, or inferred.",
    "reason": "Why the file has no documents, or the first error of its parse; empty if there is neither.",
    "flags": "Words of the file policy, such as bom, crlf or bidi; empty for plain files.",
    "standard": "Language standard with which the file was parsed.",
    "errors": "Errors that libclang reported.",
    "bytes": "Size in bytes.",
    "characters": "Size in characters.",
    "documents": "Documents that contain a piece of the file.",
    "calls": "Calls written in the file.",
    "resolved_calls": "Calls whose callee is known.",
    "candidate_calls": "Calls for which only possible callees are known.",
    "unlabelled_characters": "Characters without a structure category.",
    "encoding": "Python's name of the file's encoding; empty for a file that was left out.",
    "encoding_certainty": "Certainty of the encoding: 1 for UTF-8 or a byte order mark, 0 if another one fits as well.",
    "name": "Qualified name of the declaration.",
    "symbol_id": "Hash of the qualified name; overloads share it.",
    "qualified_name": "Name with its namespaces and classes.",
    "kind": "Kind of declaration, as libclang calls it.",
    "definition": "Whether this declaration defines the symbol.",
}
_CURATION: Final = {
    "blob": "Git object id of the file's bytes.",
    "license_source": "Source of the licence: SPDX tag, head, directory, repository or none.",
    "license_evidence": "Hash of the licence head, or path of the licence file.",
    "license_detector": "Detector that classified the head; `unclassified` if none did.",
    "lines": "Lines of the file.",
    "longest_line": "Bytes of the longest line.",
    "mean_line": "Mean bytes of a line.",
    "letters": "Letters, in thousandths of the bytes.",
    "digits": "Digits, in thousandths of the bytes.",
    "white_space": "White space, in thousandths of the bytes.",
    "distinct_lines": "Distinct lines, in thousandths of the lines.",
    "rules": "Quality rules that the text breaks.",
    "quality_score": "Number that the recipe's scorer gave the text; null without a scorer.",
    "shared_cluster": "Name of the cluster of equal files across repositories; empty for a file without such copies.",
    "cluster": "Name of the cluster of equal and nearly equal files; empty for a file without copies.",
    "benchmarks": "Benchmark items, SET:ID, whose text the file holds.",
    "decision": "keep or drop.",
    "detail": "Evidence for the reason.",
    "rule": "Rule that found the secret or the personal datum.",
    "line": "Line of the find, from 1.",
    "byte_start": "First byte of the find in the file.",
    "byte_end": "Byte after the find.",
    "sha256": "Hash of the find; its text is stored nowhere.",
    "replaced": "Whether documents show a replacement of the same length.",
    "item": "Benchmark item, SET:ID.",
    "masked": "Whether the definition at this place is left out of all documents.",
    "signature": "MinHash signature: 128 little-endian numbers of 32 bits.",
}

DESCRIPTIONS: Final = {**_CURATION, **_INDEX, **{column.name: column.note for column in _COLUMNS}}
"""Column name -> what it holds, as the UI and the reports show it: columns of the schemas of this file, of the semantic
index and of curation."""
ENCODINGS: Final = {column.name: column.encoding for column in _COLUMNS if column.encoding}
"""Parquet's encoding of each column for which a dictionary takes longer, and most often more space: numbers that rise
are stored as differences, small ones and token ids byte by byte, hashes plain."""
