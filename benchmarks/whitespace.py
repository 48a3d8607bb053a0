"""Whitespace recipes: bytes per token on held-out fmt, after training 131,072 ids on the other sources of tokenizer.py.

Without any source: fmt 11.0.0 and googletest v1.15.0 from MEGACPP_GIT_MIRROR (fmt is held out) and the headers of
/usr/include. `peer` is the general split, which is GPT-4's. No time is measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from _arguments import run
from _harness import Figure, report
from _sources import SOURCE, default_sources, load
from _training import VOCABULARY

from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import train
from megacpp_assets.tokenizer.whitespace import recipes

BENCH = "whitespace"
PEER = "general"


def main(arguments: Sequence[str]) -> None:
    """One line a recipe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=f"the held-out one first: {SOURCE}")
    held, *others = parser.parse_args(arguments).sources or default_sources()
    if not others:
        raise SystemExit("whitespace: set MEGACPP_GIT_MIRROR, or name the held-out source and at least one other")
    texts = set(load([held]))
    training = [text for text in load(others) if text not in texts]
    measured = {name: bytes_per_token(name, training, sorted(texts)) for name in recipes()}
    size = sum(map(len, training)) / 1e6
    for name, found in measured.items():
        figure = Figure(BENCH, f"{name}, trained on {size:.0f} MB", "bytes/token, held out")
        report(figure, found, measured[PEER], peer_name=PEER)


def bytes_per_token(recipe: str, training: Sequence[bytes], texts: Sequence[bytes]) -> float:
    """Bytes of `texts` by the tokens, BOS not counted, of a tokenizer trained on `training`."""
    encoder = Encoder(train(training, TokenizerRecipe(VOCABULARY, recipe)).model)
    return sum(map(len, texts)) / sum(len(encoder.encode_bytes(text)) - 1 for text in texts)


if __name__ == "__main__":
    run(main)
