"""The repositories that a checkpoint was trained on and their licences: a list to publish with the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megacpp_assets.lineage.export.facts import Chain, Link


@dataclass(frozen=True, slots=True)
class Attribution:
    """A repository at a commit, its licences, and the number of training documents and tokens from it."""

    name: str
    ref: str
    commit: str
    license: str
    file_licenses: Sequence[str]
    documents: int
    tokens: int


def attributions(chain: Chain) -> list[Attribution]:
    """Return each repository of the chain. A repository that only the tokenizer was trained on has 0 documents."""
    stats = chain.packed.manifest.stats
    return [_attribution(link, stats) for link in chain.of("pinned_repos")]


def licence_list(chain: Chain) -> bytes:
    """Markdown: a table of repositories, then each licence with the repositories that use it."""
    return ("\n".join(_lines(chain)) + "\n").encode()


def _lines(chain: Chain) -> Iterator[str]:
    found = attributions(chain)
    yield f"# Sources of {chain.checkpoint.path}\n"
    yield f"manifest {chain.checkpoint.sha256}\n"
    yield "| repository | reference | commit | licence | licences of its files | documents | tokens |"
    yield "|---|---|---|---|---|---:|---:|"
    for each in found:
        files = ", ".join(each.file_licenses)
        counts = f"{each.documents:,} | {each.tokens:,}"
        yield f"| {each.name} | {each.ref} | `{each.commit}` | {each.license} | {files} | {counts} |"
    for license_ in sorted({name for each in found for name in (each.license, *each.file_licenses)}):
        users = [each for each in found if license_ in (each.license, *each.file_licenses)]
        yield f"\n## {license_ or 'no licence stated'}\n"
        yield from (f"- {each.name} {each.ref}, commit {each.commit}" for each in users)


def _attribution(link: Link, stats: object) -> Attribution:
    config, key = link.manifest.config, link.manifest.partition
    counts = stats if isinstance(stats, dict) else {}
    return Attribution(
        name=str(config["name"]),
        ref=str(config["ref"]),
        commit=str(config["commit"]),
        license=str(config.get("license", "")),
        file_licenses=tuple(link.manifest.stats.get("licenses", ())),
        documents=int(counts.get("documents_per_repo", {}).get(key, 0)),
        tokens=int(counts.get("tokens_per_repo", {}).get(key, 0)),
    )
