"""The resources of the asset graph: the data root, and which of its datasets the graph works on."""

from __future__ import annotations

import dagster as dg

from megacpp_assets.pipeline.corpus import Corpus, open_corpus
from megacpp_assets.storage.layout import data_root


class CorpusResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A corpus of a data root. `root`: "" for `MEGACPP_DATA_ROOT`, else `data`; `dataset`: "" for the active one.

    `anew`: train a tokenizer although one is pinned.
    """

    root: str = ""
    dataset: str = ""
    anew: bool = False

    def open(self) -> Corpus:
        """Read `corpus.lock` now, so that a new pin is seen without reloading definitions."""
        corpus = open_corpus(data_root(self.root or None), self.dataset)
        return corpus.unpinned() if self.anew else corpus
