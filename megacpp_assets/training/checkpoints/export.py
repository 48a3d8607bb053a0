"""Exports a checkpoint for `transformers`: a Llama with the same weights, its tokenizer, and its origin.

Without structure the model is exactly a Llama: RMSNorm, RoPE, grouped keys, SwiGLU and a tied embedding. With structure
the export is the model for text without known structure, whose channels are all 0. The structure vector is then the
same at every token, so it is added to the input embedding, which is no longer tied to the output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from megacpp_assets.contract.canonical import canonical_json
from megacpp_assets.contract.columns import TOKENIZER_FILE
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.tokens.specials import BOS_ID, EOS_ID, PAD_ID
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.tokenizer.artifact import transformers_files
from megacpp_assets.training.checkpoints.record import MODEL, read_config
from megacpp_assets.training.checkpoints.shards import Shards
from megacpp_assets.training.checkpoints.tensor_file import save_tensors
from megacpp_assets.training.network.model import ModelConfig
from megacpp_assets.training.network.ngrams import NgramConfig
from megacpp_assets.training.network.state_space import StateSpaceConfig
from megacpp_assets.training.network.structure import CHANNEL_OF, StructureConfig, StructureEmbedding

INDEX_FILE: Final = "model.safetensors.index.json"
CONFIG_FILE: Final = "config.json"
ORIGIN_FILE: Final = "origin.json"
_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_FILE_BYTES: Final = 2 << 30
"""The maximum size of one file, as in `transformers`. Only one file is in memory at a time."""


def export(checkpoint: Artifact, tokenizer: Artifact, row_tokens: int, folder: Path, dtype: str = "float32") -> None:
    """Write the verified `checkpoint` into the new `folder`, with its weights as `dtype`.

    Raises `SpecError` if the folder exists, if the dtype is unknown, or if the model has parts that a Llama lacks:
    capped scores, n-grams, states, chunks, platforms.
    """
    if dtype not in _DTYPES:
        raise SpecError("dtype", expected=" or ".join(_DTYPES), found=repr(dtype), do="choose one of them")
    if folder.exists():
        raise SpecError(
            f"folder {folder}",
            expected="a folder that does not exist",
            found="one that exists",
            do="name another folder",
        )
    config = read_config(checkpoint)
    model = _model_config(config.model)
    for name, value in (
        ("softcap", model.softcap), ("ngram_heads", model.ngrams.heads), ("state_space_every", model.state_space.every),
        ("relation_bias", model.relation_bias), ("tree_steps", model.tree_steps),
        ("platform_embedding", model.structure.platform_embed_enabled),
    ):  # fmt: skip
        if value:
            raise SpecError(
                checkpoint.path,
                expected=f"a model without training.{name}",
                found=f"{name} {value}",
                do="train a model without it, or use the checkpoint as it is",
            )
    folder.mkdir(parents=True)
    tensors = ((name, tensor.to(_DTYPES[dtype]).contiguous()) for name, tensor in _renamed(checkpoint, model))
    _write(folder, tensors)
    tied = not model.structure.components
    (folder / CONFIG_FILE).write_bytes(canonical_json(_llama(model, row_tokens, dtype, tied=tied)))
    (folder / TOKENIZER_FILE).write_bytes(tokenizer.file(TOKENIZER_FILE).read_bytes())
    for name, data in transformers_files(longest=row_tokens).items():
        (folder / name).write_bytes(data)
    (folder / ORIGIN_FILE).write_bytes(canonical_json(_origin(checkpoint, tokenizer)))


def _model_config(raw: Mapping[str, Any]) -> ModelConfig:
    values = dict(raw)
    structure, ngrams = dict(values.pop("structure")), dict(values.pop("ngrams"))
    structure["components"], ngrams["orders"] = tuple(structure["components"]), tuple(ngrams["orders"])
    return ModelConfig(
        structure=StructureConfig(**structure),
        ngrams=NgramConfig(**ngrams),
        state_space=StateSpaceConfig(**values.pop("state_space")),
        **values,
    )


def _write(folder: Path, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Write one file, or several of at most `_FILE_BYTES` and their index."""
    files: list[list[str]] = []
    pending: dict[str, Tensor] = {}
    total = 0

    def flush() -> None:
        # `transformers` requires this metadata key and reads no other.
        save_tensors(pending, folder / str(len(files)), {"format": "pt"})
        files.append(list(pending))
        pending.clear()

    for name, tensor in tensors:
        if pending and sum(each.nbytes for each in pending.values()) + tensor.nbytes > _FILE_BYTES:
            flush()
        pending[name] = tensor
        total += tensor.nbytes
    flush()
    if len(files) == 1:
        (folder / "0").rename(folder / "model.safetensors")
        return
    places: dict[str, str] = {}
    for number, names in enumerate(files):
        place = f"model-{number + 1:05}-of-{len(files):05}.safetensors"
        (folder / str(number)).rename(folder / place)
        places |= dict.fromkeys(names, place)
    (folder / INDEX_FILE).write_bytes(canonical_json({"metadata": {"total_size": total}, "weight_map": places}))


