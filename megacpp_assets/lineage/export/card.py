"""A Croissant 1.0 card of the rows that a checkpoint was trained on: files, hashes, and each column's meaning."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.names import SPLITS
from megacpp_assets.contract.schemas import DESCRIPTIONS, PACKED
from megacpp_assets.lineage.export.facts import Chain
from megacpp_assets.lineage.export.licences import Attribution, attributions, names_of
from megacpp_assets.repos.licensing.licences import UNKNOWN
from megacpp_assets.repos.licensing.spdx import licence_addresses

_FORMATS: Final = {".parquet": "application/x-parquet", ".zst": "application/zstd"}
_CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def dataset_card(chain: Chain) -> bytes:
    """Return the card as canonical JSON-LD. Hashes and counts come from the manifest, whose hash is in the version."""
    packed, sources = chain.packed, attributions(chain)
    version = packed.sha256[:12]
    card = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": packed.path.replace("/", "_"),
        "description": _description(chain),
        "version": f"1.0.0+{version}",
        "license": _licences(sources) or [UNKNOWN],
        "creator": {"@type": "sc:Organization", "name": "megacpp_assets"},
        "url": f"urn:sha256:{packed.sha256}",
        "citeAs": f"{packed.path}, manifest sha256 {packed.sha256}",
        "isBasedOn": [f"{each.name}@{each.ref} commit {each.commit}" for each in sources],
        "distribution": list(_distribution(chain)),
        "recordSet": [_record_set(split) for split in SPLITS if _names(chain, split)],
    }
    return canonical_json(card)


def _description(chain: Chain) -> str:
    stats, config = chain.packed.manifest.stats, chain.packed.manifest.config
    repositories = len(list(chain.of("v6_enriched")))
    return (
        f"Rows of {config['row_tokens']} tokens of whole C++ documents with their structure: {stats['rows']} rows, "
        f"{stats['documents']} documents and {stats['tokens']} tokens for training of {repositories} repositories; "
        f"tokenizer commit {chain.tokenizer_commit}.{_curation(chain)}{_copies(chain)}"
    )


def _copies(chain: Chain) -> str:
    """Return sentences on documents and definitions that several repositories have; "" without a search.

    Rows that an earlier version packed have no such counts.
    """
    stats, config = chain.packed.manifest.stats, chain.packed.manifest.config
    found = ""
    for name, copied, of, left_out in (
        ("duplicates", "copies_per_repo", "training documents", "duplicate_documents"),
        ("definitions", "definition_copies_per_repo", "of their definitions", "definition_documents"),
    ):
        action = config.get(name, "ignore")
        if action != "ignore" and copied in stats:
            copies = Counter({repo: count for repo, count in stats[copied].items() if count})
            by_repo = f" ({_listed(copies)})" if copies else ""
            found += (
                f" {copies.total()} {of}{by_repo} have an equal or near-duplicate one in an earlier repository; "
                f"mixture.{name} is {action}, and {stats[left_out]} documents were left out."
            )
    return found


def _curation(chain: Chain) -> str:
    """Return a sentence on what the rules of curation dropped and replaced, with their counts; "" before that stage."""
    curated = [link.manifest.stats for link in chain.of("curated_files")]
    if not curated:
        return ""
    reasons: Counter[str] = Counter()
    for stats in curated:
        reasons.update(stats["dropped_by_reason"])
    by_reason = "".join(f", {reason} {count}" for reason, count in sorted(reasons.items()))
    dropped, files = (sum(stats[key] for stats in curated) for key in ("files_dropped", "files"))
    replaced, found = (sum(stats[key] for stats in curated) for key in ("finds_replaced", "finds"))
    answers, places, masked = (
        sum(stats[key] for stats in curated)
        for key in ("files_with_benchmarks", "benchmark_places", "benchmark_places_masked")
    )
    shared, outdated = (
        sum(stats[key] for stats in curated) for key in ("shared_copies_found", "shared_copies_outdated")
    )
    return (
        f" Curation dropped {dropped} of {files} files{by_reason}; found secrets or personal data in {found} "
        f"places and replaced {replaced}; found benchmark answers in {answers} files, "
        f"at {places} places, {masked} of them masked; and found {shared} files with a "
        f"copy in another repository ({outdated} listed ones are outdated)."
        + _deny_lists(chain)
        + _parser_rules(chain)
        + _scores(chain)
    )


def _deny_lists(chain: Chain) -> str:
    """Return a sentence on the commits and definitions that the recipe's lists deny; "" where they left out none."""
    commits = sum(link.manifest.stats["commits_left_out"].get("denied commit", 0) for link in chain.of("commits"))
    skipped: Counter[str] = Counter()
    for link in chain.of("semantic_jsonl"):
        skipped.update(link.manifest.stats.get("skipped", {}))
    definitions = sum(count for reason, count in skipped.items() if reason.startswith("denied symbol"))
    return f" Deny lists left out {commits} commits and {definitions} definitions." if commits or definitions else ""


