"""The optional parts of the package: their libraries, and the error for a library that is not installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from megacpp_assets.contract.errors import EnvironmentLacks

EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "build": (
        "charset_normalizer",
        "clang",
        "dbt",
        "detect_secrets",
        "duckdb",
        "ijson",
        "license_expression",
        "msgpack",
        "packaging",
        "pebble",
        "regex",
        "rensa",
        "tokenizers",
        "tree_sitter",
        "tree_sitter_cpp",
    ),
    "dagster": ("dagster", "dagster_webserver", "graphql", "starlette", "uvicorn"),
    "postgres": ("dagster_postgres", "psycopg2"),
    "train": ("safetensors", "torch"),
    "export": ("cryptography", "google.protobuf", "in_toto_attestation", "openlineage"),
    "gcs": ("dagster_gcp", "google.auth", "google.cloud", "google.api_core", "google_crc32c", "requests"),
    "kubernetes": ("kubernetes", "urllib3", "yaml"),
    "tpu": ("jax",),
    "grain": ("grain",),
    "gpu": ("wgpu",),
    "dask": ("dask", "distributed"),
    "tensorboard": ("tensorboardX",),
}
"""Extra of pyproject.toml -> the modules that it installs. A module is listed at the first extra that installs it."""


class MissingExtra(EnvironmentLacks, ModuleNotFoundError):
    """A library of an extra that is not installed. Callers may catch it as an ImportError."""

    def __str__(self) -> str:
        """Return the parts of the error; ImportError would return the text of its constructor."""
        return "; ".join(self._parts())


def require(*extras: str) -> None:
    """Raise `MissingExtra` for the first module of these extras that is not installed. No module is imported."""
    for extra in extras:
        for module in EXTRAS[extra]:
            # The parent of a dotted name would be imported to look for it.
            if find_spec(module.partition(".")[0]) is None:
                raise _error(extra, module)


def import_or_name_extra(name: str) -> ModuleType:
    """Import a module of this package. `MissingExtra` if it needs a library of an extra that is not installed."""
    try:
        return import_module(name)
    except MissingExtra:
        raise
    except ModuleNotFoundError as error:
        if missing := missing_extra(error):
            raise missing from error
        raise


def missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the error that names the extra of the module that was not found; None if no extra brings that module."""
    name = error.name or ""
    for extra, modules in EXTRAS.items():
        if any(name == module or name.startswith(f"{module}.") or module.startswith(f"{name}.") for module in modules):
            return _error(extra, name)
    return None


def _error(extra: str, module: str) -> MissingExtra:
    do = f"pip install 'megacpp-assets[{extra}]'"
    error = MissingExtra(f"extra {extra}", expected=f"the module {module}", found="none", do=do)
    error.name = module
    return error
