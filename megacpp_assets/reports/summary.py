"""The figures of the marts, in lines that a person reads first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from megacpp_assets.reports.hardened import open_database

Line = tuple[str, str]

_CELL_CHARACTERS: Final = 120

_TABLE_EXISTS: Final = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'marts' AND table_name = ?"


@dataclass(frozen=True, slots=True)
class _Question:
    """A line: its label, the mart that it reads, and a query of one row whose columns fill `text`. `?` or `$1`
    is the dataset.
    """

    label: str
    mart: str
    query: str
    text: str


_QUESTIONS: Final = (
    _Question(
        "corpus",
        "corpus_by_repository",
        "SELECT count(DISTINCT partition_key), sum(documents), sum(tokens), sum(text_bytes) / sum(tokens)"
        " FROM marts.corpus_by_repository WHERE dataset = ? HAVING count(*) > 0",
        "{:,} references, {:,} documents, {:,} tokens, {:.2f} bytes a token",
    ),
    _Question(
        "validation",
        "corpus_by_repository",
        "SELECT sum(tokens) FILTER (split = 'valid'), 100 * sum(tokens) FILTER (split = 'valid') / sum(tokens)"
        " FROM marts.corpus_by_repository WHERE dataset = ? HAVING count(*) FILTER (split = 'valid') > 0",
        "{:,} tokens, {:.1f} %",
    ),
    _Question(
        "licences",
        "corpus_by_licence",
        "SELECT string_agg(format('{} {:.1f} %', license, 100 * share), ', ' ORDER BY share DESC) FROM"
        " (SELECT license, sum(tokens) / sum(sum(tokens)) OVER () AS share FROM marts.corpus_by_licence"
        " WHERE dataset = ? GROUP BY license ORDER BY share DESC LIMIT 4)",
        "{}",
    ),
    _Question(
        "curation",
        "curation_by_rule",
        "SELECT coalesce(sum(items) FILTER (kind = 'dropped files'), 0),"
        " coalesce(sum(items) FILTER (kind = 'files that a quality rule reports'), 0),"
        " coalesce(sum(items) FILTER (kind = 'secrets and personal data'), 0),"
        " coalesce(sum(items) FILTER (rule = 'shared_copies_found'), 0)"
        " FROM marts.curation_by_rule WHERE dataset = ? HAVING count(*) > 0",
        "{:,} files dropped, {:,} reported by a quality rule, {:,} secrets and personal data found,"
        " {:,} files with a copy in another repository",
    ),
    _Question(
        "history",
        "history_by_rule",
        "SELECT string_agg(format('{} {:,} of {:,}', document_set, made, made + gone), ', ' ORDER BY document_set),"
        " coalesce((SELECT rule FROM marts.history_by_rule WHERE dataset = $1 AND rule <> 'documents'"
        " GROUP BY rule ORDER BY sum(items) DESC, rule LIMIT 1), 'no rule') FROM (SELECT document_set,"
        " sum(items) FILTER (rule = 'documents')::bigint AS made,"
        " coalesce(sum(items) FILTER (rule <> 'documents'), 0)::bigint AS gone"
        " FROM marts.history_by_rule WHERE dataset = $1 GROUP BY document_set) HAVING count(*) > 0",
        "{} documents; most were left out by: {}",
    ),
    _Question(
        "categories",
        "corpus_by_category",
        "SELECT string_agg(format('{} {:.1f} %', category, 100 * share), ', ' ORDER BY share DESC) FROM"
        " (SELECT category, sum(tokens) / sum(sum(tokens)) OVER () AS share FROM marts.corpus_by_category"
        " WHERE dataset = ? GROUP BY category ORDER BY share DESC LIMIT 5)",
        "{}",
    ),
    _Question(
        "token lengths",
        "token_lengths",
        "SELECT string_agg(format('≤ {}: {}', at_most, documents), ', ' ORDER BY at_most) FROM (SELECT at_most,"
        " sum(documents) AS documents FROM marts.token_lengths WHERE dataset = ? GROUP BY at_most)",
        "{}",
    ),
    _Question(
        "chunks",
        "chunk_counts",
        "SELECT sum(chunks) / sum(documents), max(at_most) FROM marts.chunk_counts WHERE dataset = ?"
        " HAVING count(*) > 0",
        "{:.1f} a document, none above {:,}",
    ),
    _Question(
        "replication",
        "replication",
        "SELECT sum(placed_bytes) / sum(distinct_bytes), max(replication), arg_max(partition_key, replication)"
        " FROM marts.replication WHERE dataset = ? HAVING count(*) > 0",
        "{:.2f} times each byte that is used; most {:.2f} in {}",
    ),
    _Question(
        "duplicates",
        "duplicates",
        "SELECT sum(copies), sum(documents), sum(copied_tokens), sum(texts_on_both_sides) FROM marts.duplicates"
        " WHERE dataset = ? HAVING count(*) > 0",
        "{:,} of {:,} documents ({:,} tokens); {:,} texts on both sides of the split",
    ),
    _Question(
        "index",
        "semantic_coverage",
        "SELECT sum(files_in_documents), sum(source_files), 100 * sum(resolved_call_share * calls) / sum(calls),"
        " sum(failed_units), sum(units) FROM marts.semantic_coverage WHERE dataset = ? HAVING sum(calls) > 0",
        "{:,} of {:,} files in documents, {:.1f} % of calls resolved, {:,} of {:,} units failed",
    ),
    _Question(
        "packing",
        "packing_utilisation",
        "SELECT sum(row_count), 100 * sum(tokens) / sum(row_count * row_tokens), 100 * min(fill_share),"
        " arg_min(specialist || '/' || phase || ' ' || split, fill_share) FROM marts.packing_utilisation"
        " WHERE dataset = ? HAVING count(*) > 0",
        "{:,} rows, {:.2f} % full; least {:.2f} % in {}",
    ),
    _Question(
        "phases",
        "corpus_by_phase",
        "SELECT string_agg(format('{} {:,} tokens in {} mixtures', phase, tokens, specialists), ', ' ORDER BY phase)"
        " FROM marts.corpus_by_phase WHERE dataset = ?",
        "{}",
    ),
    _Question(
        "drift",
        "tag_drift",
        "SELECT count(*), max(abs(tokens_ratio - 1)) * 100, arg_max(partition_key, abs(tokens_ratio - 1)),"
        " 100 * max(category_shift) FROM marts.tag_drift WHERE dataset = ? HAVING count(*) > 0",
        "{:,} steps between tags; tokens moved at most {:.1f} % at {}, categories {:.2f} %",
    ),
    _Question(
        "checkpoints",
        "checkpoints",
        "SELECT count(*), count(DISTINCT specialist || '/' || phase), count(DISTINCT tokenizer_commit),"
        " median(first_loss), median(last_loss) FROM marts.checkpoints WHERE dataset = ? HAVING count(*) > 0",
        "{:,} saved of {:,} mixtures with {:,} tokenizer(s); median loss {:.2f} to {:.2f}",
    ),
    _Question(
        "native checks",
        "check_results",
        "SELECT sum(partitions), sum(passed), sum(failed) FILTER (NOT blocking), sum(failed) FILTER (blocking)"
        " FROM marts.check_results WHERE dataset IN ('', ?) HAVING count(*) > 0",
        "{:,} ran, {:,} passed, {:,} warned, {:,} failed",
    ),
)


def summaries(root: Path) -> dict[str, list[Line]]:
    """Return (label, sentence) by dataset. A mart that was not built, or has nothing about a dataset, gives no line."""
    with open_database(root) as connection:
        names = [name for (name,) in connection.execute("SELECT DISTINCT dataset FROM raw.pins ORDER BY 1").fetchall()]
        return {
            name: [line for question in _QUESTIONS for line in _answer(connection, question, name)] for name in names
        }


@dataclass(frozen=True, slots=True)
class Head:
    """The number of rows of a table, its columns and its first rows. Values are numbers, text or nothing."""

    count: int
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]


def heads(root: Path, tables: Mapping[str, str], limit: int) -> dict[str, Head]:
    """Return the head of each of `tables`, name -> its place in the database."""
    with open_database(root) as connection:
        return {name: _head(connection, table, limit) for name, table in tables.items()}


def _head(connection: duckdb.DuckDBPyConnection, table: str, limit: int) -> Head:
    [(count,)] = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
    rows = connection.execute(f"SELECT * FROM {table} LIMIT {int(limit)}").fetchall()
    columns = tuple(column[0] for column in connection.description or ())
    return Head(count, columns, tuple(tuple(map(_plain, row)) for row in rows))


def _plain(value: Any) -> str | int | float | None:
    if value is None or isinstance(value, bool | int | float | str):
        return value if not isinstance(value, str) or len(value) <= _CELL_CHARACTERS else f"{value[:_CELL_CHARACTERS]}…"
    return _plain(str(value))


def failing_rows(root: Path, table: str, limit: int = 3) -> list[dict[str, Any]]:
    """Return the first rows that failed the test whose rows `table` holds; empty if it was not written."""
    with open_database(root) as connection:
        try:
            connection.execute(f"SELECT * FROM {table} LIMIT {int(limit)}")
        except duckdb.CatalogException:
            return []
        names = [column[0] for column in connection.description or ()]
        return [dict(zip(names, row, strict=True)) for row in connection.fetchall()]


def _answer(connection: duckdb.DuckDBPyConnection, question: _Question, dataset: str) -> list[Line]:
    if connection.execute(_TABLE_EXISTS, [question.mart]).fetchall() == [(0,)]:
        return []
    rows = connection.execute(question.query, [dataset]).fetchall()
    values = [value or 0 for value in rows[0]] if rows and any(value is not None for value in rows[0]) else []
    return [(question.label, question.text.format(*values))] if values else []
