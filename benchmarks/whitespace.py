"""Whitespace recipes: bytes per token on held-out fmt, after training 131,072 ids on the other sources of tokenizer.py.

Usage: whitespace.py [HELD-OUT SOURCE…]. Without any: fmt 11.0.0 and googletest v1.15.0 from MEGACPP_GIT_MIRROR (fmt is
held out) and the headers of /usr/include. `peer` is the general split, which is GPT-4's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from _harness import Figure, report
from tokenizer import VOCABULARY, default_sources, load

from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.train import TokenizerRecipe, train
from megacpp_assets.tokenizer.whitespace import recipes

BENCH = "whitespace"
PEER = "general"


def main(sources: Sequence[str]) -> None:
    """One line a recipe."""
    held, *others = sources or default_sources()
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
    main(sys.argv[1:])
