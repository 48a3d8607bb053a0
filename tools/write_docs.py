"""Writes docs/recipes.md and docs/columns.md from the code: `python tools/write_docs.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

from megacpp_assets.contract import schemas
from megacpp_assets.contract.columns import DEFINITIONS_FILE, DUPLICATES_FILE
from megacpp_assets.contract.recipe.commented import facts
from megacpp_assets.contract.recipe.key import notes
from megacpp_assets.contract.recipe.rows import PhaseRecipe, standard_phases
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.contract.schemas import DESCRIPTIONS
from megacpp_assets.contract.sources.curated import DECISIONS_FILE

DOCS = Path(__file__).parents[1] / "docs"
_MADE = "<!-- Written by tools/write_docs.py: edit the code, then run it again. -->"
_FILES = {
    "Semantic documents": ("`jsonl/DATASET/NAME@REF/BUDGET/shard_*.jsonl.zst`", schemas.SEMANTIC),
    "Tokenized documents": ("`parquet/DATASET/NAME@REF/BUDGET/*.parquet`", schemas.TOKENIZED),
    "Enriched documents": ("`enriched/DATASET/NAME@REF/BUDGET/*.parquet`", schemas.ENRICHED),
    "Packed rows": ("`packed/DATASET/SPECIALIST/PHASE/{train,valid}_*.parquet`", schemas.PACKED),
    "Megatron documents": ("`megatron/DATASET/SPECIALIST/PHASE/*.documents.parquet`", schemas.MEGATRON_DOCUMENTS),
}


def recipes_page() -> str:
    """Every key of a recipe: meaning, unit, default, allowed values."""
    return "\n".join([*_recipes(), ""])


def _plain(text: str) -> str:
    """Return `text` as Markdown shows it inside of asterisks."""
    return text.replace("*", r"\*")


def columns_page() -> str:
    """Every column of every data file: type and meaning."""
    return "\n".join([*_columns(), ""])


def _recipes() -> Iterator[str]:
    yield "# Recipe keys"
    yield ""
    yield _MADE
    yield ""
    yield "`megacpp recipe show sample` prints a whole recipe with these notes. A recipe file contains only the keys"
    yield "that differ from the defaults. `--set KEY=VALUE` changes one key for one run. `megacpp recipe check FILE`"
    yield "reports wrong keys."
    phases = list(notes(PhaseRecipe, "phases.NAME."))
    for path, entry, note in notes(Recipe):
        if note.allowed == "a table":
            yield from ("", f"## [{path}]", "", note.meaning, "")
            continue
        if path == "dataset":
            yield from ("", "## The file itself", "")
        yield f"- `{path}`: {note.meaning} *{_plain(facts(entry, note))}*"
        if path == "phases":
            for name, field, phase in phases:
                yield f"- `{name}`: {phase.meaning} *{_plain(facts(field, phase))}*"
            lengths = ", ".join(f"{name} {phase.row_tokens:,}" for name, phase in standard_phases().items())
            yield f"- Standard phases and their `row_tokens` and `document_tokens`: {lengths}."


_CLUSTERS: Final = f"""Clusters of files are in the columns `cluster` and `shared_cluster` of
`curated/DATASET/NAME@REF/{DECISIONS_FILE}`.
`cluster` is "" for a file without a copy in its commit. `shared_cluster` is "" for a file that is not listed in
`curation.shared_copies`.

Clusters of documents in different repositories are in
`packed/DATASET/SPECIALIST/PHASE/{DUPLICATES_FILE}`. Each line is a JSON object
for one training document that has copies. The file is missing if `mixture.duplicates` is `ignore`.

| key | type | meaning |
|---|---|---|
| `cluster` | string | The first 16 hexadecimal digits of the sha256 of the text of the first document in the cluster. |
| `repo` | string | Name of the repository. |
| `doc_id` | string | Identity of the document. |
| `exact` | bool | An earlier repository has a document with the same text. |
| `near` | bool | An earlier repository has a near-duplicate, and no earlier repository has the same text. |

The file `{DEFINITIONS_FILE}` in the same folder lists copied definitions. It has the same keys, and also
`filepath`, `byte_start` and `byte_end`. It is missing if `mixture.definitions` is `ignore`."""


def _columns() -> Iterator[str]:
    yield "# Columns"
    yield ""
    yield _MADE
    yield ""
    yield "Types are Arrow's. All intervals are half-open. Structure categories are in"
    yield "[CATEGORIES.md](../megacpp_assets/semantic/CATEGORIES.md)."
    for title, (place, schema) in _FILES.items():
        yield from ("", f"## {title}", "", place, "", "| column | type | meaning |", "|---|---|---|")
        for field in schema:
            yield f"| `{field.name}` | {_type(field.type)} | {_meaning(field.name)} |"
    yield from ("", "## Clusters of copies", "", _CLUSTERS)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list of {_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return "{" + ", ".join(f"{field.name} {field.type}" for field in kind) + "}"
    return str(kind)


def _meaning(column: str) -> str:
    return DESCRIPTIONS[column].replace("|", "\\|")


if __name__ == "__main__":
    DOCS.joinpath("recipes.md").write_text(recipes_page())
    DOCS.joinpath("columns.md").write_text(columns_page())
