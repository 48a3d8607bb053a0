"""The peers of hygiene: detect-secrets with all of its default plugins, and datatrove's MinHash pipeline.

datatrove is no dependency; benchmarks/README.md says how it is brought to an environment of its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from detect_secrets.core.scan import scan_line
from detect_secrets.settings import transient_settings

from megacpp_assets.curation.copies import BANDS, ROWS

HAS_DATATROVE = find_spec("datatrove") is not None
ENTROPY = frozenset({"Base64HighEntropyString", "HexHighEntropyString"})
"""Plugins that report every table of constants; we do not run them."""


def datatrove_name() -> str:
    """Return name and version of the peer."""
    return f"datatrove {version('datatrove')}"


def datatrove_near_duplicates(texts: Sequence[str]) -> int:
    """Run signatures, buckets, clusters and the filter over `texts`; return how many texts the filter keeps."""
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
    )
    from loguru import logger

    logger.remove()
    config = MinhashConfig(n_grams=5, num_buckets=BANDS, hashes_per_bucket=ROWS)
    documents = [Document(text=text, id=str(number)) for number, text in enumerate(texts)]
    kept: list[Document] = []

    def keep(data: Iterator[Document], rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        for document in data:
            kept.append(document)
            yield document

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        signatures, buckets, removed = (str(folder / part) for part in ("signatures", "buckets", "removed"))
        steps = (
            (1, [documents, MinhashDedupSignature(output_folder=signatures, config=config, language="eng")]),
            (BANDS, [MinhashDedupBuckets(input_folder=signatures, output_folder=buckets, config=config)]),
            (1, [MinhashDedupCluster(input_folder=buckets, output_folder=removed, config=config)]),
            (1, [documents, MinhashDedupFilter(input_folder=removed), keep]),
        )
        for number, (tasks, pipeline) in enumerate(steps):
            logs = str(folder / f"logs{number}")
            LocalPipelineExecutor(pipeline=pipeline, tasks=tasks, workers=1, logging_dir=logs).run()
    return len(kept)


@contextmanager
def detect_secrets_settings() -> Iterator[None]:
    """All default plugins of detect-secrets, and none of its filters of words."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    found: dict[str, type] = get_mapping_from_secret_type_to_class()
    plugins = [{"name": plugin.__name__} for plugin in found.values()]
    with transient_settings({"plugins_used": plugins}):
        yield


def secret_lines(text: str) -> dict[int, set[str]]:
    """Return line -> kinds of what detect-secrets finds in a text."""
    found: dict[int, set[str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if kinds := {secret.type for secret in scan_line(line)}:
            found[number] = kinds
    return found
