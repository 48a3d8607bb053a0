"""`megacpp audit`: proves what a checkpoint was made from by reading all of it again, and answers questions about
origin.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from megacpp_assets.cli.options import data_root_option
from megacpp_assets.cli.screen.audit_report import SHORT_HASH, open_auditor, print_report
from megacpp_assets.contract.errors import SpecError, closest_name
from megacpp_assets.contract.partition import Mixture
from megacpp_assets.storage.remote import SCHEME
from megacpp_assets.storage.root.layout import checkpoint_path
from megacpp_assets.storage.root.layout import data_root as resolve_root
from megacpp_assets.storage.root.lock_file import read_lock

_DEPTH = 5
"""Parts of a checkpoint's path below the data root: checkpoints/DATASET/SPECIALIST/PHASE/step_N."""
_LISTED = 3
"""The most steps that an error lists: the last ones."""


@click.command("audit")
@click.argument("checkpoint", required=False)
@click.option(
    "--quick", is_flag=True, help="Trust the seals: compare manifests, locks and events, but read no data file."
)
@click.option(
    "--tokenizer",
    metavar="COMMIT",
    help="Instead of an audit: list every dataset and checkpoint built with that tokenizer.",
)
@click.option(
    "--repo", metavar="NAME[@REF]", help="Instead of an audit: list every checkpoint that saw that repository."
)
@click.option(
    "--token",
    metavar="[SPLIT:]ROW:COL",
    help="Instead of an audit: say where a token of the rows of CHECKPOINT came from. Rows and columns count from 0.",
)
@click.option(
    "--diff",
    nargs=2,
    metavar="A B",
    help="Instead of an audit: show the differences of two checkpoints, from sources to weights.",
)
@click.option(
    "--export",
    metavar="DIR",
    help="Instead of an audit: write CHECKPOINT's audit page, OpenLineage events, in-toto statements, dataset card "
    "and licences.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
@data_root_option
def audit_command(
    checkpoint: str | None,
    quick: bool,
    tokenizer: str | None,
    repo: str | None,
    token: str | None,
    diff: tuple[str, str] | None,
    export: str | None,
    as_json: bool,
    data_root: str | None,
) -> None:
    """Prove what CHECKPOINT was made from.

    Follows the checkpoint back to Megatron's files, rows, documents, tokens, the tokenizer's commit and the commits of
    the repositories. Hashes every file again, and compares the chain with Dagster's event log. Exit code 0 only if
    everything agrees; a changed file is named.

    CHECKPOINT is a folder or gs://BUCKET/FOLDER/checkpoints/…. Without a step in its path, the last step is meant that
    the recipe of the dataset trained. For a checkpoint below --data-root, checkpoints/… or SPECIALIST/PHASE of the
    active dataset is enough. The data root may have been moved or copied. To name a checkpoint that a later run
    replaced, give the first digits of its manifest's hash: --tokenizer and --repo list them, and --diff and --export
    accept them.
    """
    _require_one_question(checkpoint, tokenizer=tokenizer, repo=repo, token=token, diff=diff, export=export)
    if tokenizer is not None or repo is not None:
        _print_uses(resolve_root(data_root), tokenizer, repo, as_json=as_json)
    elif diff:
        _print_differences(diff, data_root, as_json=as_json)
    elif export is not None:
        _write_exports(str(checkpoint), Path(export), data_root)
    elif token is not None:
        _print_origin(str(checkpoint), token, data_root, as_json=as_json)
    else:
        _print_audit(str(checkpoint), data_root, quick=quick, as_json=as_json)


def _require_one_question(checkpoint: str | None, **asked: object) -> None:
    """Raise `SpecError` unless the arguments ask exactly one question."""
    given = [f"--{name}" for name, value in asked.items() if value]
    needs_checkpoint = given in ([], ["--token"], ["--export"])
    if len(given) > 1 or needs_checkpoint != bool(checkpoint):
        raise SpecError(
            "audit",
            expected="CHECKPOINT, alone or with --token or --export; or one of --tokenizer, --repo, --diff without it",
            found=" ".join(filter(None, [checkpoint, *given])) or "nothing",
            do="megacpp audit --help",
        )


def _print_audit(checkpoint: str, data_root: str | None, *, quick: bool, as_json: bool) -> None:
    root, path = find_checkpoint(checkpoint, data_root)
    with open_auditor(root, quick=quick) as auditor:
        report = auditor.audit(path)
    if as_json:
        _print_json(report.to_json())
    else:
        print_report(report)
    if not report.verified:
        raise click.exceptions.Exit(1)


def find_checkpoint(text: str, data_root: str | None) -> tuple[Path, str]:
    """Return the data root and the path below it of the checkpoint that `text` names. `SpecError` if it is missing."""
    if text.startswith(SCHEME):
        data_root, _, below = text.partition("/checkpoints/")
        text = f"checkpoints/{below}"
    for place in _places(text, data_root):
        if not place.is_dir():
            continue
        full = _with_step(place.resolve())
        if full is not None and full.parts[-_DEPTH] == "checkpoints":
            return full.parents[_DEPTH - 1], "/".join(full.parts[-_DEPTH:])
    root = resolve_root(data_root)
    names = _mixtures(root)
    raise SpecError(
        f"checkpoint {text}",
        closest=closest_name(text, names),
        expected="…/checkpoints/DATASET/SPECIALIST/PHASE[/step_N], or SPECIALIST/PHASE of the active dataset",
        found=f"no checkpoint there; {_made(root, names)}",
        do=("" if names else "megacpp run trains one; or ") + "name its folder, or the data root with --data-root",
    )


def _mixtures(root: Path) -> list[str]:
    """Return the mixtures of the active dataset of `root` that have a checkpoint."""
    if not root.is_dir():
        return []
    dataset = root / "checkpoints" / read_lock(root).active
    return sorted({step.parent.relative_to(dataset).as_posix() for step in dataset.glob("*/*/step_*")})


def _made(root: Path, names: Sequence[str]) -> str:
    """Return in words which checkpoints the active dataset of `root` has."""
    if not root.is_dir():
        return f"there is no data root {root}"
    return f"the active dataset of {root} has {', '.join(names) or 'none'}"


def _places(text: str, data_root: str | None) -> Iterator[Path]:
    """Yield the folders that may be meant: relative to here, then below the data root."""
    if data_root is None:
        yield Path(text).expanduser()
    root = resolve_root(data_root)
    yield root / text
    if root.is_dir():
        yield root / "checkpoints" / read_lock(root).active / text


def _with_step(folder: Path) -> Path | None:
    """Return the folder of a step: `folder` itself, or the last step below it that the dataset's recipe trained."""
    if not folder.name.startswith("step_"):
        steps = sorted(path for path in folder.glob("step_*") if path.is_dir())
        if not steps:
            return None
        folder = _last_of_recipe(steps) if len(folder.parts) >= _DEPTH else steps[-1]
    return folder if len(folder.parts) > _DEPTH else None


def _last_of_recipe(steps: Sequence[Path]) -> Path:
    """Return the last of `steps`, sorted, that the recipe of their dataset trained.

    An earlier recipe may have left others, later ones too. A folder outside of a data root, or of a dataset that the
    lock does not have, has no recipe: then the last step is returned. `LineageGap` if the recipe cannot be read, and
    `SpecError` if all steps are of other recipes.
    """
    from megacpp_assets.lineage.history import read_history
    from megacpp_assets.pipeline.corpus import open_corpus
    from megacpp_assets.pipeline.trained_by import TrainedBy

    root, (above, dataset, specialist, phase) = steps[0].parents[_DEPTH - 1], steps[0].parts[-_DEPTH:-1]
    if above != "checkpoints" or dataset not in read_lock(root).datasets:
        return steps[-1]
    corpus = open_corpus(root, dataset)
    last = Path(checkpoint_path(dataset, Mixture(specialist, phase), corpus.recipe.training.steps)).name
    if phase in corpus.recipe.phases:
        recipe = TrainedBy(corpus, read_history(root))
        for step in reversed(steps):
            if step.name <= last and recipe.trained(step.relative_to(root).as_posix()):
                return step
    raise SpecError(
        f"checkpoint {specialist}/{phase} of dataset {dataset}",
        expected=f"a step that the recipe of the last run trained ({read_lock(root).datasets[dataset].recipe[:12]})",
        found=f"only steps of other recipes: {', '.join(step.name for step in steps[-_LISTED:])}",
        do=f"megacpp run with this recipe trains one; or name {steps[-1].relative_to(root)}",
    )


def _print_uses(root: Path, tokenizer: str | None, repo: str | None, *, as_json: bool) -> None:
    from megacpp_assets.lineage.history import read_history
    from megacpp_assets.lineage.queries import built_with, that_saw

    history = read_history(root)
    answer = built_with(history, tokenizer) if tokenizer is not None else that_saw(history, str(repo))
    if as_json:
        _print_json(answer.to_json())
    else:
        click.echo(f"{answer.question}: {len(answer.uses)} made from it")
        for use in answer.uses:
            state = "" if use.lies else f"  (replaced or removed since: manifest {use.manifest_sha256[:SHORT_HASH]})"
            click.echo(f"  {use.path}{'  ' + use.how if use.how else ''}{state}")
        for line in answer.untraced:
            click.echo(f"  cannot be traced: {line}")
    if answer.untraced:
        raise click.exceptions.Exit(1)


def _print_differences(names: Sequence[str], data_root: str | None, *, as_json: bool) -> None:
    from megacpp_assets.lineage.differences import differences
    from megacpp_assets.lineage.history import read_history
    from megacpp_assets.lineage.queries import known_checkpoint

    (one, before), (two, after) = (_asked(name, data_root) for name in names)
    first = read_history(one)
    second = first if one == two else read_history(two)
    changed = differences(first, second, known_checkpoint(first, before), known_checkpoint(second, after))
    if as_json:
        _print_json([{"what": each.what, "before": each.before, "after": each.after} for each in changed])
        return
    for each in changed:
        click.echo(f"{each.what}: {each.before} -> {each.after}")
    if not changed:
        click.echo("nothing differs, from sources to weights")


def _asked(name: str, data_root: str | None) -> tuple[Path, str]:
    """Return the data root, and the path below it or the first digits of a manifest, of a checkpoint."""
    try:
        return find_checkpoint(name, data_root)
    except SpecError:
        if not name or not set(name) <= set("0123456789abcdef"):
            raise
        return resolve_root(data_root), name


def _print_origin(checkpoint: str, token: str, data_root: str | None, *, as_json: bool) -> None:
    from megacpp_assets.lineage.tokens import Place, origin_of
    from megacpp_assets.storage.artifact import open_artifact

    place = Place.parse(token)
    root, path = find_checkpoint(checkpoint, data_root)
    packed = open_artifact(root, f"packed/{'/'.join(path.split('/')[1:4])}")
    found = origin_of(packed, place).to_json()
    if as_json:
        _print_json(found)
        return
    for key, value in ((key, value) for key, value in found.items() if value != ""):
        shown = json.dumps(value, ensure_ascii=False) if key in ("text", "context") else value
        click.echo(f"{key.replace('_', ' '):<12} {shown}")


def _write_exports(checkpoint: str, folder: Path, data_root: str | None) -> None:
    from megacpp_assets.lineage.export.write import PAGE, write_exports
    from megacpp_assets.lineage.history import read_history
    from megacpp_assets.lineage.queries import known_checkpoint

    root, path = _asked(checkpoint, data_root)
    history = read_history(root)
    written = write_exports(history, known_checkpoint(history, path), folder)
    click.echo(f"{len(written)} files in {folder}; open {folder / PAGE}")


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
