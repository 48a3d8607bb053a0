"""Tests of error messages: the object, expected, found, and what to do."""

from __future__ import annotations

import ast
import errno
import inspect
import re
import tempfile
from pathlib import Path

import pytest

import megacpp_assets
from megacpp_assets.contract import errors


def test_a_message_names_object_expectation_finding_and_remedy() -> None:
    error = errors.SchemaViolation("column x", expected=3, found=0, do="rerun tokenized_parquet")
    assert str(error) == "column x; expected 3; found 0; what to do: rerun tokenized_parquet"
    assert str(errors.SpecError("phase")) == "phase"


def test_a_terminal_shows_each_part_on_its_own_line_and_the_closest_name_first() -> None:
    error = errors.SpecError.unknown("phase", "16", ["4k", "16k"], "see the recipe")
    assert error.lines().splitlines() == [
        "phase '16'", "  did you mean `16k`?", "  found an unknown name", "  what to do: see the recipe",
    ]  # fmt: skip
    assert "one of 4k, 64k" in str(errors.SpecError.unknown("phase", "structure", ["4k", "64k"]))


def test_an_unknown_name_among_none_or_very_many_is_reported_in_one_short_sentence() -> None:
    error = errors.SpecError.unknown("dataset", "mine", [], "megacpp run")
    assert str(error) == "dataset 'mine'; expected a name that exists; found none at all; what to do: megacpp run"
    many = [f"{number:03}" for number in range(100)]
    said = str(errors.SpecError.unknown("repository", "zzz", many))
    assert said.endswith("022, 023, … (100 names); found an unknown name; what to do: correct the name")


def test_an_error_within_another_keeps_its_parts_and_drops_its_advice() -> None:
    inner = errors.SourceUnreachable("git fetch", found="https://u:secret@x/y", do="check the network")
    assert "secret" not in inner.cause and "what to do" not in inner.cause
    assert str(inner.within("repo a")).startswith("repo a: git fetch; found ")
    assert inner.within("repo a", "another").do == "check the network"
    assert errors.SpecError("key").within("recipe", "correct it").do == "correct it"


def test_a_full_disk_whose_file_the_system_does_not_name_is_found_by_the_free_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("MEGACPP_DATA_ROOT", "/")
    said = str(errors.disk_failure(OSError(errno.ENOSPC, "No space left on device")))
    assert re.search(rf"found No space left on device: {tmp_path} has [\d,]+ MB, / has [\d,]+ MB; what to do: ", said)


def test_every_error_has_one_root_and_a_docstring() -> None:
    leaves = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert all(issubclass(kind, errors.MegacppError) and kind.__doc__ for kind in leaves)


@pytest.mark.parametrize("folder", ["cli", "estimate", "interop", "pipeline", "repos", "ui", "viewing"])
def test_every_error_near_the_user_says_what_to_do(folder: str) -> None:
    """`unknown` has an advice by default; `within` and `cause` keep the one of the error inside."""
    kinds = {
        name for name, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.MegacppError)
    }
    silent = []
    for path in sorted((Path(megacpp_assets.__file__).parent / folder).rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in kinds:
                silent += [] if "do" in {each.arg for each in call.keywords} else [(path.name, call.lineno)]
    assert not silent


@pytest.mark.parametrize(("name", "proposed"), [("fnt", "fmt"), ("gpu", ""), ("fmtt", "fmt"), ("XL", "L")])
def test_for_a_short_name_only_one_with_the_same_first_letter_or_a_part_of_it_is_proposed(
    name: str, proposed: str
) -> None:
    assert errors.closest_name(name, iter(["fmt", "tpu", "L"])) == proposed
