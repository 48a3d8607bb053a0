"""The pictures of each stage."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.errors import MegacppError
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.defs.showing.charts import bars, category_shares, histogram, line_chart
from megacpp_assets.enriched.totals import CATEGORIES
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.budgets import BUDGETS
from megacpp_assets.storage.parquet import batches
from megacpp_assets.viewing.find import find_document, find_row
from megacpp_assets.viewing.picture import picture
from megacpp_assets.viewing.shown import TokenView

METRICS_FILE: Final = "metrics.jsonl"
_REPEATED = 12
_FILL_STEP = 5
_ROWS_AT_ONCE = 1024
_SAMPLE_LINES = 16
"""About a third of a screen, so that figures are seen below it. `megacpp view` shows the whole document."""

Pictures = dict[str, str]


def pictures(artifact: Artifact) -> Pictures:
    """Return SVG by title, the most important first. Empty for a stage without pictures.

    If an input is missing, the value is a sentence that says so.
    """
    draw = _STAGES.get(artifact.manifest.stage)
    return draw(artifact) if draw else {}


def _replication(artifact: Artifact) -> Pictures:
    shown = {}
    for budget, stats in artifact.manifest.stats.get(BUDGETS, {}).items():
        repeated: dict[str, int] = {}
        for times, path, name, _ in stats.get("most_repeated", [])[:_REPEATED]:
            # Overloads share a name; the most repeated comes first. A long label loses its beginning.
            repeated.setdefault(f"{path}: {name}", times)
        if repeated:
            label = f"documents that contain it; {stats['replication']:.2f} on average for a byte"
            shown[f"most repeated declarations, {budget} tokens"] = bars(repeated, label)
    return shown


def _lengths(artifact: Artifact) -> Pictures:
    by_budget: Mapping[str, Mapping[str, Any]] = artifact.manifest.stats.get(BUDGETS, {})
    return {
        f"token lengths, {budget} tokens": histogram(stats["token_histogram"], "tokens per document")
        for budget, stats in by_budget.items()
        if "token_histogram" in stats
    }


def _structure(artifact: Artifact) -> Pictures:
    categories = artifact.manifest.stats.get(CATEGORIES, {})
    shares = {"category shares": category_shares({name: each["tokens"] for name, each in categories.items()})}
    return _sample(lambda: find_document(artifact, "0")) | shares


def _packing(artifact: Artifact) -> Pictures:
    row_tokens, fill = artifact.manifest.stats["row_tokens"], Counter[int]()
    for file in artifact.files(".parquet", TRAIN_SPLIT):
        for batch in batches(file, _ROWS_AT_ONCE, [c.VALID_TOKEN_COUNT]):
            fill.update(-(-100 * count // (row_tokens * _FILL_STEP)) for count in batch.column(0).to_pylist())
    most = 100 // _FILL_STEP
    bins = [(step * _FILL_STEP, fill[step]) for step in range(min(fill, default=most), most + 1)]
    tokens = artifact.manifest.stats["tokens_per_repo"]
    return _sample(lambda: find_row(artifact, "0", TRAIN_SPLIT)) | {
        "row fill": histogram(bins, "fill (%), upper bound", "rows"),
        "tokens by repository": bars(dict(Counter(tokens).most_common(_REPEATED)), "tokens in training rows"),
    }


def _losses(artifact: Artifact) -> Pictures:
    lines = artifact.file(METRICS_FILE).read_text(encoding="utf-8").splitlines()
    points = [(float(entry["step"]), float(entry["loss"])) for entry in map(json.loads, lines)]
    return {"loss curve": line_chart(points, "step", "loss (nats)")} if points else {}


def _sample(find: Callable[[], TokenView]) -> Pictures:
    """Return the first lines of what `find` returns, or a sentence if an input is missing: the step must still be
    recorded.
    """
    try:
        shown = find()
    except MegacppError as error:
        return {"sample text": str(error)}
    return {"sample text": picture(shown, _SAMPLE_LINES)}


_STAGES: Final[Mapping[str, Callable[[Artifact], Pictures]]] = {
    "semantic_jsonl": _replication,
    "tokenized_parquet": _lengths,
    "v6_enriched": _structure,
    "packed_rows": _packing,
    "trained_checkpoint": _losses,
}
