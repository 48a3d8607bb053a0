"""What each column of the data files holds, in a sentence; what the UI and the reports say of it."""

from __future__ import annotations

from typing import Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.platforms import MAX_PLATFORM_IDS

_PROVENANCE: Final = {
    c.DOC_ID: "Identity of the document, from its content and place; parts of a split one end in their number.",
    c.REPO: "Name of the repository in the catalogue.",
    c.REF: "Tag of the repository, or tip- and the first digits of a commit.",
    c.COMMIT: "Pinned commit, in hexadecimal.",
    c.FILEPATH: "Path of the file within its repository; of a document, the file of its first root.",
    c.BYTE_START: "First byte of the range within the file.",
    c.BYTE_END: "End of the range within the file, exclusive.",
    c.LICENSE: "SPDX expression of the licence.",
    c.SPLIT: "train, or valid if the document's file is held out.",
    c.CONSTITUENTS: "Where each stretch of the text came from: file, bytes, characters of the text, role, encoding.",
    "language": "c or c++.",
    c.PLATFORM_IDS: "Platforms that the document is for or conditional on, and its C++ standard: numbers of the table.",
    c.TEXT: "Text of the document.",
}
_CHARACTERS: Final = {
    c.STRUCTURE_IDS: "Structure category of each character (0 other, 1 preamble, … 8 namespace).",
    c.AST_DEPTH: "Depth in the syntax tree of the node that each character belongs to.",
    c.SIBLING_INDEX: "Place of that node among its siblings.",
    c.AST_NODE_TYPE: "Kind of that node; 255 where it is unknown.",
    c.SYMBOL_IDS: "Symbol that each character names, 0 for none.",
    c.CALL_TARGETS: "Symbol that a written call at the character calls, 0 for none.",
    c.TYPE_REFS: "Type that the character refers to, 0 for none.",
    c.DEF_USE: "0 neither, 1 defines its symbol, 2 uses it.",
    c.ROLES: "0 root: the document was made for it; 1 context; 2 synthetic: in no file.",
    c.CHANGE_MASK_PRE: "1 where the commit changed or removed the character's line, else 0.",
    c.CHANGE_MASK_POST: "1 where the commit inserted or changed the character's line, else 0.",
    c.HUNK_ID: "Number of the hunk that contains the character, from 0; -1 outside of hunks.",
    c.EDIT_OP: "0 unchanged, 1 inserted, 2 modified, 3 context of a change, 4 removed.",
    c.CHUNK_BOUNDARIES: "Chunks of the text: characters, kind, name, dependency level.",
    c.CALL_EDGES: "Pairs of chunks of which the first calls the second.",
    c.TYPE_EDGES: "Pairs of chunks of a type and a chunk that uses it.",
    "token_estimate": "Estimated number of tokens, BOS included.",
}
_TOKENS: Final = {
    c.TOKEN_IDS_COLUMN: "Token ids, beginning with BOS.",
    c.TOKEN_CHAR_STARTS: "First character of each token.",
    c.TOKEN_CHAR_ENDS: "End of each token in characters, exclusive.",
    c.ACTUAL_TOKEN_COUNT: "Number of tokens, BOS included.",
    **{
        name: f"The same of each token's first character: {_CHARACTERS[char]}"
        for char, name in (c.TOKEN_OF_CHAR | c.TOKEN_OF_CHANGE).items()
    },
    c.TOKEN_DEP_LEVELS_COLUMN: "Dependency level of each token's chunk, counted from the leaves: 0 uses no chunk.",
    c.TOKEN_CHUNK_STARTS_COLUMN: "First token of each chunk.",
    c.TOKEN_CHUNK_ENDS_COLUMN: "End of each chunk in tokens, exclusive.",
    c.TOKEN_CHUNK_KINDS_COLUMN: "Structure category of each chunk.",
    c.TOKEN_CHUNK_DEP_LEVELS_COLUMN: "Dependency level of each chunk, counted from the leaves.",
    c.TOKEN_CALL_EDGES_COLUMN: "Pairs of chunks of which the first calls the second.",
    c.TOKEN_TYPE_EDGES_COLUMN: "Pairs of chunks of which the first uses a type of the second.",
}
_ROWS: Final = {
    c.PACK_ID: "Number of the row in its split, from 0.",
    c.INPUT_IDS: "Token ids of the row: whole documents, then padding.",
    c.TARGET_IDS: "The token that follows each token of the row.",
    c.LOSS_MASK: "1 where a token and the next are of one document, else 0.",
    c.DOC_IDS: "Number of the document within the row that each token belongs to.",
    c.VALID_TOKEN_COUNT: "Tokens of the row without padding.",
    c.NUM_DOCS: "Documents in the row.",
    c.TRAINED_TOKEN_COUNT: "Sum of the loss mask.",
    c.SLACK_TOKENS: "Padding tokens of the row.",
    c.SOURCE_DOC_IDS: "Identity of each document of the row.",
    c.SOURCE_REPOS: "Repository of each document of the row.",
    c.SOURCE_DOC_TOKEN_LENGTHS: "Tokens of each document of the row.",
    c.SOURCE_PLATFORM_IDS: f"Platforms of the row's documents, {MAX_PLATFORM_IDS} numbers for each, padded with 0.",
    c.SEQUENCE: "Number of the sequence in the Megatron pair, from 0.",
    c.TOKENS: "Tokens of the sequence.",
}
_INDEX: Final = {
    "status": "How the parse of the file ended: clean, errors, failed or skipped.",
    "mode": "Source of its compile arguments: its entry of a database, the nearest entry, or inferred.",
    "reason": "Why the file has no documents; empty where it has some.",
    "flags": "What the file policy noted: bom, crlf, bidi and the like; empty for plain files.",
    "standard": "Language standard that it was parsed with.",
    "errors": "Errors that libclang reported.",
    "bytes": "Size in bytes.",
    "characters": "Size in characters.",
    "documents": "Documents that hold a piece of the file.",
    "calls": "Calls that are written in it.",
    "resolved_calls": "Calls whose callee is known.",
    "candidate_calls": "Calls for which only candidates are known.",
    "unlabelled_characters": "Characters without a structure category.",
    "encoding": "Codec of Python's that gives the file's bytes from its text; empty for a file that was left out.",
    "encoding_certainty": "How sure the encoding is: 1 for UTF-8 and byte order marks, 0 where another fits as well.",
    "name": "Name of the declaration, qualified.",
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
    "quality_score": "What the recipe's scorer gave the text; null without one.",
    "shared_cluster": "Name of the cluster of equal files across repositories; empty for a file without any.",
    "cluster": "Name of the cluster of equal and nearly equal files; empty for a file without copies.",
    "benchmarks": "Benchmark items, SET:ID, whose text the file holds.",
    "decision": "keep or drop.",
    "detail": "What the reason rests on.",
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

DESCRIPTIONS: Final = {**_CURATION, **_INDEX, **_PROVENANCE, **_CHARACTERS, **_TOKENS, **_ROWS}
"""Column name -> what it holds, for every column of `contract/schemas.py` and of the semantic index."""
