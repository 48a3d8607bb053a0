"""What each column holds, in a sentence, as the UI and the reports show it."""

from __future__ import annotations

from typing import Final

from megacpp_assets.contract.schemas import NOTES

_INDEX: Final = {
    "status": "How the parse of the file ended: clean, errors, failed or skipped.",
    "mode": "Source of the file's compile arguments: its own database entry, the nearest entry, or inferred.",
    "reason": "Why the file has no documents; empty if it has documents.",
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

DESCRIPTIONS: Final = {**_CURATION, **_INDEX, **NOTES}
"""Column name -> what it holds, for every column of `contract/schemas.py`, of the semantic index and of curation."""
