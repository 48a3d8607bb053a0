"""The table of stage `curated_files`: one row for each C or C++ file of a pinned commit, with what decides about it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

DECISIONS_FILE: Final = "decisions.parquet"
FINDS_FILE: Final = "finds.parquet"
ANSWERS_FILE: Final = "answers.parquet"
SIGNATURES_FILE: Final = "signatures.parquet"
KEEP: Final = "keep"
DROP: Final = "drop"

SPDX_TAG: Final = "spdx-tag"
HEAD: Final = "head"
DIRECTORY: Final = "directory"
REPOSITORY: Final = "repository"
NO_SOURCE: Final = "none"
UNCLASSIFIED: Final = "unclassified"
"""In place of a detector: the file has a licence head, and no detector gave it an expression."""

FIGURES: Final = ("lines", "longest_line", "mean_line", "letters", "digits", "white_space", "distinct_lines")
"""Figures of a text: counts, bytes, and shares of its bytes (or lines) in parts of a thousand."""
DECISIONS: Final = pa.schema(
    [
        ("filepath", pa.string()),
        ("blob", pa.string()),
        ("bytes", pa.int64()),
        ("license", pa.string()),
        ("license_source", pa.string()),
        ("license_evidence", pa.string()),
        ("license_detector", pa.string()),
        *((name, pa.int64()) for name in FIGURES),
        ("rules", pa.list_(pa.string())),
        ("quality_score", pa.float64()),
        ("cluster", pa.string()),
        ("shared_cluster", pa.string()),
        ("benchmarks", pa.list_(pa.string())),
        ("decision", pa.string()),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)
"""In path order. `license_evidence` is the hash of the head, or the path of the licence file; `rules` are the quality
rules that the text breaks; `quality_score` is what the recipe's scorer gave the text, null without one; `cluster` names
the copies of one text, "" for a file without any; `shared_cluster` those across repositories, by the recipe's list;
`benchmarks` has the items (SET:ID) in the text; `reason` is a word of contract/sources/file_policy.py, and `detail`
what it rests on."""
FINDS: Final = pa.schema(
    [
        ("filepath", pa.string()),
        ("blob", pa.string()),
        ("rule", pa.string()),
        ("line", pa.int64()),
        ("byte_start", pa.int64()),
        ("byte_end", pa.int64()),
        ("sha256", pa.string()),
        ("replaced", pa.bool_()),
    ]
)
"""Secrets and personal data, by path and position: where each one is and its hash, never its text. Those that are
`replaced` are in no document."""
ANSWERS: Final = pa.schema(
    [
        ("filepath", pa.string()),
        ("blob", pa.string()),
        ("item", pa.string()),
        ("line", pa.int64()),
        ("byte_start", pa.int64()),
        ("byte_end", pa.int64()),
        ("masked", pa.bool_()),
    ]
)
"""Places of benchmark items (SET:ID), by path and position; of one item a file may have several. A definition with a
place that is `masked` is in no document."""
SIGNATURES: Final = pa.schema([("blob", pa.string()), ("signature", pa.binary())])
"""The MinHash signature of each content that may have near-duplicates, by content: 128 little-endian 32-bit numbers.
With them the copies across repositories are found, and a repository that is added costs its own signatures alone."""
