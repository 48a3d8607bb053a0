"""Megatron's embedding with structure and n-grams added: `structured(model, ...)` puts it into a GPTModel.

Megatron passes only ids and positions to an embedding, so call `set_structure_inputs` with the channels of a batch
before the forward pass. Positions must restart with each document, so that no n-gram reaches into the previous one:
pass those of `document_layout`, or start Megatron with `--reset-position-ids --reset-attention-mask --eod-mask-loss`
and a tokenizer whose `eod` is BOS. Megatron restarts after `eod`, but our documents begin with BOS and have no end
mark. So BOS counts as the last token of the previous document. This does not affect training, because its loss is
masked.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, Final

from megatron.core.dist_checkpointing.mapping import ShardedTensor
from megatron.core.models.common.embeddings.language_model_embedding import LanguageModelEmbedding
from megatron.core.models.gpt import GPTModel
from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
from torch import Tensor
from torch.nn import Module

from megacpp_assets.contract.columns import STRUCTURE_CHANNELS
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.training.network.ngrams import NgramConfig, NgramEmbedding
from megacpp_assets.training.network.platforms import PlatformEmbedding, PlatformInput
from megacpp_assets.training.network.structure import StructureConfig, StructureEmbedding, parse_components

STRUCTURE_PREFIX: Final = "structure."
NGRAM_PREFIX: Final = "ngrams."
PLATFORM_PREFIX: Final = "platforms."


class StructuredEmbedding(LanguageModelEmbedding):  # type: ignore[misc]  # Megatron is not typed
    """The sum of Megatron's embedding, n-grams, structure and platforms: (B, T) ids -> (T, B, hidden).

    Every rank of tensor parallelism has all added parameters. `stage_copy` is 1 for the copy on a later pipeline stage,
    which predicts several tokens ahead; so a checkpoint has only the parameters of the first stage.
    """

    def __init__(self, *, structure: StructureConfig, ngrams: NgramConfig, stage_copy: int = 0, **words: Any) -> None:
        super().__init__(**words)
        hidden = self.config.hidden_size
        self.structure = StructureEmbedding(structure, hidden) if structure.components else None
        self.ngrams = NgramEmbedding(ngrams, hidden) if ngrams.heads else None
        self.platforms = PlatformEmbedding(hidden) if structure.platform_embed_enabled else None
        self._stage_copy = stage_copy
        self._channels: Mapping[str, Tensor] = {}
        self._platforms: PlatformInput | None = None

    def set_structure_inputs(self, channels: Mapping[str, Tensor], platforms: PlatformInput | None = None) -> None:
        """Set the (B, T) channels and the platforms of documents for all forward passes until the next call."""
        self._channels, self._platforms = channels, platforms

    def forward(self, input_ids: Tensor, position_ids: Tensor, tokentype_ids: Tensor | None = None) -> Tensor:
        """Return the embedding. `SpecError` if channels or platforms were not set, or channels have another shape."""
        words: Tensor = super().forward(input_ids, position_ids, tokentype_ids)
        for part in (
            None if self.ngrams is None else self.ngrams(input_ids, position_ids),
            None if self.structure is None else self.structure(self._channels, input_ids),
            None if self.platforms is None else self.platforms(self._required_platforms()),
        ):
            if part is not None:
                words = words + self._in_megatrons_order(part).to(words.dtype)
        return words

    def _required_platforms(self) -> PlatformInput:
        if self._platforms is None:
            expected, do = "platforms of its documents", "pass them to set_structure_inputs"
            raise SpecError("batch of a model that uses platforms", expected=expected, found="none", do=do)
        return self._platforms

    def sharded_state_dict(
        self, prefix: str = "", sharded_offsets: tuple[Any, ...] = (), metadata: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return Megatron's dictionary. `replica_id` of the parameters that are added here begins with `stage_copy`."""
        found: dict[str, Any] = super().sharded_state_dict(prefix, sharded_offsets, metadata)
        added = tuple(prefix + part for part in (STRUCTURE_PREFIX, NGRAM_PREFIX, PLATFORM_PREFIX))
        for name, tensor in found.items():
            if name.startswith(added) and isinstance(tensor, ShardedTensor):
                tensor.replica_id = (self._stage_copy, *tensor.replica_id[1:])
        return found

    def _in_megatrons_order(self, added: Tensor) -> Tensor:
        added = added.transpose(0, 1).contiguous()
        if self.config.sequence_parallel and self.scatter_to_sequence_parallel:
            added = scatter_to_sequence_parallel_region(added, group=self.tp_group)
        dropped: Tensor = self.embedding_dropout(added)
        return dropped


