"""Traces one token of a mixture to its document, repository, commit, file, line, chunk and role."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.document_sets import HISTORY_STAGES, named_set
from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.contract.names import EDIT_NAMES, ROLE_NAMES, SPLITS, TRAIN_SPLIT
from megacpp_assets.packed.spools.fim import restored_order
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.budgets import shards_of
from megacpp_assets.storage.curated import replaced_spans
from megacpp_assets.storage.git_objects import Spans, blob_reader, source_files
from megacpp_assets.storage.parquet import open_parquet, row_groups

_PLACE: Final = re.compile(rf"(?:({'|'.join(SPLITS)}):)?([0-9]{{1,15}}):([0-9]{{1,15}})")
_DOCUMENT: Final = [
    c.DOC_ID, c.REPO, c.REF, c.COMMIT, c.FILEPATH, c.LICENSE, c.TEXT, c.CONSTITUENTS, c.CHUNK_BOUNDARIES,
    c.TOKEN_IDS_COLUMN, c.TOKEN_CHAR_STARTS, c.TOKEN_CHAR_ENDS, c.EDIT_OP,
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a token in the rows of a mixture. `row` and `column` count from 0."""

    split: str
    row: int
    column: int

    @staticmethod
    def parse(text: str) -> Place:
        """Parse `SPLIT:ROW:COL`, or `ROW:COL` for training rows. Raises `SpecError` for any other text."""
        found = _PLACE.fullmatch(text)
        if found is None:
            expected = f"ROW:COL or SPLIT:ROW:COL, where SPLIT is one of {', '.join(SPLITS)}"
            raise SpecError("--token", expected=expected, found=repr(text), do="write for example valid:0:12")
        return Place(found[1] or TRAIN_SPLIT, int(found[2]), int(found[3]))


