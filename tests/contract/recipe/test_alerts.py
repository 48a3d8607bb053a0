"""Tests of the section `[alerts]`: what cannot be a hook is rejected by its key."""

from __future__ import annotations

from typing import Any

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.alerts import AlertsRecipe


@pytest.mark.parametrize(
    ("key", "value"),
    [("seconds", 0), ("seconds", 61), ("command", ("",)), ("webhook", "http://example.org/x"),
     ("webhook", "ftp://example.org/x"), ("webhook", "https://"), ("webhook", "https://host:port/"),
     ("webhook", "https://me:secret@example.org/x"), ("webhook", "https://example.org/x?key=secret"),
     ("webhook", "$not a name"), ("webhook", "file:///etc/passwd")],
)  # fmt: skip
def test_a_hook_that_cannot_be_is_rejected_by_its_key_without_what_may_be_a_secret(key: str, value: Any) -> None:
    with pytest.raises(SpecError, match=rf"^alerts\.{key}; expected .*; found ") as raised:
        AlertsRecipe(**{key: value})
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("webhook", ["", "$ALERTS_URL", "https://example.org/hook", "http://127.0.0.1:8080/hook"])
def test_an_address_without_secrets_or_the_name_of_a_variable_is_accepted(webhook: str) -> None:
    assert AlertsRecipe(webhook=webhook).is_set == bool(webhook)
