"""Answers two questions from a history: what was built with a tokenizer, and which checkpoints saw a repository."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.lineage.history import KnownManifest, ManifestHistory
from megacpp_assets.storage.root.layout import ARTIFACT_FOLDERS

CHECKPOINT: Final = "trained_checkpoint"
_DIGITS: Final = 12
_COMMIT: Final = re.compile(r"[0-9a-f]{4,40}")
_LIST: Final = "megacpp audit --repo NAME lists the checkpoints"
IN_ROWS: Final = "in its rows"
IN_INPUTS: Final = "in its inputs, in no training row"
IN_TOKENIZER: Final = "in its tokenizer alone"


@dataclass(frozen=True, slots=True)
class TracedArtifact:
    """An artifact of an answer. `lies` is True if it is still at its path, False if it was replaced or removed.

    `how` says whether a repository is in the rows, in none that was trained on, or only in the tokenizer; it is "" for
    other questions.
    """

    stage: str
    path: str
    manifest_sha256: str
    lies: bool
    how: str = ""


@dataclass(frozen=True, slots=True)
class LineageAnswer:
    """The artifacts found, `uses`, and a line for each artifact whose chain lacks a manifest, `untraced`.

    An untraced artifact may or may not belong to the answer.
    """

    question: str
    uses: list[TracedArtifact]
    untraced: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the answer as values that JSON can hold."""
        return asdict(self)


def built_with(history: ManifestHistory, commit: str) -> LineageAnswer:
    """Return every dataset and checkpoint that was built with the tokenizer whose commit begins with `commit`.

    Raises `SpecError` unless exactly one tokenizer of the history matches.
    """
    if not _COMMIT.fullmatch(commit):
        do = "take the commit from megacpp tokenizer show"
        raise SpecError("--tokenizer", expected="4 to 40 hexadecimal digits of a commit", found=repr(commit), do=do)
    tokenizers = list(history.of_stage("tokenizer"))
    commits = {made.commit for made in tokenizers if made.commit.startswith(commit)}
    if len(commits) != 1:
        known = ", ".join(sorted({made.commit[:_DIGITS] for made in tokenizers})) or "none"
        found = f"{len(commits)} that begin with {commit}"
        do = "give more digits" if commits else "take one of these"
        raise SpecError("--tokenizer", expected=f"the commit of one of {known}", found=found, do=do)
    (whole,) = commits
    found_in = history.made_from(made.sha256 for made in tokenizers if made.commit == whole)
    return _answer(history, f"tokenizer {whole}", found_in)


def that_saw(history: ManifestHistory, repository: str) -> LineageAnswer:
    """Return every checkpoint whose rows or tokenizer were made from `repository`.

    `repository` is `NAME@REF`, or `NAME` for every reference of it. Raises `SpecError` if the history lacks it.
    """
    raw = list(history.of_stage("pinned_repos"))
    sources = [made.sha256 for made in raw if repository in (made.partition, made.partition.partition("@")[0])]
    if not sources:
        known = sorted({made.partition for made in raw})
        raise SpecError.unknown("--repo", repository, known, "name it as NAME or NAME@REF")
    rows = history.made_from(sources, without="tokenizer")
    found = history.made_from(sources)
    keys = {history.find(sha256).partition for sha256 in sources}
    hows = {
        sha256: _how_in_rows(history, sha256, keys) if sha256 in rows else IN_TOKENIZER
        for sha256 in found
        if history.find(sha256).stage == CHECKPOINT
    }
    return _answer(history, f"repository {repository}", found, stage=CHECKPOINT, hows=hows)


def _how_in_rows(history: ManifestHistory, checkpoint: str, repositories: Iterable[str]) -> str:
    """Return `IN_INPUTS` if no phase of the checkpoint trains on a document of `repositories`, as of one that is held
    out for validation; else `IN_ROWS`, also if a manifest is missing that would tell."""
    keys = set(repositories)
    with suppress(LineageGap):
        rows = [made for made in history.chain(history.find(checkpoint)).values() if made.stage == "packed_rows"]
        counts = [history.read(made).stats.get("documents_per_repo") for made in rows]
        if all(each is not None and not any(each.get(key, 0) for key in keys) for each in counts):
            return IN_INPUTS
    return IN_ROWS


def known_checkpoint(history: ManifestHistory, name: str) -> KnownManifest:
    """Return the checkpoint at the path `name`, or the one whose manifest's hash begins with `name`.

    Raises `SpecError` unless exactly one checkpoint matches.
    """
    digits = history.on_disk.get(name, name)
    found = [made for made in history.of_stage(CHECKPOINT) if made.sha256.startswith(digits)]
    if len(found) != 1:
        expected = "the path of a checkpoint, or the first digits of its manifest's hash"
        raise SpecError(f"checkpoint {name}", expected=expected, found=f"{len(found)} that match", do=_LIST)
    return found[0]


def _answer(
    history: ManifestHistory,
    question: str,
    found: Iterable[str],
    *,
    stage: str = "",
    hows: dict[str, str] | None = None,
) -> LineageAnswer:
    made = [history.find(sha256) for sha256 in found]
    uses = [_use(history, each, (hows or {}).get(each.sha256, "")) for each in made if stage in ("", each.stage)]
    uses.sort(key=lambda use: (ARTIFACT_FOLDERS.index(use.path.split("/")[0]), use.path, use.manifest_sha256))
    return LineageAnswer(question, uses, list(_untraced(history, stage)))


def _use(history: ManifestHistory, made: KnownManifest, how: str) -> TracedArtifact:
    return TracedArtifact(made.stage, made.path, made.sha256, history.is_on_disk(made), how)


def _untraced(history: ManifestHistory, stage: str) -> list[str]:
    """Return a line for each artifact that was made, directly or not, from a manifest that the history lacks."""
    missing = history.missing()
    affected = [history.find(sha256) for sha256 in history.made_from(missing)]
    lacks = ", ".join(f"{path} ({sha256[:_DIGITS]})" for sha256, path in sorted(missing.items()))
    return sorted(
        f"{made.path}: its chain lacks the manifest of {lacks}" for made in affected if stage in ("", made.stage)
    )
