"""Column names and file names of all stages, and the table of columns with one value per token.

No other module spells them (docs/contracts.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from megacpp_assets.contract.document_sets import DocumentSet

# Provenance, on every document of every stage.
DOC_ID: Final = "doc_id"
REPO: Final = "repo"
REF: Final = "ref"
COMMIT: Final = "commit_hash"
FILEPATH: Final = "filepath"
BYTE_START: Final = "byte_start"
BYTE_END: Final = "byte_end"
LICENSE: Final = "license"
SPLIT: Final = "split"
CONSTITUENTS: Final = "constituent_provenance"
PLATFORM_IDS: Final = "platform_ids"

LANGUAGE: Final = "language"

# Character level: semantic JSONL and tokenized parquet.
TEXT: Final = "text"
STRUCTURE_IDS: Final = "structure_ids"
AST_DEPTH: Final = "ast_depth"
SIBLING_INDEX: Final = "sibling_index"
AST_NODE_TYPE: Final = "ast_node_type"
SYMBOL_IDS: Final = "symbol_ids"
CALL_TARGETS: Final = "call_targets"
TYPE_REFS: Final = "type_refs"
DEF_USE: Final = "def_use"
ROLES: Final = "roles"
CHANGE_MASK_PRE: Final = "change_mask_pre"
CHANGE_MASK_POST: Final = "change_mask_post"
HUNK_ID: Final = "hunk_id_per_char"
EDIT_OP: Final = "edit_op_per_char"
CHANGES: Final = "changes"
"""In JSONL, runs of characters with the same four values, in place of CHANGE_COLUMNS."""
CHUNK_BOUNDARIES: Final = "chunk_boundaries"
CALL_EDGES: Final = "call_edges"
TYPE_EDGES: Final = "type_edges"
TOKEN_ESTIMATE: Final = "token_estimate"

# Tokenized parquet.
TOKEN_IDS_COLUMN: Final = "token_ids"
TOKEN_CHAR_STARTS: Final = "token_char_starts"
TOKEN_CHAR_ENDS: Final = "token_char_ends"
ACTUAL_TOKEN_COUNT: Final = "actual_token_count"

# Token level: v6 enriched.
TOKEN_STRUCTURE_IDS_COLUMN: Final = "token_structure_ids"
TOKEN_DEP_LEVELS_COLUMN: Final = "token_dep_levels"
TOKEN_AST_DEPTH_COLUMN: Final = "token_ast_depth"
TOKEN_SIBLING_INDEX_COLUMN: Final = "token_sibling_index"
TOKEN_AST_NODE_TYPE_COLUMN: Final = "token_ast_node_type"
TOKEN_SYMBOL_IDS_COLUMN: Final = "token_symbol_ids"
TOKEN_CALL_TARGETS_COLUMN: Final = "token_call_targets"
TOKEN_TYPE_REFS_COLUMN: Final = "token_type_refs"
TOKEN_DEF_USE_COLUMN: Final = "token_def_use"
TOKEN_ROLES_COLUMN: Final = "token_roles"
TOKEN_CHANGE_MASK_PRE_COLUMN: Final = "token_change_mask_pre"
TOKEN_CHANGE_MASK_POST_COLUMN: Final = "token_change_mask_post"
HUNK_ID_PER_TOKEN_COLUMN: Final = "hunk_id_per_token"
EDIT_OP_PER_TOKEN_COLUMN: Final = "edit_op_per_token"
TOKEN_CHUNK_STARTS_COLUMN: Final = "token_chunk_starts"
TOKEN_CHUNK_ENDS_COLUMN: Final = "token_chunk_ends"
TOKEN_CHUNK_KINDS_COLUMN: Final = "token_chunk_kinds"
TOKEN_CHUNK_DEP_LEVELS_COLUMN: Final = "token_chunk_dep_levels"
TOKEN_CALL_EDGES_COLUMN: Final = "token_call_edges"
TOKEN_TYPE_EDGES_COLUMN: Final = "token_type_edges"


@dataclass(frozen=True, slots=True)
class TokenColumn:
    """A column with one value per token, in enriched parquet and packed rows, and what follows from it elsewhere."""

    name: str
    char_name: str
    """The character-level column that it is made from; empty if it is made from chunks."""
    group: Literal["structure", "symbols", "roles", "changes"]
    type: str
    """Arrow's name of the element type."""
    channel: str
    """Key of its values in batches, and name of its Megatron sidecar."""
    note: str
    """What a value is, in a sentence; for a column made from characters, what is said of a character."""
    fill: int = 0
    """Value of padding: 0 for categories, -1 for columns in which 0 has a meaning (docs/contracts.md)."""
    packed_type: str = ""
    """Element type in packed rows where `type` cannot hold `fill`."""
    encoding: str = ""
    """Parquet's encoding where a dictionary is worse (`schemas.ENCODINGS`)."""
    char_encoding: str = ""
    """`encoding` of the character-level column."""


