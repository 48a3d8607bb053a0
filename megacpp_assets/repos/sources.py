"""Decides where a repository is fetched from: its own URL, a mirror (`MEGACPP_GIT_MIRROR`), a local path or the
sample.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.sources.urls import shown_url

MIRROR_VARIABLE = "MEGACPP_GIT_MIRROR"
SAMPLE_SCHEME = "sample://"
SAMPLE_DIRECTORY = "sample_git"

_SSH = re.compile(r"ssh://|git\+ssh://|[^/]+:(?!//)")
"""Matches also git's short form HOST:PATH: a colon before the first slash."""
_NO_SSH = "ssh:// needs credentials, which are off here: give the https:// URL, a local clone's path, or a mirror"
_NO_CREDENTIALS = (
    "no credentials are taken, in no place of a URL: give the plain URL, a local clone's path, or a mirror"
)
_HTTPS = re.compile(r"https://(?P<host>[A-Za-z0-9.-]+(?::\d+)?)/(?P<path>[A-Za-z0-9._/+-]+)")


def source_url(url: str, root: Path) -> str:
    """Return what git fetches from. `SpecError` for a scheme other than https, a local path or the sample."""
    if url.startswith(SAMPLE_SCHEME):
        return str(root / SAMPLE_DIRECTORY / f"{url.removeprefix(SAMPLE_SCHEME)}.git")
    if local := local_path(url):
        return str(local)
    mirror = os.environ.get(MIRROR_VARIABLE)
    path = _https_path(url)
    return _mirrored(mirror, path) if mirror else url


def require_known_scheme(url: str, what: str = "repository URL") -> None:
    """Raise `SpecError` that names `what` unless `url` is an https URL, an absolute path or of the sample."""
    if not url.startswith(SAMPLE_SCHEME) and local_path(url) is None:
        _https_path(url, what)


def owner_of(url: str) -> str | None:
    """Return HOST/OWNER of an https URL, with groups of the owner; HOST if it has no owner; None for other URLs."""
    match = _HTTPS.fullmatch(url)
    if match is None or ".." in url:
        return None
    owner = match["path"].removesuffix("/").rpartition("/")[0]
    return f"{match['host'].lower()}/{owner}".removesuffix("/")


_ANSWERS = (
    (re.compile(r"error: 30[1278]\b"), "the repository has moved: write its new address as url into the catalogue"),
    (
        re.compile(r"error: 40[13]\b|could not read Username|Authentication failed"),
        "the source needs an account or hides the repository: clone it with git, and give that folder as its url",
    ),
    (
        re.compile(r"repository '[^']*' not found|error: 4(?:04|10)\b"),
        "the repository has vanished: correct its url in the catalogue, or leave it out",
    ),
    (
        re.compile(r"corruption on the remote side|remote: fatal: (?:unable to read|bad object|missing blob)"),
        "the source lacks objects, as a partial or damaged clone does: clone it without --filter and --depth",
    ),
    (
        re.compile(r"invalid index-pack output"),
        "git ended while it wrote: free room on the data root's disk, or raise the limit of file sizes (ulimit -f)",
    ),
)
"""What git says of a repository that moved, needs an account, vanished or lacks objects, or of its own end, and what to
do. Git follows no redirect here, as it may lead anywhere.
"""


def advice(url: str, said: str = "") -> str:
    """Return what a user can do if `url` does not answer, or `said` (git's own words) in place of a repository."""
    for words, found in _ANSWERS:
        if words.search(said):
            return found
    if local_path(url):
        return "correct the path in the command or in the catalogue, or clone the repository to that folder"
    if os.environ.get(MIRROR_VARIABLE):
        return f"check the network, and that the mirror of {MIRROR_VARIABLE} has the repository; or unset the variable"
    return f"check the network, or set {MIRROR_VARIABLE} to a mirror template such as /srv/git/{{owner}}/{{name}}"


def given_url(text: str) -> str:
    """Return a URL that a person typed: a URL unchanged (also git's HOST:PATH), anything else as an absolute path."""
    return text if "://" in text or _SSH.match(text) else str(Path(text).resolve())


def local_path(url: str) -> Path | None:
    """Return the directory of this machine that `url` names, or None."""
    if url.startswith("file://"):
        url = url.removeprefix("file://")
    return Path(url) if url.startswith("/") else None


def _https_path(url: str, what: str = "repository URL") -> str:
    match = _HTTPS.fullmatch(url)
    if match is not None and ".." not in url:
        return match["path"]
    do = _NO_SSH if _SSH.match(url) else ""
    if shown_url(url) != url:
        do = _NO_CREDENTIALS
    raise SpecError(what, expected="https://HOST/OWNER/NAME or an absolute path", found=repr(shown_url(url)), do=do)


def _mirrored(template: str, path: str) -> str:
    owner, _, name = path.removesuffix(".git").rpartition("/")
    found = shown_url(template)
    try:
        url = template.format(owner=owner, name=name)
    except (KeyError, IndexError, ValueError) as error:
        example = "/srv/git/{owner}/{name}"
        raise SpecError(
            MIRROR_VARIABLE,
            expected=f"a template such as {example}",
            found=found,
            do="correct the variable, or unset it",
        ) from error
    if local_path(url) is None and _HTTPS.fullmatch(url) is None:
        do = _NO_CREDENTIALS if found != template else ""
        raise SpecError(MIRROR_VARIABLE, expected="an absolute path or an https URL", found=found, do=do)
    return url
