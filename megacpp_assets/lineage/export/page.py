"""The audit page of a checkpoint: one HTML file that needs no Dagster, no network and no scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, Final

from megacpp_assets.lineage.export.drawings import bars, curve
from megacpp_assets.lineage.export.facts import Chain, Link
from megacpp_assets.lineage.export.licences import attributions
from megacpp_assets.storage.budgets import BUDGETS
from megacpp_assets.training.checkpoints.record import StepMetrics, weights_sha256

_DIGITS: Final = 12
STYLE: Final = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:.5rem 0 1rem;display:block;overflow-x:auto}
th,td{border-bottom:1px solid #8884;padding:.25rem .7rem;text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
code{font:13px/1.4 ui-monospace,monospace;overflow-wrap:anywhere}
code.h{white-space:nowrap}
svg{max-width:100%;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:currentColor}
svg rect{fill:#4a78b8}
svg line{stroke:#4a78b8;stroke-width:2}
"""

Cell = str | int


def audit_page(chain: Chain, steps: Sequence[StepMetrics], listed: Sequence[str]) -> bytes:
    """Return the page as UTF-8 HTML.

    `steps` has the loss of each step; it is empty if the checkpoint's files were removed. `listed` names the other
    exported files in the folder of the page.
    """
    title = f"Audit of {chain.checkpoint.path}"
    body = "\n".join(
        [
            f"<h1>{escape(title)}</h1>",
            "<p>This page is made from the manifests. <code>megacpp audit</code> reads every byte again and reports "
            "whether it still matches them.</p>",
            _summary(chain),
            _section("Loss", _loss(steps)),
            _section("Sources and licences", _sources(chain)),
            _section("Tokenizer", _tokenizer(chain)),
            _section("Rows", _rows(chain)),
            _section("Chain", _chain(chain)),
            _section("Recipe of the training", _facts(_flat(chain.checkpoint.manifest.config))),
            _section("Files of the checkpoint", _files(chain.checkpoint)),
            *([_section("Other files of this export", _list(listed))] if listed else []),
        ]
    )
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    page = f'<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>'
    return f"<!doctype html>\n{page}\n".encode()


