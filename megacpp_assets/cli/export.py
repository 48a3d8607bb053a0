"""`megacpp export`: a checkpoint for those who load models with `transformers`."""

from __future__ import annotations

from pathlib import Path

import click

from megacpp_assets.cli.audit import find_checkpoint
from megacpp_assets.cli.options import data_root_option


@click.command("export")
@click.argument("checkpoint")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--dtype", default="float32", show_default=True, help="Of the weights: float32 or bfloat16.")
@data_root_option
def export_command(checkpoint: str, folder: Path, dtype: str, data_root: str | None) -> None:
    """Write CHECKPOINT into the new FOLDER as `transformers` loads it: weights, config, tokenizer, origin.

    CHECKPOINT is named as for `megacpp audit`. A model with structure is exported as it reads text without structure.
    """
    # torch takes seconds to load; the help does not wait for it.
    from megacpp_assets.quality.upstream import input_of
    from megacpp_assets.storage.artifact import open_artifact
    from megacpp_assets.training.checkpoints.export import export

    made = open_artifact(*find_checkpoint(checkpoint, data_root)).verify()
    rows = int(input_of(made, "megatron_bin_idx").manifest.stats["row_tokens"])
    export(made, input_of(made, "tokenizer").verify(), rows, folder, dtype)
    click.echo(
        f"{made.path} as a Llama in {folder}: transformers.AutoModelForCausalLM.from_pretrained({str(folder)!r})"
    )
