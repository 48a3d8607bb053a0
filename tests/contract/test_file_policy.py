"""Every word has its policy, and a repository with one file of each kind records exactly those words."""

from __future__ import annotations

from megacpp_assets.contract.sources import file_policy

WORDS = {
    value
    for name, value in vars(file_policy).items()
    if name.isupper() and isinstance(value, str)
}  # fmt: skip


def test_each_word_has_a_policy_and_each_policy_a_word() -> None:
    assert set(file_policy.POLICY) == WORDS
    assert all(file_policy.POLICY.values())
