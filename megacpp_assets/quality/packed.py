"""Invariants of `packed_rows`: the seven columns, rows of exactly T tokens, whole documents taken as the mixture says.

DuckDB queries over the published files (fingerprints where whole documents are compared), written so that one fault
fails one check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.check import CheckResult
from megacpp_assets.contract.names import SPLITS, TRAIN_SPLIT, fixed_max_chunks
from megacpp_assets.contract.schemas import PACKED
from megacpp_assets.contract.specials import BOS_ID, PAD_ID
from megacpp_assets.quality.duck import Connection, connect
from megacpp_assets.quality.fingerprints import fingerprints
from megacpp_assets.storage.artifact import Artifact, open_artifact
from megacpp_assets.storage.parquet import read_schema, row_groups

CHECKS = (
    "columns_and_types",
    "rows_are_exactly_t_tokens",
    "counts_agree",
    "pack_ids_are_row_numbers",
    "bos_count_is_num_docs",
    "doc_ids_are_the_bos_inference",
    "targets_are_the_shifted_inputs",
    "loss_mask_stays_inside_documents",
    "chunk_spans_are_inside_the_valid_prefix",
    "edges_are_between_chunks_of_the_row",
    "pads_carry_fill_values",
    "documents_are_taken_as_the_mixture_says",
    "documents_are_whole_and_unchanged",
    "tokens_are_conserved",
)

_METADATA = {name: c.PACKED_ROWS_DENSE_FALLBACK_FILL_VALUES[name] for name in c.TOKEN_METADATA_COLUMNS}


def check(artifact: Artifact) -> list[CheckResult]:
    """Assert every invariant; results in the order of `CHECKS`. Reads the enriched artifacts that it was made from."""
    wrong = _wrong_columns(artifact)
    expected = "the columns of packed rows, each of its type"
    if wrong:
        unmeasured = [CheckResult(name, False, "measured", "not measured: columns are missing") for name in CHECKS[1:]]
        return [CheckResult(CHECKS[0], False, expected, ", ".join(wrong)), *unmeasured]
    sources = [open_artifact(artifact.root, reference.path) for reference in artifact.manifest.inputs]
    with connect(artifact.directory, *(source.directory for source in sources)) as connection:
        tables = _Tables.open(connection, artifact, sources)
        results = [CheckResult(CHECKS[0], True, expected, f"{len(PACKED)} columns in every file")]
        results += _row_checks(tables)
        results += _token_checks(tables)
        results += _graph_checks(tables)
        results += [_pads(tables), _taken(tables), _whole(artifact, sources), _conserved(tables)]
    return results


def _wrong_columns(artifact: Artifact) -> list[str]:
    """`file: column` for each column that a file lacks or has with another type."""
    wrong = []
    for file in artifact.files(".parquet"):
        schema = read_schema(file)
        for field in PACKED:
            index = schema.get_field_index(field.name)
            if index < 0 or schema.field(index).type != field.type:
                wrong.append(f"{file.name}: {field.name}")
    return wrong


@dataclass(frozen=True, slots=True)
class _Tables:
    """Views: `rows` over all rows; per split its rows, and its source documents with how often each may be taken."""

    connection: Connection
    artifact: Artifact
    row_tokens: int

    @staticmethod
    def open(connection: Connection, artifact: Artifact, sources: list[Artifact]) -> _Tables:
        connection.view("rows", artifact.files(".parquet"))
        for number, source in enumerate(sources):
            for split in SPLITS:
                if files := _source_files(source, split):
                    connection.view(f"source_{split}_{number}", files)
        for split in SPLITS:
            if files := _row_files(artifact, split):
                connection.view(split, files)
        return _Tables(connection, artifact, int(artifact.manifest.config["row_tokens"]))

    def counts(self, *conditions: str) -> tuple[int, ...]:
        """For each condition the rows for which it is true, in one scan."""
        filters = ", ".join(f"count(*) FILTER ({condition})" for condition in conditions)
        return self.connection.rows(f"SELECT {filters} FROM rows")[0]  # noqa: S608 - our own text

    def rows(self, split: str) -> str:
        """The rows of `split` as a table expression."""
        return split if _row_files(self.artifact, split) else "(SELECT * FROM rows WHERE false)"

    def sources(self, split: str, columns: str) -> str:
        """Source documents of `split` as a table expression: `columns`, and the least and most times each is taken."""
        manifest = self.artifact.manifest
        own, weight = manifest.config["own_repo"], float(manifest.config["mixture"]["own_weight"])
        parts = []
        for number, (key, reference) in enumerate(zip(manifest.config["repos"], manifest.inputs, strict=True)):
            if not _source_files(open_artifact(self.artifact.root, reference.path), split):
                continue
            times = weight if split == TRAIN_SPLIT and key.partition("@")[0] == own else 1.0
            bounds = f"{math.floor(times)} AS least, {math.ceil(times)} AS most"
            parts.append(f"SELECT {columns}, {bounds} FROM source_{split}_{number}")  # noqa: S608 - our own text
        empty = f"SELECT {columns}, 0 AS least, 0 AS most FROM source_{TRAIN_SPLIT}_0 WHERE false"  # noqa: S608 - our own text
        return f"({' UNION ALL '.join(parts) or empty})"


def _source_files(source: Artifact, split: str) -> list[Path]:
    return [file for file in source.files(".parquet") if (file.name == c.VAL_SHARD) == (split != TRAIN_SPLIT)]


def _row_files(artifact: Artifact, split: str) -> list[Path]:
    return [file for file in artifact.files(".parquet") if file.name.startswith(f"{split}_")]


def _none(name: str, expected: str, violations: int, unit: str) -> CheckResult:
    return CheckResult(name, violations == 0, expected, f"{violations} {unit} otherwise")


def _row_checks(tables: _Tables) -> Iterator[CheckResult]:
    width = tables.row_tokens
    # list_count leaves out nulls, so it must agree too; a comparison with null must not pass for agreement.
    other_lengths = " OR ".join(
        f"len({name}) IS DISTINCT FROM {width} OR list_count({name}) <> {width}"
        for name in c.PACKED_ROWS_TOKEN_ALIGNED_COLUMNS
    )
    equal = {
        c.SLACK_TOKENS: f"{width} - {c.VALID_TOKEN_COUNT}",
        f"len({c.SOURCE_DOC_IDS})": c.NUM_DOCS,
        f"len({c.SOURCE_REPOS})": c.NUM_DOCS,
        f"len({c.SOURCE_DOC_TOKEN_LENGTHS})": c.NUM_DOCS,
        f"list_sum({c.SOURCE_DOC_TOKEN_LENGTHS})": c.VALID_TOKEN_COUNT,
        f"list_sum({c.LOSS_MASK})": c.TRAINED_TOKEN_COUNT,
    }
    disagree = " OR ".join(f"{left} IS DISTINCT FROM {right}" for left, right in equal.items())
    disagree += f" OR {c.VALID_TOKEN_COUNT} NOT BETWEEN 1 AND {width} OR {c.NUM_DOCS} < 1"
    bos = f"len(list_filter({c.INPUT_IDS}, lambda token: token = {BOS_ID})) <> {c.NUM_DOCS}"
    short, uneven, other_bos = tables.counts(other_lengths, disagree, bos)
    yield _none(CHECKS[1], f"every token column {width} long", short, "rows")
    yield _none(CHECKS[2], "counts that agree with the lists they count", uneven, "rows")
    repeated = 0
    for split in SPLITS:
        numbers = f"count(*) - count(DISTINCT {c.PACK_ID}) FILTER ({c.PACK_ID} BETWEEN 0 AND total - 1)"
        rows = f"(SELECT *, count(*) OVER () AS total FROM (SELECT {c.PACK_ID} FROM {tables.rows(split)}))"  # noqa: S608 - our own text
        repeated += int(tables.connection.scalar(f"SELECT {numbers} FROM {rows}"))  # noqa: S608 - our own text
    yield _none(CHECKS[3], "0, 1, 2, … in each split", repeated, "rows")
    yield _none(CHECKS[4], "one BOS per document", other_bos, "rows")


def _token_checks(tables: _Tables) -> Iterator[CheckResult]:
    width = tables.row_tokens
    query = f"""
        SELECT count(*) FILTER (next_doc <> doc + (next_id = {BOS_ID})::INT),
               count(*) FILTER (target <> next_id),
               count(*) FILTER (mask <> (next_id <> {BOS_ID} AND place < valid)::INT)
        FROM (SELECT unnest(range(1, {width})) AS place, {c.VALID_TOKEN_COUNT} AS valid,
                     unnest({c.INPUT_IDS}[2:{width}]) AS next_id, unnest({c.TARGET_IDS}[1:{width - 1}]) AS target,
                     unnest({c.LOSS_MASK}[1:{width - 1}]) AS mask, unnest({c.DOC_IDS}[1:{width - 1}]) AS doc,
                     unnest({c.DOC_IDS}[2:{width}]) AS next_doc FROM rows)"""  # noqa: S608 - our own text
    docs, targets, masks = tables.connection.rows(query)[0]
    first_doc, last_target, last_mask = tables.counts(
        f"{c.DOC_IDS}[1] <> 0 OR {c.INPUT_IDS}[1] <> {BOS_ID}",
        f"{c.TARGET_IDS}[{width}] <> {PAD_ID}",
        f"{c.LOSS_MASK}[{width}] <> 0",
    )
    yield _none(CHECKS[5], "cumsum(input_ids == BOS) - 1", docs + first_doc, "tokens")
    yield _none(CHECKS[6], "input_ids shifted left by one", targets + last_target, "tokens")
    yield _none(CHECKS[7], "1 where this token and the next are of one document", masks + last_mask, "tokens")


def _graph_checks(tables: _Tables) -> Iterator[CheckResult]:
    cap, lists = fixed_max_chunks(tables.row_tokens), c.PACKED_ROWS_CHUNK_METADATA_COLUMNS[:4]
    uneven = " OR ".join(f"len({lists[0]}) IS DISTINCT FROM len({name})" for name in lists[1:])
    outside = tables.connection.scalar(f"""
        SELECT count(*) FROM (SELECT {c.VALID_TOKEN_COUNT} AS valid, unnest({c.TOKEN_CHUNK_STARTS_COLUMN}) AS first,
                                     unnest({c.TOKEN_CHUNK_ENDS_COLUMN}) AS stop FROM rows)
        WHERE first >= stop OR stop > valid""")  # noqa: S608 - our own text
    (over,) = tables.counts(f"len({lists[0]}) > {cap} OR {uneven}")
    expected = f"at most {cap} chunks a row, each a span of its valid prefix"
    yield _none(CHECKS[8], expected, int(outside) + over, "chunks or rows")
    lost = 0
    for name in (c.TOKEN_CALL_EDGES_COLUMN, c.TOKEN_TYPE_EDGES_COLUMN):
        lost += tables.connection.scalar(f"""
            SELECT count(*) FROM (SELECT len({c.TOKEN_CHUNK_STARTS_COLUMN}) AS chunks, unnest({name}) AS edge FROM rows)
            WHERE edge."from" >= chunks OR edge."to" >= chunks""")  # noqa: S608 - our own text
    yield _none(CHECKS[9], "both ends below the row's chunk count", lost, "edges")


def _pads(tables: _Tables) -> CheckResult:
    fills = {c.INPUT_IDS: PAD_ID, **_METADATA}
    pads = ", ".join(f"unnest({name}[{c.VALID_TOKEN_COUNT} + 1:{tables.row_tokens}]) AS {name}" for name in fills)
    other = " OR ".join(f"{name} <> {fill}" for name, fill in fills.items())
    found = tables.connection.scalar(f"SELECT count(*) FROM (SELECT {pads} FROM rows) WHERE {other}")  # noqa: S608 - our own text
    return _none(CHECKS[10], "every pad its column's fill value", int(found), "pads")


def _taken(tables: _Tables) -> CheckResult:
    wrong = 0
    for split in SPLITS:
        wrong += tables.connection.scalar(f"""
            SELECT count(*) FROM (
                SELECT {c.REPO}, {c.DOC_ID}, count(*) AS times FROM (
                    SELECT unnest({c.SOURCE_REPOS}) AS {c.REPO}, unnest({c.SOURCE_DOC_IDS}) AS {c.DOC_ID}
                    FROM {tables.rows(split)}) GROUP BY ALL) AS taken
            FULL JOIN {tables.sources(split, f"{c.REPO}, {c.DOC_ID}")} AS source USING ({c.REPO}, {c.DOC_ID})
            WHERE coalesce(times, 0) NOT BETWEEN coalesce(least, 0) AND coalesce(most, 0)""")  # noqa: S608 - our own text
    return _none(CHECKS[11], "each source document as often as its weight says", wrong, "documents")


def _whole(artifact: Artifact, sources: Sequence[Artifact]) -> CheckResult:
    """Documents are cut out of their rows again, and compared with their source in every token column."""
    changed = 0
    for split in SPLITS:
        known = [prints for source in sources for prints in _source_prints(_source_files(source, split))]
        cut = list(_row_prints(_row_files(artifact, split)))
        if known and cut:
            names, cut_names = (pa.concat_arrays([names for names, _ in pairs]) for pairs in (known, cut))
            prints, cut_prints = (np.concatenate([prints for _, prints in pairs]) for pairs in (known, cut))
            place = pc.index_in(cut_names, value_set=names).fill_null(-1).to_numpy()
            changed += int((prints[place] != cut_prints)[place >= 0].sum())
    return _none(CHECKS[12], "every token column as in the source document", changed, "documents")


def _source_prints(paths: list[Path]) -> Iterator[tuple[pa.Array, NDArray[np.uint64]]]:
    """Names and fingerprints of the documents of enriched files."""
    columns = [c.TOKEN_IDS_COLUMN, *_METADATA]
    for table in _groups(paths, [c.REPO, c.DOC_ID, *columns]):
        lengths = np.diff(_list(table, c.TOKEN_IDS_COLUMN).offsets.to_numpy()).astype(np.int64)
        values = [_list(table, name).flatten().to_numpy() for name in columns]
        yield _names(*(table[name].combine_chunks() for name in (c.REPO, c.DOC_ID))), fingerprints(values, lengths)


def _row_prints(paths: list[Path]) -> Iterator[tuple[pa.Array, NDArray[np.uint64]]]:
    """Names and fingerprints of the documents of rows, cut at the lengths that the rows give them."""
    columns = [c.INPUT_IDS, *_METADATA]
    for table in _groups(paths, [c.SOURCE_REPOS, c.SOURCE_DOC_IDS, c.SOURCE_DOC_TOKEN_LENGTHS, *columns]):
        ends = _list(table, c.SOURCE_DOC_TOKEN_LENGTHS).offsets.to_numpy()
        lengths = _list(table, c.SOURCE_DOC_TOKEN_LENGTHS).flatten().to_numpy().astype(np.int64)
        running = np.concatenate([[0], np.cumsum(lengths)])
        in_row = np.arange(running[-1]) - np.repeat(running[ends[:-1]], np.diff(running[ends]))
        row_of = np.repeat(np.arange(table.num_rows), np.diff(running[ends]))
        values = []
        for name in columns:
            column = _list(table, name)
            flat = column.values.fill_null(0).to_numpy()
            values.append(np.take(flat, column.offsets.to_numpy()[row_of] + in_row, mode="clip"))
        names = _names(*(_list(table, name).flatten() for name in (c.SOURCE_REPOS, c.SOURCE_DOC_IDS)))
        yield names, fingerprints(values, lengths)


def _groups(paths: list[Path], columns: list[str]) -> Iterator[pa.Table]:
    return (table for path in paths for table in row_groups(path, columns) if table.num_rows)


def _list(table: pa.Table, name: str) -> pa.ListArray:
    return table[name].combine_chunks()


def _names(repos: pa.Array, doc_ids: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(repos, doc_ids, "/")


def _conserved(tables: _Tables) -> CheckResult:
    """Total tokens by split: in the rows, in the statistics, and within what sources and weights allow."""
    names, held, problems = {TRAIN_SPLIT: "tokens"}, [], []
    for split in SPLITS:
        source = tables.sources(split, c.ACTUAL_TOKEN_COUNT)
        least, most = tables.connection.rows(f"""
            SELECT coalesce(sum({c.ACTUAL_TOKEN_COUNT} * least), 0), coalesce(sum({c.ACTUAL_TOKEN_COUNT} * most), 0)
            FROM {source}""")[0]  # noqa: S608 - our own text
        rows = f"SELECT coalesce(sum({c.VALID_TOKEN_COUNT}), 0) FROM {tables.rows(split)}"  # noqa: S608 - our own text
        found, told = (
            int(tables.connection.scalar(rows)),
            tables.artifact.manifest.stats[names.get(split, "valid_tokens")],
        )
        held.append(f"{split} {least} to {most}")
        problems.append((f"{split} {found} in rows, {told} in statistics", least <= found <= most and found == told))
    return CheckResult(
        CHECKS[13], all(fine for _, fine in problems), "; ".join(held), "; ".join(text for text, _ in problems)
    )
