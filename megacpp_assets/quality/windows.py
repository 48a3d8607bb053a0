"""Invariants of `commit_windows`: the target is whole, budgets hold, a shorter window is a prefix of a longer one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.names import ROOT_ROLE, VALID_SPLIT
from megacpp_assets.contract.step import CheckResult
from megacpp_assets.quality.reading.upstream import input_of
from megacpp_assets.quality.shared.table import Check, Verdict, run_checks
from megacpp_assets.quality.versions import (
    Record,
    VersionScan,
    changes_cover_text,
    documents_recorded,
    is_of_a_listed_change,
    none_empty,
    one_side,
    rule_verdict,
    scan_of,
    stretches_are_blobs,
    unique_ids,
)
from megacpp_assets.storage.artifact import Artifact

if TYPE_CHECKING:
    from megacpp_assets.contract.tokens.encoding import TextEncoder


@dataclass(slots=True)
class _Windows:
    """What the records are compared with: limits of tokens by set, the encoder, and the shorter windows seen before."""

    limits: dict[str, int]
    encoder: TextEncoder
    shorter: dict[tuple[str, str, int], tuple[int, bytes]] = field(default_factory=dict)
    training: set[str] = field(default_factory=set)
    """Paths of files that are in a window that trains."""
    trained: set[bytes] = field(default_factory=set)
    """Hashes of the functions and classes that are in a window that trains."""
    held: dict[bytes, str] = field(default_factory=dict)
    """Hash of the target of a window that validates -> id of the document."""

    def within_budget(self, scan: VersionScan, name: str, record: Record) -> bool:
        from megacpp_assets.windows.window import tokens_of

        return tokens_of(self.encoder, record[c.TEXT]) <= self.limits[name]

    def is_prefix(self, scan: VersionScan, name: str, record: Record) -> bool:
        """Return whether the window of the same function in a smaller set is a prefix that ends with a chunk."""
        key, text = (record[c.COMMIT], record[c.FILEPATH], record[c.BYTE_START]), record[c.TEXT]
        length, digest = self.shorter.get(key, (len(text), _digest(text)))
        self.shorter[key] = len(text), _digest(text)
        ends = {chunk["char_end"] for chunk in record[c.CHUNK_BOUNDARIES]}
        return length in ends and _digest(text[:length]) == digest

    def note_origins(self, scan: VersionScan, name: str, record: Record) -> bool:
        """Note which files and texts a window has, for the check of the hold-out. Every record passes."""
        target = record[c.FILEPATH], record[c.BYTE_START], record[c.BYTE_END]
        if record[c.SPLIT] == VALID_SPLIT:
            if target[2] - target[1] >= _LEAST_BYTES and (text := _after(scan, record)):
                self.held.setdefault(_digest(text), record[c.DOC_ID])
            return True
        self.training.update(part["filepath"] for part in record[c.CONSTITUENTS])
        texts = (
            record[c.TEXT][part["char_start"] : part["char_end"]]
            for part in record[c.CONSTITUENTS]
            if part["role"] != ROOT_ROLE
        )
        self.trained.update(_digest(text) for text in (*texts, _after(scan, record)))
        return True

    def leaks(self, scan: VersionScan, validates: Callable[[Sequence[str]], bool]) -> list[str]:
        """Held-out files in windows that train, and documents whose target trains in another file."""
        names = {name: change.names for change in scan.changes.values() for name in change.names}
        files = sorted(path for path in self.training if validates((path, *names.get(path, ()))))
        return files + sorted(document for digest, document in self.held.items() if digest in self.trained)


_LEAST_BYTES: Final = 200
"""A shorter function may well be written twice."""


def check(artifact: Artifact) -> list[CheckResult]:
    """Return the results of all checks in the order of `CHECKS`. `LineageGap` if an upstream artifact is missing."""
    from megacpp_assets.tokenizer.device import load_encoder

    encoder = load_encoder(input_of(artifact, "tokenizer").directory)
    windows = _Windows(dict(artifact.manifest.config["limits"]), encoder)
    rules = {
        "listed_change": is_of_a_listed_change,
        "stretches": stretches_are_blobs,
        "lengths": changes_cover_text,
        "whole": _target_is_whole,
        "budget": windows.within_budget,
        "prefix": windows.is_prefix,
        "origins": windows.note_origins,
    }
    scan = scan_of(artifact, rules)
    scan.broken["held_out"] = windows.leaks(scan, _validates(artifact))
    return run_checks(CHECKS, scan)


def _validates(artifact: Artifact) -> Callable[[Sequence[str]], bool]:
    """Return whether a file validates, by its names, as the recipe and the pinned commit say."""
    from megacpp_assets.contract.recipe.documents import HoldoutRecipe
    from megacpp_assets.versions.source import hold_out

    config = artifact.manifest.config
    recipe = HoldoutRecipe(**{**config["holdout"], "repositories": tuple(config["holdout"]["repositories"])})
    return hold_out(config["repo"], recipe, input_of(artifact, "semantic_jsonl"))


def _after(scan: VersionScan, record: Record) -> str:
    """Return the modified function as it is after the commit; "" if the change is not listed."""
    change = scan.changes.get((record[c.COMMIT], record[c.FILEPATH]))
    if change is None:
        return ""
    return scan.files.get(change.blob_post).data[record[c.BYTE_START] : record[c.BYTE_END]].decode("utf-8", "replace")


def _target_is_whole(scan: VersionScan, name: str, record: Record) -> bool:
    """Return whether the lines of the modified function after the commit are all there, in order."""
    change = scan.changes.get((record[c.COMMIT], record[c.FILEPATH]))
    if change is None:
        return False
    parts = [part for part in record[c.CONSTITUENTS] if part["role"] == ROOT_ROLE and part["blob"] == change.blob_post]
    found = b"".join(record[c.TEXT][part["char_start"] : part["char_end"]].encode() for part in parts)
    return found == scan.files.get(change.blob_post).data[record[c.BYTE_START] : record[c.BYTE_END]] != b""


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _held_out(scan: VersionScan) -> Verdict:
    held = scan.broken.get("held_out", [])
    return Verdict(not held, f"{len(held)} held-out files or targets in windows that train, first {held[:1]}")


CHECKS: Final[tuple[Check[VersionScan], ...]] = (
    Check("documents_are_counted", "as many windows of each set as the statistics say", documents_recorded),
    # Only a warning: mixtures take the windows of other repositories.
    Check("has_documents", "at least one window of each set", none_empty, blocking=False, recipe="[history]"),
    Check("document_ids_unique", "no document id twice in a set", unique_ids),
    Check(
        "documents_are_of_listed_changes", "a listed commit and a file that it changed", rule_verdict("listed_change")
    ),
    Check("stretches_are_blobs", "each stretch of a file is the bytes of its blob", rule_verdict("stretches")),
    Check("changes_cover_text", "a change run and a role for every character", rule_verdict("lengths")),
    Check("target_is_whole", "every line of the modified function after the commit", rule_verdict("whole")),
    Check(
        "windows_within_budget", "at most the tokens of its set by the tokenizer, BOS included", rule_verdict("budget")
    ),
    Check("shorter_window_is_prefix", "a prefix of the longer one that ends with a chunk", rule_verdict("prefix")),
    Check("one_side_of_the_hold_out", "all windows of a file's history train, or all validate", one_side),
    Check("no_validation_leak", "no file and no target that validates in a window that trains", _held_out),
)
