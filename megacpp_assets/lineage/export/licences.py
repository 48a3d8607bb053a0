"""The repositories that a checkpoint was trained on and their licences: a list to publish with the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megacpp_assets.contract.manifest import Manifest
from megacpp_assets.lineage.export.facts import Chain, Link
from megacpp_assets.repos.licensing.licences import UNKNOWN


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
    curated = {link.manifest.partition: link.manifest for link in chain.of("curated_files")}
    return [_attribution(link, curated.get(link.manifest.partition), stats) for link in chain.of("pinned_repos")]


def names_of(found: Attribution) -> tuple[str, ...]:
    """Return the licences of a repository: those of its files, and its own unless it is unknown beside theirs."""
    own = () if found.license == UNKNOWN and found.file_licenses else (found.license,)
    return (*own, *found.file_licenses)


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
    for license_ in sorted({name for each in found for name in names_of(each)}):
        users = [each for each in found if license_ in names_of(each)]
        yield f"\n## {license_ or 'no licence stated'}\n"
        yield from (f"- {each.name} {each.ref}, commit {each.commit}" for each in users)


def _file_licences(raw: Manifest, curated: Manifest | None) -> tuple[str, ...]:
    """Return the licences of the files of a repository that the recipe's lists of licences permit.

    Only the tokenizer read a repository that was not curated. It read files of every licence.
    """
    if curated is None or "licenses" not in curated.stats:
        return tuple(raw.stats.get("licenses", ()))
    allowed, denied = (tuple(curated.config.get(key, ())) for key in ("licenses_allowed", "licenses_denied"))
    names = sorted(curated.stats["licenses"])
    if not allowed and not denied:
        return tuple(names)
    # Imported here: it needs a library, which the exports of other recipes do not.
    from megacpp_assets.curation.licensing.policy import LicencePolicy  # noqa: PLC0415

    return tuple(filter(LicencePolicy(allowed, denied).permits, names))


def _attribution(link: Link, curated: Manifest | None, stats: object) -> Attribution:
    config, key = link.manifest.config, link.manifest.partition
    counts = stats if isinstance(stats, dict) else {}
    return Attribution(
        name=str(config["name"]),
        ref=str(config["ref"]),
        commit=str(config["commit"]),
        license=str(config.get("license", "")),
        file_licenses=_file_licences(link.manifest, curated),
        documents=int(counts.get("documents_per_repo", {}).get(key, 0)),
        tokens=int(counts.get("tokens_per_repo", {}).get(key, 0)),
    )
