"""What of a URL may be shown: neither user nor password nor query ever reaches an error, a log, an event or a file."""

from __future__ import annotations

import re

_WORD = re.compile(r"\S+")
_QUERY = re.compile(r"[?#]")
_HIDDEN = "…"


def shown_url(url: str) -> str:
    """Return `url` without what may be a secret, whatever characters that is made of."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        # Git's short form, USER@HOST:PATH.
        user, at, place = url.rpartition("@")
        return f"{_HIDDEN}@{place}" if at and ":" in user else url
    if scheme == "gs" and "@" not in rest.partition("/")[0] and not _QUERY.search(rest):
        # The name of an object, such as references/jsonl/sample/fmt@11.0.0.
        return url
    user, at, place = rest.rpartition("@")
    if scheme.endswith("ssh") and re.fullmatch(r"\w+", user):
        # A user alone is no secret of ssh, as it may be of https.
        return url
    if _QUERY.search(user):
        # A password with a "?" and a query with an "@" look alike: the secret may be on either side.
        return f"{scheme}://{_HIDDEN}"
    plain, *query = _QUERY.split(place, maxsplit=1)
    return f"{scheme}://{_HIDDEN + '@' if at else ''}{plain}{'?' + _HIDDEN if query and query[0] else ''}"


def without_secrets(text: str) -> str:
    """Return a message with each URL in it as `shown_url` would have it; for words that come from elsewhere, as
    git's do.
    """
    return _WORD.sub(lambda word: _shown_word(word[0]), text)


def _shown_word(word: str) -> str:
    """Quotes and punctuation that close the word are the message's own."""
    bare = word.rstrip("'\").,;:")
    return shown_url(bare) + word[len(bare) :] if "://" in bare else word
