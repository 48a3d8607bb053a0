"""Which examples hypothesis tries: `make test` tries the same ones in every run, `make fuzz` tries new ones."""

from __future__ import annotations

from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

FIXED, FREE = "megacpp", "fuzz"


def register_profiles() -> None:
    """Register both profiles and load the fixed one; `--hypothesis-profile=fuzz` replaces it."""
    settings.register_profile(FIXED, deadline=None, derandomize=True, database=None, max_examples=50)
    settings.register_profile(FREE, deadline=None, derandomize=False, max_examples=200, print_blob=True)
    settings.load_profile(FIXED)


def ignore_loaded_modules() -> None:
    """Keep hypothesis from taking constants out of the modules that are loaded.

    It mixes them into what it draws. Which modules are loaded depends on the tests that ran before in the same
    process, so that a derandomized test would still draw other examples in another order of tests.
    """
    if not hasattr(providers, "_get_local_constants"):
        raise AttributeError("hypothesis has no providers._get_local_constants: see how this version finds constants")
    providers._get_local_constants = Constants
