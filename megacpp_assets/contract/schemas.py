"""Arrow schemas of the parquet stages, and the keys of a semantic JSONL record (docs/contracts.md)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from megacpp_assets.contract import columns as c

SHARD_DOCUMENTS: Final = 50_000
"""Documents per training parquet shard (docs/contracts.md)."""
ROW_GROUP_ROWS: Final = 1024

_PROVENANCE = [
    pa.field(c.DOC_ID, pa.string()),
    pa.field(c.REPO, pa.string()),
    pa.field(c.REF, pa.string()),
    pa.field(c.COMMIT, pa.string()),
    pa.field(c.FILEPATH, pa.string()),
    pa.field(c.BYTE_START, pa.int64()),
    pa.field(c.BYTE_END, pa.int64()),
    pa.field(c.LICENSE, pa.string()),
    pa.field(c.SPLIT, pa.string()),
]
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

PAINTED_TYPES: Final = {
    c.STRUCTURE_IDS: pa.uint8(),
    c.AST_DEPTH: pa.uint16(),
    c.SIBLING_INDEX: pa.uint16(),
    c.AST_NODE_TYPE: pa.uint8(),
    c.SYMBOL_IDS: pa.uint32(),
    c.CALL_TARGETS: pa.uint32(),
    c.TYPE_REFS: pa.uint32(),
    c.DEF_USE: pa.uint8(),
}
CHANGE_TYPES: Final = {
    c.CHANGE_MASK_PRE: pa.uint8(),
    c.CHANGE_MASK_POST: pa.uint8(),
    c.HUNK_ID: pa.int32(),
    c.EDIT_OP: pa.uint8(),
}
"""Element type of each change column, and of its token-level twin."""
CHAR_TYPES: Final = {**PAINTED_TYPES, c.ROLES: pa.uint8()}
"""Element type of each character-level column; a token-level column has the same type until it is packed."""

_DOCUMENT = [
    *_PROVENANCE,
    pa.field(c.CONSTITUENTS, pa.list_(CONSTITUENT)),
    pa.field("language", pa.string()),
    pa.field(c.PLATFORM_IDS, pa.list_(pa.uint16())),
    pa.field(c.TEXT, pa.string()),
]

_CHARACTER_LEVEL = [
    *(pa.field(name, pa.list_(kind)) for name, kind in CHAR_TYPES.items()),
    pa.field(c.CHUNK_BOUNDARIES, pa.list_(CHUNK_BOUNDARY)),
    pa.field(c.CALL_EDGES, pa.list_(CALL_EDGE)),
    pa.field(c.TYPE_EDGES, pa.list_(TYPE_EDGE)),
]

SEMANTIC: Final = pa.schema([*_DOCUMENT, *_CHARACTER_LEVEL, pa.field("token_estimate", pa.int32())])
"""A semantic JSONL record. A JSON reader that is given this schema guesses no type from the first lines of a file."""
JSONL_KEYS: Final = tuple(SEMANTIC.names)
"""Keys of a semantic JSONL record, all required. A record that is made of a commit has `columns.CHANGES` too."""

TOKENIZED: Final = pa.schema(
    [
        *_DOCUMENT,
        pa.field(c.TOKEN_IDS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.TOKEN_CHAR_STARTS, pa.list_(pa.int32())),
        pa.field(c.TOKEN_CHAR_ENDS, pa.list_(pa.int32())),
        pa.field(c.ACTUAL_TOKEN_COUNT, pa.int32()),
        *_CHARACTER_LEVEL,
        *(pa.field(name, pa.list_(kind)) for name, kind in CHANGE_TYPES.items()),
    ]
)

ENRICHED: Final = pa.schema(
    [
        *_DOCUMENT,
        pa.field(c.TOKEN_IDS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.ACTUAL_TOKEN_COUNT, pa.int32()),
        *(pa.field(c.TOKEN_OF_CHAR[name], pa.list_(kind)) for name, kind in CHAR_TYPES.items()),
        *(pa.field(c.TOKEN_OF_CHANGE[name], pa.list_(kind)) for name, kind in CHANGE_TYPES.items()),
        pa.field(c.TOKEN_DEP_LEVELS_COLUMN, pa.list_(pa.uint16())),
        pa.field(c.TOKEN_CHUNK_STARTS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.TOKEN_CHUNK_ENDS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.TOKEN_CHUNK_KINDS_COLUMN, pa.list_(pa.uint8())),
        pa.field(c.TOKEN_CHUNK_DEP_LEVELS_COLUMN, pa.list_(pa.uint16())),
        pa.field(c.TOKEN_CALL_EDGES_COLUMN, pa.list_(TOKEN_EDGE)),
        pa.field(c.TOKEN_TYPE_EDGES_COLUMN, pa.list_(TOKEN_EDGE)),
    ]
)

PACKED: Final = pa.schema(
    [
        pa.field(c.PACK_ID, pa.int64()),
        pa.field(c.INPUT_IDS, pa.list_(pa.uint32())),
        pa.field(c.TARGET_IDS, pa.list_(pa.uint32())),
        pa.field(c.LOSS_MASK, pa.list_(pa.uint8())),
        pa.field(c.DOC_IDS, pa.list_(pa.uint32())),
        pa.field(c.VALID_TOKEN_COUNT, pa.int32()),
        pa.field(c.NUM_DOCS, pa.int32()),
        pa.field(c.TRAINED_TOKEN_COUNT, pa.int32()),
        pa.field(c.SLACK_TOKENS, pa.int32()),
        pa.field(c.SOURCE_DOC_IDS, pa.list_(pa.string())),
        pa.field(c.SOURCE_REPOS, pa.list_(pa.string())),
        pa.field(c.SOURCE_DOC_TOKEN_LENGTHS, pa.list_(pa.int32())),
        pa.field(c.SOURCE_PLATFORM_IDS, pa.list_(pa.uint16())),
        pa.field(c.TOKEN_STRUCTURE_IDS_COLUMN, pa.list_(pa.uint8())),
        pa.field(c.TOKEN_DEP_LEVELS_COLUMN, pa.list_(pa.uint16())),
        pa.field(c.TOKEN_AST_DEPTH_COLUMN, pa.list_(pa.int32())),
        pa.field(c.TOKEN_SIBLING_INDEX_COLUMN, pa.list_(pa.int32())),
        pa.field(c.TOKEN_AST_NODE_TYPE_COLUMN, pa.list_(pa.int32())),
        pa.field(c.TOKEN_SYMBOL_IDS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.TOKEN_CALL_TARGETS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.TOKEN_TYPE_REFS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.TOKEN_DEF_USE_COLUMN, pa.list_(pa.uint8())),
        pa.field(c.TOKEN_ROLES_COLUMN, pa.list_(pa.uint8())),
        *(pa.field(c.TOKEN_OF_CHANGE[name], pa.list_(kind)) for name, kind in CHANGE_TYPES.items()),
        pa.field(c.TOKEN_CHUNK_STARTS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.TOKEN_CHUNK_ENDS_COLUMN, pa.list_(pa.uint32())),
        pa.field(c.TOKEN_CHUNK_KINDS_COLUMN, pa.list_(pa.uint8())),
        pa.field(c.TOKEN_CHUNK_DEP_LEVELS_COLUMN, pa.list_(pa.uint16())),
        pa.field(c.TOKEN_CALL_EDGES_COLUMN, pa.list_(TOKEN_EDGE)),
        pa.field(c.TOKEN_TYPE_EDGES_COLUMN, pa.list_(TOKEN_EDGE)),
    ]
)
"""Chunk starts and ends are row offsets; edges index the row's chunks. Variable-length chunk columns are padded to
`fixed_max_chunks(T)` by the loader, never here."""

MEGATRON_DOCUMENTS: Final = pa.schema(
    [
        pa.field(c.SEQUENCE, pa.int64()),
        pa.field(c.DOC_ID, pa.string()),
        pa.field(c.REPO, pa.string()),
        pa.field(c.TOKENS, pa.int32()),
    ]
)
"""Which document each Megatron sequence is, in sequence order."""

ENCODINGS: Final = {
    **dict.fromkeys((c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS), "DELTA_BINARY_PACKED"),
    **dict.fromkeys((c.TOKEN_IDS_COLUMN, c.INPUT_IDS, c.TARGET_IDS), "BYTE_STREAM_SPLIT"),
    **dict.fromkeys((c.TOKEN_CHUNK_STARTS_COLUMN, c.TOKEN_CHUNK_ENDS_COLUMN), "BYTE_STREAM_SPLIT"),
    **{
        column: "BYTE_STREAM_SPLIT"
        for name in (c.AST_DEPTH, c.SIBLING_INDEX, c.AST_NODE_TYPE)
        for column in (name, c.TOKEN_OF_CHAR[name])
    },
    c.TOKEN_OF_CHAR[c.DEF_USE]: "BYTE_STREAM_SPLIT",
    **dict.fromkeys((c.SYMBOL_IDS, c.TOKEN_OF_CHAR[c.SYMBOL_IDS]), "PLAIN"),
    **dict.fromkeys((c.TOKEN_OF_CHAR[c.CALL_TARGETS], c.TOKEN_OF_CHAR[c.TYPE_REFS]), "PLAIN"),
}
"""Parquet's encoding of each column for which a dictionary takes longer, and most often more space: numbers that rise
are stored as differences, small ones and token ids byte by byte, hashes as they are, which repeat at a distance."""
