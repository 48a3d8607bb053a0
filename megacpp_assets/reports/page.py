"""The page of the reports: when they and their data were made, the table that `megacpp quality` prints, its plots,
and the tests that did not pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from megacpp_assets.lineage.export.drawings import bars
from megacpp_assets.lineage.export.page import STYLE
from megacpp_assets.reports.hardened import open_database
from megacpp_assets.reports.outcome import DbtOutcome
from megacpp_assets.reports.summary import Line

if TYPE_CHECKING:
    import duckdb

_MOST_BARS: Final = 16


@dataclass(frozen=True, slots=True)
class _Plot:
    """A title and a query of (name, number) rows over a mart, the largest first; `?` is the dataset."""

    title: str
    query: str


_PLOTS: Final = (
    _Plot(
        "tokens by repository",
        "SELECT partition_key, sum(tokens) AS figure FROM marts.corpus_by_repository WHERE dataset = ? GROUP BY 1",
    ),
    _Plot(
        "tokens by licence",
        "SELECT license, sum(tokens) AS figure FROM marts.corpus_by_licence WHERE dataset = ? GROUP BY 1",
    ),
    _Plot(
        "tokens by structure category",
        "SELECT category, sum(tokens) AS figure FROM marts.corpus_by_category WHERE dataset = ? GROUP BY 1",
    ),
    _Plot(
        "row fill by mixture (%)",
        "SELECT specialist || '/' || phase || ' ' || split, 100 * fill_share AS figure FROM marts.packing_utilisation"
        " WHERE dataset = ?",
    ),
    _Plot(
        "calls resolved by repository (%)",
        "SELECT partition_key, 100 * resolved_call_share AS figure FROM marts.semantic_coverage"
        " WHERE dataset = ? AND resolved_call_share IS NOT NULL",
    ),
    _Plot(
        "last loss by mixture (nats a token)",
        "SELECT specialist || '/' || phase, arg_max(last_loss, saved_at_step) AS figure FROM marts.checkpoints"
        " WHERE dataset = ? AND last_loss IS NOT NULL GROUP BY 1",
    ),
)
_TIMES: Final = "SELECT count(*), min(sealed_at), max(sealed_at) FROM raw.artifacts WHERE dataset = ?"


def reports_page(root: Path, summaries: Mapping[str, Sequence[Line]], outcomes: Sequence[DbtOutcome]) -> str:
    """Return the page as HTML without scripts. The marts must have been built just now."""
    with open_database(root) as connection:
        datasets = [part for name, lines in summaries.items() for part in _dataset(connection, name, lines)]
    body = "\n".join(["<h1>Reports of the data root</h1>", f"<p>{_built_now()}</p>", _tests(outcomes), *datasets])
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Reports</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def summary_markdown(summaries: Mapping[str, Sequence[Line]]) -> str:
    """Return the same table as markdown, for the first page of dbt's documentation."""
    lines = [_built_now(), ""]
    for dataset, rows in summaries.items():
        lines += [f"### {dataset}", "", "| | |", "|---|---|", *(f"| {label} | {said} |" for label, said in rows), ""]
    return "\n".join(lines)


def _built_now() -> str:
    """Return a sentence with the present time."""
    return f"Built by megacpp quality on {_minute(datetime.now(UTC))}."


def _minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _dataset(connection: duckdb.DuckDBPyConnection, name: str, lines: Sequence[Line]) -> Iterator[str]:
    rows = "".join(f"<tr><th>{escape(label)}</th><td>{escape(said)}</td></tr>" for label, said in lines)
    [(count, first, last)] = connection.execute(_TIMES, [name]).fetchall()
    times = f"<p>{count:,} artifacts, made from {_minute(first)} to {_minute(last)}.</p>" if count else ""
    yield f"<h2>{escape(name)}</h2>\n{times}\n<table>{rows}</table>"
    for plot in _PLOTS:
        found = connection.execute(f"SELECT * FROM ({plot.query}) ORDER BY figure DESC, 1", [name]).fetchall()
        values = [(str(label), float(number)) for label, number in found[:_MOST_BARS]]
        if values:
            rest = f", the first {_MOST_BARS} of {len(found):,}" if len(found) > _MOST_BARS else ""
            yield f"<h3>{escape(plot.title + rest)}</h3>\n{bars(values, plot.title)}"


def _tests(outcomes: Sequence[DbtOutcome]) -> str:
    """Return how many tests passed, and each one that did not."""
    tests = [each for each in outcomes if each.kind == "test"]
    others = [each for each in outcomes if not each.good]
    passed = sum(each.good for each in tests)
    rows = "".join(
        f"<tr><td>{'warned' if each.warned else 'failed'}</td><td>{escape(each.name)}</td>"
        f"<td>{escape(each.message or each.status)}</td></tr>"
        for each in others
    )
    return f"<p>{passed} of {len(tests)} tests passed.</p>" + (f"<table>{rows}</table>" if rows else "")
