"""Compares the releases of a repository upstream with those that a dataset knows: new, known, or moved since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.pipeline.pins.references import References
from megacpp_assets.repos.pins import pin_at
from megacpp_assets.repos.upstream.tags import upstream_tags, version_order

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Moved:
    """A known tag that names another commit upstream now. Artifacts of the pinned commit do not change."""

    pin: RepoPin
    commit: str

    def __str__(self) -> str:
        return (
            f"{self.pin.partition.key}: moved upstream; expected the pinned commit {self.pin.commit}; found "
            f"{self.commit}; what to do: ask upstream why; the data of the pinned commit stays and nothing is made of "
            f"the other one until it is added under its own id, {self.pin.name}@{self.commit}"
        )


@dataclass(frozen=True, slots=True)
class Releases:
    """The releases of one repository; each list is in the order of versions."""

    new: list[RepoPin] = field(default_factory=list)
    known: list[RepoPin] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)

    @property
    def pins(self) -> tuple[RepoPin, ...]:
        """Return the pins of all releases that may be built, by version. Known ones keep their commits."""
        return tuple(sorted((*self.known, *self.new), key=lambda pin: version_order(pin.ref)))


def find_releases(corpus: Corpus, name: str, patterns: Sequence[str]) -> Releases:
    """Find the releases of the repository `name` whose tags match one of `patterns` (`11.*`, as in a shell).

    Raises `SpecError` for a repository that the dataset lacks or patterns without a release, and the errors of asking
    upstream.
    """
    if not patterns:
        do = "write for example --tags '11.*', or '*' for all releases"
        raise SpecError("--tags", expected="a pattern", found="none", do=do)
    corpus.lock.pin(name)
    entry = References.of(corpus.root, corpus.recipe, corpus.lock).entry(name)
    tags = upstream_tags(entry, corpus.root)
    found = Releases()
    for tag in tags:
        if any(fnmatchcase(tag.name, pattern) for pattern in patterns):
            _sort(found, pin_at(entry, tag.name, git_ref=tag.git_ref, commit=tag.commit), corpus)
    if not (found.pins or found.moved):
        newest = ", ".join(tag.name for tag in tags[-_SHOWN:]) or "none at all"
        raise SpecError(
            f"tags {', '.join(map(repr, patterns))} of {name}",
            expected=f"patterns of its releases upstream, the newest of which are {newest}",
            found="no release of that name",
            do="correct --tags, or tags in the repository's catalogue entry, which says what is a release",
        )
    return found


def later_than(read: RepoPin, pins: Sequence[RepoPin]) -> list[RepoPin]:
    """Return those of `pins` whose version is above the version of the pin that mixtures read."""
    return [pin for pin in pins if version_order(pin.ref) > version_order(read.ref)]


def _sort(found: Releases, pin: RepoPin, corpus: Corpus) -> None:
    known = corpus.lock.find(pin.partition)
    if known is None:
        found.new.append(pin)
    elif known.commit == pin.commit:
        found.known.append(known)
    else:
        found.moved.append(Moved(known, pin.commit))