def _parser_rules(chain: Chain) -> str:
    """Return a sentence on the files that rules of the parser report; "" where none was counted."""
    counts: Counter[str] = Counter()
    for link in chain.of("semantic_jsonl"):
        counts.update(link.manifest.stats.get("files_by_parser_rule", {}))
    return f" Rules of the parser report: {_listed(counts)}." if counts else ""


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _scores(chain: Chain) -> str:
    """Return a sentence on the scorer of the recipe, with the hashes of what decides its scores; "" without one."""
    scored = [link.manifest for link in chain.of("curated_files") if link.manifest.stats.get("files_scored")]
    if not scored:
        return ""
    counts: Counter[str] = Counter()
    for manifest in scored:
        counts.update(manifest.stats["files_by_score"])
    hashes = sorted({digest for manifest in scored for digest in manifest.config["scorer_files"]})
    return f" A scorer (sha256 {', '.join(hashes)}) judged {counts.total()} files: {_listed(counts)}."


def _licences(sources: Sequence[Attribution]) -> list[str]:
    """Return addresses of the licences of all repositories and of their files.

    The format requires addresses, not names.
    """
    stated = {name for each in sources for name in names_of(each) if name}
    return sorted({address for name in stated - {UNKNOWN} for address in licence_addresses(name)})


def _names(chain: Chain, split: str) -> list[str]:
    return [entry.name for entry in chain.packed.manifest.files if entry.name.startswith(f"{split}_")]


def _distribution(chain: Chain) -> Iterator[dict[str, Any]]:
    packed = chain.packed
    for entry in packed.manifest.files:
        yield {
            "@type": "cr:FileObject",
            "@id": entry.name,
            "name": entry.name,
            "contentUrl": f"{packed.path}/{entry.name}",
            "contentSize": f"{entry.bytes} B",
            "encodingFormat": _FORMATS[posixpath.splitext(entry.name)[1]],
            "sha256": entry.sha256,
        }
    for split in SPLITS:
        names = _names(chain, split)
        if names:
            yield {
                "@type": "cr:FileSet",
                "@id": f"{split}-files",
                "name": f"{split}-files",
                "containedIn": [{"@id": name} for name in names],
                "encodingFormat": "application/x-parquet",
                "includes": f"{split}_*.parquet",
            }


def _record_set(split: str) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": split,
        "name": split,
        "description": f"Rows of the {split} split.",
        "field": [
            _nested(split, field) if _is_list_of_structs(field.type) else _field(split, field) for field in PACKED
        ],
    }


def _field(split: str, field: pa.Field) -> dict[str, Any]:
    described = {
        "@type": "cr:Field",
        "@id": f"{split}/{field.name}",
        "name": field.name,
        "description": DESCRIPTIONS[field.name],
        "dataType": _data_type(field.type),
        "source": _source(split, field.name),
    }
    return {**described, "repeated": True} if pa.types.is_list(field.type) else described


def _nested(split: str, field: pa.Field) -> dict[str, Any]:
    """Return a field for a list of structures. Each member of the structure becomes a subfield."""
    identity = f"{split}/{field.name}"
    members = [
        {
            "@type": "cr:Field",
            "@id": f"{identity}/{member.name}",
            "name": f"{field.name}/{member.name}",
            "description": f"{member.name}: {DESCRIPTIONS[field.name]}",
            "dataType": _data_type(member.type),
            "source": {**_source(split, field.name), "transform": {"jsonPath": f"$[*].{member.name}"}},
        }
        for member in field.type.value_type
    ]
    described = {"@type": "cr:Field", "@id": identity, "name": field.name, "description": DESCRIPTIONS[field.name]}
    return {**described, "repeated": True, "subField": members}


def _source(split: str, column: str) -> dict[str, Any]:
    return {"fileSet": {"@id": f"{split}-files"}, "extract": {"column": column}}


def _is_list_of_structs(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and pa.types.is_struct(kind.value_type))


def _data_type(kind: pa.DataType) -> str:
    value = kind.value_type if pa.types.is_list(kind) else kind
    return "sc:Integer" if pa.types.is_integer(value) else "sc:Text"