BYTES: Final = "BYTE_STREAM_SPLIT"
PLAIN: Final = "PLAIN"
TOKEN_COLUMNS: Final = (
    TokenColumn(
        TOKEN_STRUCTURE_IDS_COLUMN, STRUCTURE_IDS, "structure", "uint8", "structure_ids",
        "structure category (0 other, 1 preamble, … 8 namespace).",
    ),
    TokenColumn(
        TOKEN_DEP_LEVELS_COLUMN, "", "structure", "uint16", "dep_levels",
        "Dependency level of each token's chunk, counted from the leaves: a chunk of level 0 uses no other chunk.",
    ),
    TokenColumn(
        TOKEN_AST_DEPTH_COLUMN, AST_DEPTH, "structure", "uint16", "ast_depth_ids",
        "depth of its node in the syntax tree.",
        fill=-1, packed_type="int32", encoding=BYTES, char_encoding=BYTES,
    ),
    TokenColumn(
        TOKEN_SIBLING_INDEX_COLUMN, SIBLING_INDEX, "structure", "uint16", "sibling_index_ids",
        "index of its syntax node among the children of the parent.",
        fill=-1, packed_type="int32", encoding=BYTES, char_encoding=BYTES,
    ),
    TokenColumn(
        TOKEN_AST_NODE_TYPE_COLUMN, AST_NODE_TYPE, "structure", "uint8", "node_type_ids",
        "kind of its syntax node; 255 if unknown.",
        fill=-1, packed_type="int32", encoding=BYTES, char_encoding=BYTES,
    ),
    TokenColumn(
        TOKEN_SYMBOL_IDS_COLUMN, SYMBOL_IDS, "symbols", "uint32", SYMBOL_IDS,
        "symbol that it names; 0 if none.", encoding=PLAIN, char_encoding=PLAIN,
    ),
    TokenColumn(
        TOKEN_CALL_TARGETS_COLUMN, CALL_TARGETS, "symbols", "uint32", CALL_TARGETS,
        "symbol that is called there; 0 if none.", encoding=PLAIN,
    ),
    TokenColumn(
        TOKEN_TYPE_REFS_COLUMN, TYPE_REFS, "symbols", "uint32", TYPE_REFS,
        "type that it refers to; 0 if none.", encoding=PLAIN,
    ),
    TokenColumn(
        TOKEN_DEF_USE_COLUMN, DEF_USE, "symbols", "uint8", DEF_USE,
        "1 in the name of a definition, 2 in a use of a symbol, else 0.", encoding=BYTES,
    ),
    TokenColumn(
        TOKEN_ROLES_COLUMN, ROLES, "roles", "uint8", ROLES,
        "role: 0 root (the document is made for it), 1 context, 2 synthetic (in no file).",
    ),
    TokenColumn(
        TOKEN_CHANGE_MASK_PRE_COLUMN, CHANGE_MASK_PRE, "changes", "uint8", CHANGE_MASK_PRE,
        "1 if the commit changed or removed its line, else 0.",
    ),
    TokenColumn(
        TOKEN_CHANGE_MASK_POST_COLUMN, CHANGE_MASK_POST, "changes", "uint8", CHANGE_MASK_POST,
        "1 if the commit inserted or changed its line, else 0.",
    ),
    TokenColumn(
        HUNK_ID_PER_TOKEN_COLUMN, HUNK_ID, "changes", "int32", HUNK_ID_PER_TOKEN_COLUMN,
        "number of its hunk, from 0; -1 outside of hunks.", fill=-1,
    ),
    TokenColumn(
        EDIT_OP_PER_TOKEN_COLUMN, EDIT_OP, "changes", "uint8", EDIT_OP_PER_TOKEN_COLUMN,
        "what the commit did: 0 unchanged, 1 inserted, 2 modified, 3 context of a change, 4 removed.",
    ),
)  # fmt: skip
"""All columns with one value per token, in the order of packed rows. A new one is a row here."""

PAINTED_COLUMNS: Final = tuple(
    column.char_name for column in TOKEN_COLUMNS if column.char_name and column.group in ("structure", "symbols")
)
"""Columns that depend only on the characters of a file, not on the document that contains them."""
CHAR_COLUMNS: Final = (*PAINTED_COLUMNS, ROLES)
"""One value per character of `text`; `roles` (names.ROOT_ROLE, CONTEXT_ROLE, SYNTHETIC_ROLE) is the document's."""
CHANGE_COLUMNS: Final = tuple(column.char_name for column in TOKEN_COLUMNS if column.group == "changes")
"""What a commit did to each character of `text`: one value per character, empty in semantic documents."""
TOKEN_OF_CHAR: Final = {column.char_name: column.name for column in TOKEN_COLUMNS if column.char_name in CHAR_COLUMNS}
"""Character-level column -> the token-level column made from it."""
TOKEN_OF_CHANGE: Final = {column.char_name: column.name for column in TOKEN_COLUMNS if column.group == "changes"}
"""Change column -> the token-level column made from it. Every document has the token-level columns."""
TOKEN_METADATA_COLUMNS: Final = (*TOKEN_OF_CHAR.values(), *TOKEN_OF_CHANGE.values(), TOKEN_DEP_LEVELS_COLUMN)
"""The per-token columns of enriched parquet, except `token_ids`."""