def _renamed(checkpoint: Artifact, config: ModelConfig) -> Iterator[tuple[str, Tensor]]:
    """Yield our tensors under a Llama's names, in its order. Each is read from its shards when it is asked for."""
    shards = Shards(checkpoint)

    def whole(name: str) -> Tensor:
        return torch.cat(list(shards.pieces(MODEL, name)))

    output = whole("embedding")[: config.vocabulary_size]
    if config.structure.components:
        parts = {name: whole(f"structure.{name}") for name in ("table", "scale", "up")}
        yield "model.embed_tokens.weight", output + _unknown_structure(parts, config)
        yield "lm_head.weight", output
    else:
        yield "model.embed_tokens.weight", output
    widths = [config.heads * config.head_dim, *(2 * [config.groups * config.head_dim])]
    for index in range(config.layers):
        ours, theirs = f"blocks.{index}.", f"model.layers.{index}."
        yield f"{theirs}input_layernorm.weight", whole(f"{ours}mixer.norm")
        for name, part in zip("qkv", torch.split(whole(f"{ours}mixer.qkv"), widths), strict=True):
            yield f"{theirs}self_attn.{name}_proj.weight", part
        yield f"{theirs}self_attn.o_proj.weight", whole(f"{ours}mixer.out")
        yield f"{theirs}post_attention_layernorm.weight", whole(f"{ours}mlp.norm")
        for name, part in zip(("gate", "up"), whole(f"{ours}mlp.gate_up").chunk(2), strict=True):
            yield f"{theirs}mlp.{name}_proj.weight", part
        yield f"{theirs}mlp.down_proj.weight", whole(f"{ours}mlp.down")
    yield "model.norm.weight", whole("norm")


def _unknown_structure(parts: Mapping[str, Tensor], config: ModelConfig) -> Tensor:
    """Return the vector (hidden,) that the structure embedding adds to a token whose channels are all 0."""
    structure = StructureEmbedding(config.structure, config.hidden)
    structure.load_state_dict(dict(parts))
    zero = torch.zeros((1, 1), dtype=torch.int64)
    with torch.no_grad():
        added: Tensor = structure(dict.fromkeys(CHANNEL_OF.values(), zero), zero)
    return added[0, 0]


def _llama(config: ModelConfig, row_tokens: int, dtype: str, *, tied: bool) -> dict[str, Any]:
    inner = -(-(8 * config.hidden // 3) // 64) * 64
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": config.vocabulary_size,
        "hidden_size": config.hidden,
        "intermediate_size": inner,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.groups,
        "head_dim": config.head_dim,
        "hidden_act": "silu",
        "max_position_embeddings": row_tokens,
        "rms_norm_eps": torch.finfo(torch.float32).eps,
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_base},
        "rope_theta": config.rope_base,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        "pad_token_id": PAD_ID,
        "dtype": dtype,
    }


def _origin(checkpoint: Artifact, tokenizer: Artifact) -> dict[str, Any]:
    """Return what a user passes to `megacpp audit` to prove where the weights come from."""
    return {
        "checkpoint": checkpoint.path,
        "manifest_sha256": checkpoint.manifest.sha256,
        "tokenizer_commit": tokenizer.manifest.stats["commit"],
        "step": read_config(checkpoint).step,
    }
