"""No user, password or query of a URL is ever shown."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.sources.urls import shown_url, without_secrets

_SECRET = "canary-7f3a"


@pytest.mark.parametrize(
    "url",
    ["https://github.com/a/b", "/srv/git/a@b", "git@host:a/b", "sample://sample-expr", "a?b", "gs://b/jsonl/fmt@11.0"],
)
def test_a_url_without_a_secret_is_shown_as_it_is(url: str) -> None:
    assert shown_url(url) == url


@given(st.text(min_size=1), st.text())
def test_no_character_of_a_password_makes_it_visible(before: str, after: str) -> None:
    for url in (f"https://user:{before}{_SECRET}{after}@host/a/b", f"u:{before}{_SECRET}{after}@host:a/b"):
        assert _SECRET not in shown_url(url)


@given(st.text())
@example("@")
@example("token=x@")
def test_no_query_or_fragment_is_shown(before: str) -> None:
    assert shown_url(f"https://host/a?{before}{_SECRET}").startswith("https://")
    assert _SECRET not in shown_url(f"https://host/a?{before}{_SECRET}") + shown_url(f"https://host/a#{_SECRET}")


@pytest.mark.parametrize(
    "url",
    [f"https://u:{_SECRET}@host/a", f"https://host/a?token={_SECRET}", f"ftp://{_SECRET}@h", f"gs://{_SECRET}@b/a"],
)
def test_no_error_shows_the_secret_of_a_url_in_any_of_its_parts(url: str) -> None:
    said = str(SpecError(f"repository {url!r}", expected=url, found=f"fatal: '{url}': gone", do=f"try {url}."))
    assert _SECRET not in said
    assert said.startswith("repository '") and "': gone" in said


def test_words_without_urls_stay_as_they_are() -> None:
    said = "refs/tags/v1 from a@b?c; /data/x y: https://github.com/a/b refs/tags/v1\n"
    assert without_secrets(said) == said
