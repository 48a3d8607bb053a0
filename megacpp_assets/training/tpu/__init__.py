"""The model and its step on TPUs, by JAX: the weights, names and checkpoints are those of the other devices."""

from __future__ import annotations

from importlib.util import find_spec

from megacpp_assets.contract.errors import EnvironmentLacks


def require_jax(what: str) -> None:
    """`EnvironmentLacks` where the extra that `what` needs is not installed."""
    if find_spec("jax") is None:
        do = "pip install 'megacpp-assets[tpu]'"
        raise EnvironmentLacks(what, expected="JAX and libtpu", found="no module jax", do=do)
