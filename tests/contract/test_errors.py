"""Tests of error messages: the object, expected, found, and what to do."""

from __future__ import annotations

import inspect

from megacpp_assets.contract import errors


def test_a_message_names_object_expectation_finding_and_remedy() -> None:
    error = errors.SchemaViolation("column x", expected=3, found=0, do="rerun tokenized_parquet")
    assert str(error) == "column x; expected 3; found 0; what to do: rerun tokenized_parquet"
    assert str(errors.SpecError("phase")) == "phase"


def test_every_error_has_one_root_and_says_what_it_means() -> None:
    leaves = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert all(issubclass(kind, errors.MegacppError) and kind.__doc__ for kind in leaves)