def structured(model: GPTModel, structure: StructureConfig, ngrams: NgramConfig) -> StructuredEmbedding:
    """Replace the embedding of `model` by a structured one with the same word weights, and return it.

    Call this before the model is wrapped. `SpecError` for a pipeline stage without an embedding.
    """
    words = getattr(model, "embedding", None)
    if words is None:
        do = "call it on the first stage, and on the one that predicts several tokens ahead"
        raise SpecError("stage of a Megatron pipeline", expected="one with an embedding", found="none", do=do)
    embedding = StructuredEmbedding(
        structure=structure,
        ngrams=ngrams,
        stage_copy=0 if model.pre_process else 1,
        config=words.config,
        vocab_size=words.vocab_size,
        max_sequence_length=words.max_sequence_length,
        position_embedding_type="learned_absolute" if words.add_position_embedding else "none",
        scatter_to_sequence_parallel=words.scatter_to_sequence_parallel,
        tp_group=words.tp_group,
    )
    embedding.load_state_dict(words.state_dict(), strict=False)
    embedding.word_embeddings = words.word_embeddings  # the same object, because an output layer may share it
    model.embedding = embedding.to(words.word_embeddings.weight.device)
    return embedding


def bridge_structure_batch(model: Module, batch: Mapping[str, Tensor]) -> None:
    """Set the structure of a batch dict on `model`, a GPTModel of any wrappers: the five keys `STRUCTURE_CHANNELS`, if
    present, (B, T) each, for the next forward passes.

    Does nothing on a pipeline stage without an embedding. Raises `SpecError` if the model was not made `structured`, or
    if a key has another shape than the batch's `tokens`.
    """
    inner: Any = model
    while hasattr(inner, "module"):
        inner = inner.module
    embedding = getattr(inner, "embedding", None)
    if embedding is None:
        return
    if not isinstance(embedding, StructuredEmbedding):
        do = "call structured(model, ...) first"
        raise SpecError("embedding of the model", expected=StructuredEmbedding.__name__, found=type(embedding), do=do)
    channels = {name: batch[name].long() for name in STRUCTURE_CHANNELS if name in batch}
    for name, values in channels.items():
        if values.shape != batch["tokens"].shape:
            expected = f"the shape of tokens, {tuple(batch['tokens'].shape)}"
            raise SpecError(f"{name} of a batch", expected=expected, found=tuple(values.shape))
    embedding.set_structure_inputs(channels)


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that `configs` reads. Pass this to Megatron as `extra_args_provider`."""
    group = parser.add_argument_group("structure of code")
    group.add_argument("--structure-components", default="core", help="core, all, none or a list")
    group.add_argument("--structure-bottleneck", type=int, default=64)
    group.add_argument("--platform-embedding", action="store_true")
    group.add_argument("--ngram-heads", type=int, default=0)
    group.add_argument("--ngram-table", type=int, default=500_000)
    return parser


def configs(arguments: argparse.Namespace) -> tuple[StructureConfig, NgramConfig]:
    """Return the arguments of `structured` from Megatron's parsed options. `SpecError` for malformed values."""
    structure = StructureConfig(
        parse_components(arguments.structure_components),
        arguments.structure_bottleneck,
        platform_embed_enabled=arguments.platform_embedding,
    )
    return structure, NgramConfig(arguments.ngram_heads, table_size=arguments.ngram_table)
