"""Partitions: dynamic `repo@ref` keys for repository stages, specialist x phase for mixtures."""

from __future__ import annotations

import dagster as dg

from megacpp_assets.contract.names import PHASE_ROW_TOKENS
from megacpp_assets.contract.partition import Mixture, RepoRef

SPECIALISTS = (
    "base", "compilers", "templates", "systems", "small_cpp", "testing", "commons", "performance", "services",
)  # fmt: skip
"""The nine models of the family (seed 002)."""

REPO_REFS = dg.DynamicPartitionsDefinition(name="repo_ref")
MIXTURES = dg.MultiPartitionsDefinition(
    {
        "phase": dg.StaticPartitionsDefinition(list(PHASE_ROW_TOKENS)),
        "specialist": dg.StaticPartitionsDefinition(list(SPECIALISTS)),
    }
)


def mixture_key(mixture: Mixture) -> dg.MultiPartitionKey:
    """The Dagster key of a mixture."""
    return dg.MultiPartitionKey({"phase": mixture.phase, "specialist": mixture.specialist})


def mixture_of(key: str) -> Mixture:
    """Inverse of `mixture_key`, from the key's text `PHASE|SPECIALIST`."""
    phase, _, specialist = key.partition("|")
    return Mixture(specialist, phase)


def register(instance: dg.DagsterInstance, repos: tuple[RepoRef, ...]) -> None:
    """Make `repos` known to Dagster; keys it knows already are left alone."""
    known = set(instance.get_dynamic_partitions("repo_ref"))
    missing = [repo.key for repo in repos if repo.key not in known]
    if missing:
        instance.add_dynamic_partitions("repo_ref", missing)