def _list(names: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{_code(name)}</li>" for name in names) + "</ul>"


def _summary(chain: Chain) -> str:
    last, rows = chain.checkpoint, chain.packed.manifest.stats
    return _facts(
        [
            ("checkpoint", last.path),
            ("manifest sha256", last.sha256),
            ("weights sha256", weights_sha256(last.manifest) or "none"),
            ("tokenizer commit", chain.tokenizer_commit),
            ("repositories in the rows", len(list(chain.of("v6_enriched")))),
            ("parameters", int(last.manifest.stats.get("parameters", 0))),
            ("steps", int(last.manifest.stats.get("steps", 0))),
            ("tokens trained on", int(last.manifest.stats.get("tokens", 0))),
            ("tokens in the rows", int(rows.get("tokens", 0))),
        ]
    )


def _loss(steps: Sequence[StepMetrics]) -> str:
    if len(steps) < 2:
        return "<p>The losses are in the checkpoint's files, which are no longer in this data root.</p>"
    points = [(float(each.step), each.loss) for each in steps]
    text = f"<p>{steps[0].loss:.4f} at the first step, {steps[-1].loss:.4f} at the last.</p>"
    return text + curve(points, "loss by step", "step", "mean loss of a step, nats a token")


def _sources(chain: Chain) -> str:
    found = attributions(chain)
    head = ["repository", "reference", "commit", "licence", "licences of its files", "documents", "tokens"]
    rows: list[list[Cell]] = [
        [
            *map(escape, (each.name, each.ref)),
            _code(each.commit),
            *map(escape, (each.license, ", ".join(each.file_licenses))),
            each.documents,
            each.tokens,
        ]
        for each in found
    ]
    shares = bars([(each.name, each.tokens) for each in found if each.tokens], "training tokens by repository")
    return _table(head, rows) + "<h3>Training tokens by repository</h3>" + shares


def _tokenizer(chain: Chain) -> str:
    parts = []
    for link in chain.of("tokenizer"):
        stats = link.manifest.stats
        trained = ", ".join(entry.path.rpartition("/")[2] for entry in link.manifest.inputs)
        facts: list[tuple[str, Cell]] = [
            ("commit", str(stats.get("commit", ""))),
            ("tokenizer.json sha256", next((e.sha256 for e in link.manifest.files if e.name == "tokenizer.json"), "")),
            ("vocabulary", int(stats.get("vocabulary_size", 0))),
            ("trained on", trained),
        ]
        parts.append(_facts(facts))
    return "".join(parts)


def _rows(chain: Chain) -> str:
    stats = {key: value for key, value in chain.packed.manifest.stats.items() if isinstance(value, int)}
    lengths: Counter[int] = Counter()
    for link in chain.of("tokenized_parquet"):
        for counts in link.manifest.stats.get(BUDGETS, {}).values():
            lengths.update({int(limit): int(count) for limit, count in counts.get("token_histogram", ())})
    categories: Counter[str] = Counter()
    for link in chain.of("v6_enriched"):
        found = link.manifest.stats.get("categories", {})
        categories.update({name: int(counts["tokens"]) for name, counts in found.items()})
    parts = [_facts([_figure(key, value) for key, value in sorted(stats.items())])]
    if lengths:
        upto = [(f"up to {limit:,}", lengths[limit]) for limit in sorted(lengths)]
        parts.append("<h3>Documents by their tokens</h3>" + bars(upto, "documents by their tokens"))
    if categories:
        parts.append("<h3>Tokens by category</h3>" + bars(categories.most_common(), "tokens by category"))
    return "".join(parts)


def _chain(chain: Chain) -> str:
    head = ["stage", "code", "artifact", "manifest", "made from", "files", "bytes", "rows"]
    return _table(head, [_link(link) for link in chain.links])


def _figure(name: str, value: int) -> tuple[str, Cell]:
    """Return a statistic with its unit: parts per million are shown as per cent."""
    return (f"{name.removesuffix('_ppm')} (%)", f"{value / 1e4:.2f}") if name.endswith("_ppm") else (name, value)


def _link(link: Link) -> list[Cell]:
    made_from = ", ".join(_hash(entry.manifest_sha256) for entry in link.manifest.inputs)
    source = str(link.manifest.config.get("commit", "")) if link.manifest.stage == "pinned_repos" else ""
    return [
        escape(link.manifest.stage),
        escape(link.manifest.version),
        _code(link.path),
        _hash(link.sha256),
        made_from or f"commit {_hash(source)}",
        len(link.manifest.files),
        link.bytes,
        "" if link.rows is None else link.rows,
    ]


def _files(link: Link) -> str:
    rows: list[list[Cell]] = [[_code(entry.name), entry.bytes, _code(entry.sha256)] for entry in link.manifest.files]
    return _table(["file", "bytes", "sha256"], rows)


def _flat(config: Any, path: str = "") -> Iterator[tuple[str, Cell]]:
    for key in sorted(config):
        value, name = config[key], f"{path}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        else:
            yield name, str(value)


def _facts(facts: Iterable[tuple[str, Cell]]) -> str:
    rows = (f"<tr><th>{escape(name.replace('_', ' '))}</th><td>{_word(value)}</td></tr>" for name, value in facts)
    return f"<table>{''.join(rows)}</table>"


def _word(value: Cell) -> str:
    return escape(value) if isinstance(value, str) else f"{value:,}"


def _table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return an HTML table. `head` is plain text; cells of type str are HTML already."""
    titles = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = ("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"<table><tr>{titles}</tr>{''.join(lines)}</table>"


def _cell(value: Cell) -> str:
    return f'<td class="n">{value:,}</td>' if isinstance(value, int) else f"<td>{value}</td>"


def _hash(text: str) -> str:
    """Return the first digits of a hash as HTML. The exported statements contain the whole hash."""
    return f'<code class="h">{escape(text[:_DIGITS])}</code>'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{content}"
