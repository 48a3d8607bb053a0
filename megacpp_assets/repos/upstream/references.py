"""Asks a source for its tags and branches, within limits of size and time, because the source may be hostile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import OverLimit, SourceUnreachable
from megacpp_assets.repos.git import GitFailed, RecordTooLong, git_records
from megacpp_assets.repos.sources import advice, source_url

MOST_REFERENCES: Final = 1_000_000
"""Linux has 900 tags. LLVM has 200,000 references, most of them of pull requests."""
_LONGEST: Final = 4096
_SECONDS: Final = 50
"""Dagster allows 60 seconds for a sensor's tick."""
PEELED: Final = "^{}"
"""The suffix that git adds to an annotated tag in the line with the object that it finally names."""


def named_references(url: str, root: Path, *names: str) -> dict[str, str]:
    """Return the object ids of those of `names` that the source has, and of what tags among them point to.

    Raises what `remote_references` raises.
    """
    wanted = {form for name in names for form in (name, f"{name}{PEELED}")}
    return {name: commit for name, commit in remote_references(url, root) if name in wanted}


def remote_references(url: str, root: Path, *only: str) -> Iterator[tuple[str, str]]:
    """Yield (name, object id) of each reference of the source. What a tag points to comes after the tag.

    `only` are options of `git ls-remote` such as `--tags`. Raises `SourceUnreachable` if the source does not answer in
    time, `OverLimit` if it has more than `MOST_REFERENCES`.
    """
    source = source_url(url, root)
    listing = git_records("ls-remote", *only, "--", source, longest=_LONGEST, ending=b"\n", seconds=_SECONDS)
    try:
        for count, line in enumerate(listing):
            if count >= MOST_REFERENCES:
                raise OverLimit(
                    f"repository {url}",
                    expected=f"at most {MOST_REFERENCES:,} references",
                    found="more",
                    do="make a mirror of the references that are wanted, and name it with megacpp repos add",
                )
            commit, _, name = line.decode(errors="replace").partition("\t")
            yield name, commit
    except (GitFailed, RecordTooLong) as error:
        raise SourceUnreachable(
            f"repository {url}",
            expected=f"an answer from {source}",
            found=error.cause,
            do=advice(url, str(error)),
        ) from error


def commit_of(git_ref: str, references: Mapping[str, str]) -> str | None:
    """Return the commit that `git_ref` names, also through an annotated tag; None if it does not exist."""
    return references.get(f"{git_ref}{PEELED}") or references.get(git_ref)
