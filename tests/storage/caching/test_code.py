"""The identity of code covers whatever a module imports of this package, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from megacpp_assets.storage.caching.code import code_identity, imported


def test_indirect_imports_and_native_code_are_found() -> None:
    """A file that reads includes stood on no list, though it decides which header a unit gets."""
    found = imported("megacpp_assets.semantic.parsing.parse")
    for name in (
        "parsing.worker",
        "parsing.batches",
        "parsing.stored.unit_entry",
        "tree.includes",
        "commands.arguments",
    ):
        assert found[f"megacpp_assets.semantic.{name}"].suffix == ".py"
    assert found["megacpp_assets.semantic._visitor"].suffix == ".so"
    assert {name.partition(".")[0] for name in found} == {"megacpp_assets"}
    assert not [name for name in found if name.startswith("megacpp_assets.cli")]


def test_a_change_in_an_imported_module_changes_the_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of the package that lie elsewhere, so that one can change."""
    package = tmp_path / "throwaway"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "top.py").write_text("from megacpp_assets.throwaway import below\n")
    (package / "below.py").write_text("import json\nVALUE = 1\n")
    (package / "beside.py").write_text("VALUE = 1\n")
    import megacpp_assets

    monkeypatch.setattr(megacpp_assets, "__path__", [*megacpp_assets.__path__, str(tmp_path)])

    def identity() -> str:
        code_identity.cache_clear()
        return code_identity("megacpp_assets.throwaway.top")

    try:
        before = identity()
        (package / "beside.py").write_text("VALUE = 2\n")
        assert identity() == before
        (package / "below.py").write_text("import json\nVALUE = 2\n")
        assert identity() != before
    finally:
        code_identity.cache_clear()
        for name in [name for name in sys.modules if name.startswith("megacpp_assets.throwaway")]:
            del sys.modules[name]
