"""Other spellings of recipe keys: the names that the flags of the seed documents have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.training import TREE_STEPS

_SECTION: Final = "training"
FLAGS: Final = {
    "relation_bias_enabled": ("relation_bias", False, True),
    "platform_embed_enabled": ("platform_embedding", False, True),
    "tree_ffn_enabled": ("tree_steps", 0, TREE_STEPS),
}
"""Flag of the section `training` -> our key, and its value where the flag is false and where it is true."""


def with_own_spellings(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a recipe with our keys in place of the flags.

    `SpecError` for a flag beside the key that it stands for, or that is neither true nor false.
    """
    section = raw.get(_SECTION)
    if not isinstance(section, dict):
        return dict(raw)
    own = dict(section)
    for flag in FLAGS.keys() & section.keys():
        key, value = own_spelling(f"{_SECTION}.{flag}", own.pop(flag))
        name = key.rpartition(".")[2]
        if name in section:
            found = f"{section[flag]} and {section[name]}"
            raise SpecError(
                f"{_SECTION}.{flag}", expected=f"only one of {flag} and {key}", found=found, do="leave one of them out"
            )
        own[name] = value
    return {**raw, _SECTION: own}


def own_spelling(key: str, value: object) -> tuple[str, object]:
    """Return the dotted key and value that `key` and `value` stand for; any other key than a flag as it is."""
    section, _, flag = key.rpartition(".")
    if section != _SECTION or flag not in FLAGS:
        return key, value
    if not isinstance(value, bool):
        raise SpecError(key, expected="true or false", found=repr(value))
    name, off, on = FLAGS[flag]
    return f"{_SECTION}.{name}", on if value else off
