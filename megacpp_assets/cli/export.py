"""`megacpp export`: a checkpoint for `transformers`, or a mixture for the launchers and loaders of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from megacpp_assets.cli.audit import find_checkpoint
from megacpp_assets.cli.options import data_root_option, dataset_option
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import BASE_SPECIALIST, TRAIN_SPLIT
from megacpp_assets.storage.root.layout import data_root as resolve_root

if TYPE_CHECKING:
    from megacpp_assets.megatron.flat import MixtureFiles

_FIRST_MIXTURE = f"{BASE_SPECIALIST}/4k"
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("export")
@click.argument("what", required=False)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--megatron", type=_FOLDER, help="Write a mixture into this folder, in the flat layout of Megatron's launchers."
)
@click.option(
    "--launch", metavar="MACHINE", help="With --megatron: write a launcher script too, for h200 (eight GPUs)."
)
@click.option("--olmo", type=_FOLDER, help="Write a mixture as an OLMo mix with its index into this new folder.")
@click.option("--copy", is_flag=True, help="Copy token files. Default: hard links where the file system allows them.")
@click.option(
    "--dtype", default="float32", show_default=True, help="Type of the weights of a checkpoint: float32 or bfloat16."
)
@dataset_option
@data_root_option
def export_command(
    what: str | None,
    folder: Path | None,
    *,
    megatron: Path | None,
    launch: str | None,
    olmo: Path | None,
    copy: bool,
    dtype: str,
    dataset: str,
    data_root: str | None,
) -> None:
    """Write a checkpoint or a mixture for other programs.

    Without --megatron or --olmo, WHAT is a checkpoint, named as for `megacpp audit`. The new FOLDER gets weights,
    configuration, tokenizer and origin, and `transformers` loads it. A model with structure is exported as a model that
    gets text without structure.

    With --megatron or --olmo, WHAT is a mixture SPECIALIST/PHASE (default: base/4k). The pairs of --megatron are named
    clang_semantic_PHASE_v10_train and …_valid. SHA256SUMS lists the hashes of the pairs and of tokenizer.json.
    """
    if launch is not None and megatron is None:
        do = "name the folder of the flat layout with --megatron"
        raise SpecError("--launch", expected="--megatron FOLDER with it", found="none", do=do)
    if megatron is None and olmo is None:
        if what is None or folder is None:
            do = "megacpp export base/4k llama, or megacpp export --megatron FOLDER"
            raise SpecError("export", expected="CHECKPOINT and FOLDER", found=what or "nothing", do=do)
        _export_checkpoint(what, folder, dtype, data_root)
        return
    if folder is not None:
        do = "leave it out: --megatron and --olmo name their folders"
        raise SpecError("export", expected="a mixture alone", found=f"also {folder}", do=do)
    files = _mixture_files(resolve_root(data_root), what or _FIRST_MIXTURE, dataset)
    if megatron is not None:
        _export_megatron(files, megatron, launch, copy=copy)
    if olmo is not None:
        _export_olmo(files, olmo, copy=copy)


def _export_checkpoint(checkpoint: str, folder: Path, dtype: str, data_root: str | None) -> None:
    # torch takes seconds to load; the help does not wait for it.
    from megacpp_assets.quality.reading.upstream import input_of
    from megacpp_assets.storage.artifact import open_artifact
    from megacpp_assets.training.checkpoints.export import export

    made = open_artifact(*find_checkpoint(checkpoint, data_root)).verify()
    rows = int(input_of(made, "megatron_bin_idx").manifest.stats["row_tokens"])
    export(made, input_of(made, "tokenizer").verify(), rows, folder, dtype)
    click.echo(
        f"{made.path} as a Llama in {folder}: transformers.AutoModelForCausalLM.from_pretrained({str(folder)!r})"
    )


def _mixture_files(root: Path, name: str, dataset: str) -> MixtureFiles:
    from megacpp_assets.interop.mixture import open_mixture
    from megacpp_assets.megatron.flat import MixtureFiles
    from megacpp_assets.megatron.vocabulary import tokenizer_of

    found = open_mixture(root, name, dataset)
    return MixtureFiles(found.megatron, tokenizer_of(found.megatron), found.dataset, found.mixture)


def _export_megatron(files: MixtureFiles, folder: Path, launch: str | None, *, copy: bool) -> None:
    from megacpp_assets.megatron.flat import export_flat

    if launch is None:
        export_flat(files, folder, copy=copy)
    else:
        from megacpp_assets.pipeline.corpus import open_corpus
        from megacpp_assets.training.megatron.launcher import require_machine, write_launcher

        require_machine(launch)
        export_flat(files, folder, copy=copy)
        training = open_corpus(files.megatron.root, files.dataset).recipe.training
        script = write_launcher(files, training, folder, launch)
        click.echo(f"{script}: MEGATRON_LM=/path/to/Megatron-LM {script}")
    click.echo(f"{files.mixture.key} in {folder}: --data-path {folder / files.prefix(TRAIN_SPLIT)}")


def _export_olmo(files: MixtureFiles, folder: Path, *, copy: bool) -> None:
    from megacpp_assets.loader.grain.mix import export_olmo

    for split, index in export_olmo(files, folder, copy=copy).items():
        path = folder / f"{split}_index.json"
        click.echo(f"{path}: {index.total_instances:,} windows of {index.sequence_length:,} tokens")
