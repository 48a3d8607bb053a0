"""Without extras the package reads; what needs an extra names it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from megacpp_assets.contract.extras import EXTRAS, MissingExtra, missing_extra, require

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
READERS = (
    "cli.audit",
    "cli.files.cache",
    "cli.files.merge",
    "cli.files.verify",
    "cli.lock",
    "cli.view",
    "contract.manifest",
    "defs.home.event_log",
    "lineage.audit",
    "lineage.tokens",
    "loader.chunks",
    "loader.documents",
    "loader.rows",
    "megatron.samples.blend",
    "megatron.merge",
    "megatron.verify",
    "megatron.vocabulary",
    "pipeline.stages",
    "storage.artifact",
    "viewing.find",
    "viewing.page",
    "viewing.terminal",
)
"""What reads rows, Megatron pairs, manifests and audits, below `megacpp_assets`."""
WITHOUT = """
import sys
from importlib import import_module

for name in sys.argv[1].split():
    sys.modules[name] = None  # what an import of a module that is not installed finds
for name in sys.argv[2].split():
    import_module(f"megacpp_assets.{name}")
sys.argv[1:] = sys.argv[3].split()
import_module("megacpp_assets.cli").main()
"""


STAGES = """
import sys

for name in sys.argv[1].split():
    sys.modules[name] = None
from megacpp_assets.contract.extras import MissingExtra
from megacpp_assets.pipeline.stages import STAGES

for stage in STAGES.values():
    try:
        stage.implementation
    except MissingExtra as missing:
        print(stage.name, missing)
"""
"""Prints the stages that do not load without the extras. Any other error of theirs ends it."""
PACKAGE = Path(__file__).parents[2] / "megacpp_assets"
BASE = {re.match(r"\w+", requirement).group().lower() for requirement in PROJECT["dependencies"]}  # type: ignore[union-attr]
"""Modules that are always installed. Each has the name of its package, in lower case."""
UNLISTED = {"absl", "dagster_shared", "licensedcode", "megatron", "transformer_engine_torch"}
"""Modules that the user installs, or that come with a library of an extra and are imported after it."""
ALL = " ".join(module for modules in EXTRAS.values() for module in modules)


def without_extras(readers: str, command: str, missing: str = ALL) -> subprocess.CompletedProcess[str]:
    """`megacpp COMMAND` where the modules of extras are missing, after the readers were imported."""
    words = [sys.executable, "-c", WITHOUT, missing, readers, command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_without_extras_all_that_reads_is_imported() -> None:
    done = without_extras(" ".join(READERS), "audit --help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage" in done.stdout


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("run --until pinned_repos", "build"),
        ("ui", "dagster"),
        ("recipe show", "train"),
        ("recipe check sample", "build"),
    ],
)
def test_a_command_without_its_extra_names_it(command: str, extra: str) -> None:
    done = without_extras("", command)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: extra {extra}\n  expected the module ")
    assert done.stderr.endswith(f"what to do: pip install 'megacpp-assets[{extra}]'\n")


@pytest.mark.parametrize(("library", "extra"), [("torch", "train"), ("rensa", "build")])
def test_a_run_without_a_library_is_rejected_before_its_first_stage(library: str, extra: str, tmp_path: Path) -> None:
    done = without_extras("", f"run --data-root {tmp_path / 'data'}", missing=library)
    assert (done.returncode, done.stderr.splitlines()[:1]) == (1, [f"error: extra {extra}"])
    assert f"expected the module {library}" in done.stderr and f"megacpp-assets[{extra}]" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_package_without_its_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"extra train; expected the module torch; found none") as raised:
        require("build", "train")
    assert isinstance(raised.value, MissingExtra) and raised.value.name == "torch"
    assert str(raised.value.within("here")).startswith("here: extra train; expected the module torch")


def test_every_import_of_the_package_is_of_its_dependencies_or_of_a_named_extra() -> None:
    known = BASE | UNLISTED | sys.stdlib_module_names | {"megacpp_assets"}
    files = [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "sample" / "repos")]
    imported = {name: path for path in files for name in _imports(ast.parse(path.read_text()))}
    optional = {name: path for name, path in imported.items() if name.partition(".")[0] not in known}
    assert "rensa" in optional and "torch" in optional
    named = {name: missing_extra(ModuleNotFoundError(name=name)) for name in optional}
    assert {name: optional[name] for name, missing in named.items() if missing is None} == {}


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # What is imported from google.cloud is itself a module, and google.cloud is of more than one extra.
            yield from (
                (f"google.cloud.{alias.name}" for alias in node.names)
                if node.module == "google.cloud"
                else (node.module,)
            )


def test_a_stage_without_its_extra_names_it() -> None:
    done = subprocess.run([sys.executable, "-c", STAGES, ALL], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    named = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert {"curated_files", "semantic_jsonl", "tokenizer", "tokenized_parquet"} <= named.keys()
    assert all("pip install 'megacpp-assets[build]'" in words for words in named.values())


def test_a_failed_import_that_no_extra_explains_stays_what_it_is() -> None:
    assert missing_extra(ModuleNotFoundError("No module named 'x'", name="x")) is None
    assert missing_extra(ModuleNotFoundError("No module named 'torchvision'", name="torchvision")) is None
    found = missing_extra(ModuleNotFoundError("No module named 'google.cloud.storage'", name="google.cloud.storage"))
    assert found is not None and "megacpp-assets[gcs]" in str(found)


def test_every_extra_that_is_named_exists() -> None:
    assert EXTRAS.keys() <= PROJECT["optional-dependencies"].keys()
    assert (Path(__file__).parents[2] / "megacpp_assets" / "py.typed").is_file()