# Packed rows.
PACK_ID: Final = "pack_id"
INPUT_IDS: Final = "input_ids"
TARGET_IDS: Final = "target_ids"
LOSS_MASK: Final = "loss_mask"
DOC_IDS: Final = "doc_ids"
VALID_TOKEN_COUNT: Final = "valid_token_count"
NUM_DOCS: Final = "num_docs"
SOURCE_DOC_IDS: Final = "source_doc_ids"
SOURCE_DOC_TOKEN_LENGTHS: Final = "source_doc_token_lengths"
SOURCE_PLATFORM_IDS: Final = "source_platform_ids"
SOURCE_REPOS: Final = "source_repos"
TRAINED_TOKEN_COUNT: Final = "trained_token_count"
SLACK_TOKENS: Final = "slack_tokens"

CARRIED: Final = {DOC_ID: SOURCE_DOC_IDS, REPO: SOURCE_REPOS}
"""Column of strings of documents -> the column of packed rows that lists its value for each document of a row."""

PACKED_ROWS_PACKER_REQUIRED_COLUMNS: Final = (
    PACK_ID, INPUT_IDS, TARGET_IDS, LOSS_MASK, DOC_IDS, VALID_TOKEN_COUNT, NUM_DOCS,
)  # fmt: skip
PACKED_ROWS_TOKEN_ALIGNED_COLUMNS: Final = (
    INPUT_IDS, TARGET_IDS, LOSS_MASK, DOC_IDS, *(column.name for column in TOKEN_COLUMNS),
)  # fmt: skip
PACKED_ROWS_CHUNK_METADATA_COLUMNS: Final = (
    TOKEN_CHUNK_STARTS_COLUMN, TOKEN_CHUNK_ENDS_COLUMN, TOKEN_CHUNK_KINDS_COLUMN, TOKEN_CHUNK_DEP_LEVELS_COLUMN,
    TOKEN_CALL_EDGES_COLUMN, TOKEN_TYPE_EDGES_COLUMN,
)  # fmt: skip
PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES: Final = {DOC_IDS: 0, **{column.name: column.fill for column in TOKEN_COLUMNS}}
"""Value of padding by column."""

# Megatron sidecars.
SEQUENCE: Final = "sequence"
TOKENS: Final = "tokens"
STRUCTURE_CHANNELS: Final = {column.channel: column.name for column in TOKEN_COLUMNS if column.group == "structure"}
"""Batch key of the structure embedding -> the packed column it is made from (docs/contracts.md)."""
SYMBOL_CHANNELS: Final = {column.channel: column.name for column in TOKEN_COLUMNS if column.group == "symbols"}
CHANGE_CHANNELS: Final = {column.channel: column.name for column in TOKEN_COLUMNS if column.group == "changes"}
SIDE_CHANNELS: Final = {**STRUCTURE_CHANNELS, **SYMBOL_CHANNELS, **CHANGE_CHANNELS, ROLES: TOKEN_ROLES_COLUMN}
"""Sidecars of a Megatron prefix with one value per token: structure, symbols, what a commit changed, and the roles that
weight the loss.
"""

# File names.
COMPLETE_FILE: Final = "_COMPLETE"
MANIFEST_FILE: Final = "manifest.json"
VAL_SHARD: Final = "val_shard.parquet"
TOKENIZER_FILE: Final = "tokenizer.json"
TOKENIZER_CONFIG_FILE: Final = "tokenizer_config.json"
SPECIAL_TOKENS_FILE: Final = "special_tokens_map.json"
_NAMED_DIGITS: Final = 12


def of_budget(budget: DocumentSet, name: str) -> str:
    """Return the path of the file `name` in the folder of the document set `budget`."""
    return f"{budget}/{name}"


def jsonl_shard(index: int) -> str:
    """Return the name of the semantic JSONL shard `index`."""
    return f"shard_{index:05d}.jsonl.zst"


def parquet_shard(index: int) -> str:
    """Return the name of the training parquet shard `index`."""
    return f"shard_{index:05d}.parquet"


def packed_shard(split: str, index: int, sha256: str) -> str:
    """Return the name of the packed rows file `index` of `split` (one of `names.SPLITS`).

    It contains digits of the hash.
    """
    return f"{split}_{index:05d}_{sha256[:_NAMED_DIGITS]}.parquet"


DUPLICATES_FILE: Final = "duplicates_train.jsonl.zst"
"""A file of packed rows: the clusters of equal or near-duplicate training documents across repositories."""
DEFINITIONS_FILE: Final = "definitions_train.jsonl.zst"
"""The same of the definitions that training documents were made for."""


def overflow_file(split: str) -> str:
    """Return the name of the file with the documents of `split` that are too long for a row."""
    return f"overflow_{split}.jsonl.zst"
