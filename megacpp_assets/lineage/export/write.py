"""Writes all exports of a checkpoint into a folder.

They are made from manifests and the record of losses, so equal chains give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.lineage.export.attestations import attestation, signing_key
from megacpp_assets.lineage.export.card import dataset_card
from megacpp_assets.lineage.export.events import run_events
from megacpp_assets.lineage.export.facts import Chain, Link, read_chain
from megacpp_assets.lineage.export.licences import licence_list
from megacpp_assets.lineage.export.page import audit_page
from megacpp_assets.lineage.history import KnownManifest, ManifestHistory
from megacpp_assets.storage.artifact import open_artifact
from megacpp_assets.storage.atomic import write_atomic
from megacpp_assets.training.checkpoints.record import StepMetrics, read_metrics

EVENTS: Final = "openlineage.jsonl"
CARD: Final = "croissant.json"
LICENCES: Final = "LICENCES.md"
PAGE: Final = "audit.html"
ATTESTATIONS: Final = "attestations"


def write_exports(history: ManifestHistory, checkpoint: KnownManifest, folder: Path) -> list[str]:
    """Write every export of `checkpoint` below `folder` and return their names. Existing files are replaced.

    Nothing is written if an error is raised:
        LineageGap: a manifest of the chain is missing.
        EnvironmentLacks: the signing key is unusable.
        SpecError: `folder` is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise SpecError(f"--export {folder}", expected="a folder", found="a file", do="name another path")
    chain = read_chain(history, checkpoint)
    files = dict(_files(chain))
    files[PAGE] = _page(history, checkpoint, chain, sorted(files))
    for name in sorted(files):
        write_atomic(folder / name, files[name])
    return sorted(files)


def page_of(history: ManifestHistory, checkpoint: KnownManifest) -> bytes:
    """Return the audit page of `checkpoint` without the other exports. Raises `LineageGap` if a manifest is missing."""
    return _page(history, checkpoint, read_chain(history, checkpoint), [])


def _page(history: ManifestHistory, checkpoint: KnownManifest, chain: Chain, listed: Sequence[str]) -> bytes:
    return audit_page(chain, _losses(history, chain.checkpoint, checkpoint), listed)


def _files(chain: Chain) -> Iterator[tuple[str, bytes]]:
    yield EVENTS, run_events(chain)
    yield CARD, dataset_card(chain)
    yield LICENCES, licence_list(chain)
    key = signing_key()
    suffix = ".intoto.dsse.json" if key is not None else ".intoto.json"
    for link in chain.links:
        yield f"{ATTESTATIONS}/{link.path}{suffix}", attestation(link, key)


def _losses(history: ManifestHistory, link: Link, made: KnownManifest) -> Sequence[StepMetrics]:
    """Return the losses of a checkpoint, from a file that is compared with the manifest; empty if it was removed."""
    return read_metrics(open_artifact(history.root, link.path)) if history.is_on_disk(made) else []