@dataclass(frozen=True, slots=True)
class TokenOrigin:
    """Where a token came from.

    `line` counts from 1; `file` is "" and `line` is 0 for a synthetic token, which is in no file. `byte_start` is the
    token's offset in the blob, from 0. `context` is the document's line that contains the token. `change` says what
    `commit` did to that line (names.EDIT_NAMES); it is "" in a document that was not made from a commit.
    """

    rows: str
    split: str
    row: int
    column: int
    token_id: int
    text: str
    role: str
    document: str
    position: int
    repository: str
    commit: str
    license: str
    file: str
    line: int
    byte_start: int
    chunk: str
    context: str
    change: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the origin as values that JSON can hold."""
        return asdict(self)


def origin_of(packed: Artifact, place: Place) -> TokenOrigin:
    """Return the origin of the token at `place` in the rows of `packed`. Each step is compared with the artifact before
    it.

    Raises:
        SpecError: `place` is outside the rows or in their padding.
        LineageGap: an input is missing or was replaced, or its token or text differs.
    """
    row = _row(packed, place)
    ids = row[c.INPUT_IDS]
    if place.column >= row[c.VALID_TOKEN_COUNT]:
        expected = f"a column below {row[c.VALID_TOKEN_COUNT]}, the tokens of row {place.row}"
        raise SpecError(
            f"--token {place.row}:{place.column}",
            expected=expected,
            found="padding or outside the row",
            do="name another column; megacpp view shows a row",
        )
    number = row[c.DOC_IDS][place.column]
    position = _position(place, ids, row[c.SOURCE_DOC_TOKEN_LENGTHS], number)
    doc_id, name = row[c.SOURCE_DOC_IDS][number], row[c.SOURCE_REPOS][number]
    tokenized, document = _document(packed, name, doc_id)
    if document[c.TOKEN_IDS_COLUMN][position] != ids[place.column]:
        found = document[c.TOKEN_IDS_COLUMN][position]
        raise LineageGap(f"{packed.path}, document {doc_id}", expected=f"token {ids[place.column]}", found=found)
    return _origin(packed, tokenized, place, document, position)


def _position(place: Place, ids: Sequence[int], lengths: Sequence[int], number: int) -> int:
    """Return the token's index in its document before any fill-in-the-middle rearrangement.

    Raises `SpecError` for a fill-in-the-middle marker, which is not part of the document.
    """
    start = sum(lengths[:number])
    order = restored_order(np.array(ids[start : start + lengths[number]]))
    if order is None:
        return place.column - start
    found = np.flatnonzero(order == place.column - start)
    if not len(found):
        expected = "a token of a document"
        raise SpecError(
            f"--token {place.row}:{place.column}",
            expected=expected,
            found="a fill-in-the-middle marker",
            do="name another column",
        )
    return int(found[0])


def _origin(
    packed: Artifact, tokenized: Artifact, place: Place, document: dict[str, Any], position: int
) -> TokenOrigin:
    start, end = document[c.TOKEN_CHAR_STARTS][position], document[c.TOKEN_CHAR_ENDS][position]
    text = document[c.TEXT]
    part = next((each for each in document[c.CONSTITUENTS] if each["char_start"] <= start < each["char_end"]), None)
    byte, line = _in_file(tokenized, document, part, start) if part is not None and end > start else (0, 0)
    edits = document[c.EDIT_OP]
    return TokenOrigin(
        rows=packed.path,
        split=place.split,
        row=place.row,
        column=place.column,
        token_id=document[c.TOKEN_IDS_COLUMN][position],
        text=text[start:end],
        role=ROLE_NAMES[part["role"]] if part is not None and end > start else ROLE_NAMES[-1],
        document=document[c.DOC_ID],
        position=position,
        repository=f"{document[c.REPO]}@{document[c.REF]}",
        commit=document[c.COMMIT],
        license=document[c.LICENSE],
        file=part["filepath"] if part is not None and line else "",
        line=line,
        byte_start=byte,
        chunk=_chunk(document, start),
        context=text[text.rfind("\n", 0, start) + 1 :].split("\n", 1)[0],
        change=EDIT_NAMES[edits[start]] if edits and end > start else "",
    )


def _chunk(document: dict[str, Any], start: int) -> str:
    """Kind and name of the smallest chunk that contains the character at `start`; "" if no chunk does."""
    containing = [each for each in document[c.CHUNK_BOUNDARIES] if each["char_offset"] <= start < each["char_end"]]
    if not containing:
        return ""
    chunk = min(containing, key=lambda each: each["char_end"] - each["char_offset"])
    return f"{chunk['kind']} {chunk['name']}".strip()


def _in_file(tokenized: Artifact, document: dict[str, Any], part: dict[str, Any], start: int) -> tuple[int, int]:
    """Return (byte from 0, line from 1) of a character in its source file.

    Raises `LineageGap` if the blob does not have the document's text at that place.
    """
    encoding = part["encoding"]
    before = document[c.TEXT][part["char_start"] : start].encode(encoding, "replace")
    byte = int(part["byte_start"]) + len(before)
    raw, blob, replaced = _objects(tokenized, part)
    with blob_reader(raw, replaced) as blobs:
        data = blobs.read(blob)
    if data[part["byte_start"] : byte] != before:
        where = f"{raw.path}: {part['filepath']}"
        raise LineageGap(where, expected=f"the document's text at byte {part['byte_start']}", found="other bytes")
    return byte, data[:byte].decode(encoding, "replace").count("\n") + 1


def _objects(tokenized: Artifact, part: dict[str, Any]) -> tuple[Artifact, str, Spans]:
    """Return (artifact with the git objects of a constituent's file, id of its blob, spans of masked secrets)."""
    if part["blob"]:
        made = (found for stage in HISTORY_STAGES for found in _inputs(tokenized, stage))
        return _input(next(made, tokenized), "commits"), part["blob"], {}
    semantic = _input(tokenized, "semantic_jsonl")
    raw, curated = _input(semantic, "pinned_repos"), _input(semantic, "curated_files")
    blob = next((file.blob for file in source_files(raw) if file.path == part["filepath"]), "")
    return raw, blob, replaced_spans(curated)


def _row(packed: Artifact, place: Place) -> dict[str, Any]:
    columns = [
        c.INPUT_IDS, c.DOC_IDS, c.VALID_TOKEN_COUNT, c.SOURCE_DOC_IDS, c.SOURCE_REPOS, c.SOURCE_DOC_TOKEN_LENGTHS,
    ]  # fmt: skip
    first = 0
    for file in packed.files(".parquet", f"{place.split}_"):
        with open_parquet(file) as parquet:
            for group in range(parquet.num_row_groups):
                rows = parquet.metadata.row_group(group).num_rows
                if place.row < first + rows:
                    found = parquet.read_row_group(group, columns=columns).slice(place.row - first, 1)
                    return dict(found.to_pylist()[0])
                first += rows
    raise SpecError(
        f"--token {place.row}:{place.column}", expected=f"a row below {first}", found=place.row, do="name another row"
    )


def _document(packed: Artifact, name: str, doc_id: str) -> tuple[Artifact, dict[str, Any]]:
    """Return the tokenized artifact that contains document `doc_id` of repository `name`, and the document.

    Packed rows have the enriched artifact as input, whose input is the tokenized one. Raises `LineageGap` if no input
    has the document.
    """
    for enriched in _inputs(packed, "v6_enriched"):
        if enriched.manifest.partition.partition("@")[0] == name:
            tokenized = _input(enriched, "tokenized_parquet")
            budgets = (packed.manifest.config["document_tokens"], *packed.manifest.config.get("blend", ()))
            for budget in (named_set(str(each)) for each in budgets):
                for document in _with_id(shards_of(tokenized, budget, ".parquet"), doc_id):
                    return tokenized, document
    raise LineageGap(packed.path, expected=f"document {doc_id} of {name} among its inputs", found="none")


def _with_id(files: Sequence[Any], doc_id: str) -> Iterator[dict[str, Any]]:
    for file in files:
        first = 0
        for group, table in enumerate(row_groups(file, [c.DOC_ID])):
            names = table.column(c.DOC_ID).to_pylist()
            if doc_id in names:
                with open_parquet(file) as parquet:
                    whole = parquet.read_row_group(group, columns=_DOCUMENT)
                yield from whole.slice(names.index(doc_id), 1).to_pylist()
            first += table.num_rows


def _input(artifact: Artifact, stage: str) -> Artifact:
    for found in _inputs(artifact, stage):
        return found
    raise LineageGap(artifact.path, expected=f"an input made by {stage}", found="none", do="run it again")


def _inputs(artifact: Artifact, stage: str) -> Iterator[Artifact]:
    """Yield the inputs of `artifact` that `stage` made.

    Raises `LineageGap` if an input was replaced since it was used.
    """
    for reference in artifact.manifest.inputs:
        found = open_artifact(artifact.root, reference.path)
        if found.manifest.sha256 != reference.manifest_sha256:
            do = f"megacpp run brings {artifact.path} up to date"
            expected, is_now = f"manifest {reference.manifest_sha256}", f"manifest {found.manifest.sha256}"
            raise LineageGap(reference.path, expected=expected, found=is_now, do=do)
        if found.manifest.stage == stage:
            yield found
