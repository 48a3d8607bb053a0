"""Running `megacpp` in this process, as its entry point does."""

from __future__ import annotations

import sys

import pytest

from megacpp_assets.cli import main


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    """The exit code of `megacpp ARGUMENTS`."""
    monkeypatch.setattr(sys, "argv", ["megacpp", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code
