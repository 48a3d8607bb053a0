"""`megacpp run`: pins, runs what is outdated, checks, audits, and prints the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from megacpp_assets.cli.options import NameChoice, data_root_option, not_empty, recipe_settings_option, split_list
from megacpp_assets.cli.screen.running import at_work, bring_up_to_date
from megacpp_assets.compute.tokenizer_device import GPU, tokenizer_device
from megacpp_assets.contract.extras import require
from megacpp_assets.contract.recipe.rows import standard_phases
from megacpp_assets.contract.recipe.text import SHIPPED, load_recipe
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.pipeline.corpus import open_corpus
from megacpp_assets.pipeline.pins.pinning import (
    add_references,
    for_repositories,
    locked_references,
    overruled,
    resolve_corpus,
    write_pins,
)
from megacpp_assets.pipeline.stages import STAGE_NAMES
from megacpp_assets.pipeline.steps import RunPlan, planned_steps
from megacpp_assets.repos.sample import EMBEDDED

_HELP = f"""Run missing and outdated stages, then audit every checkpoint.

\b
Recipes     sample    the eight embedded repositories, a small vocabulary, minutes on a laptop (default)
            smoke     one of them and a tiny model, a minute
            upstream  the eight pinned upstream repositories, 131,072 ids, a small model (default with --repos)
            upstream_1gpu, upstream_8gpu   the same with models of 0.4 and 1.6 billion parameters
            upstream_history   two of them with documents of their commits (v2 to v5)
            FILE      your own: start from megacpp recipe show sample
Partitions  NAME@REF for repository stages; SPECIALIST x PHASE for mixtures
            every recipe has the phases {", ".join(f"{n} (T = {p.row_tokens})" for n, p in standard_phases().items())}
Stages      {", ".join(STAGE_NAMES[:4])},
            {", ".join(STAGE_NAMES[4:])}
Datasets    --repos with other repositories than the recipe's makes a separate dataset
            pinned references do not change; megacpp lock promote changes them
References  --refs builds other references of a dataset's repositories, without mixtures;
            mixtures read them after megacpp lock promote
Data root   $MEGACPP_DATA_ROOT, else ./data

A second run skips complete steps. An interrupted run continues, and its artifacts have the same bytes. If a file is
damaged, the run names it and makes its artifact again.
"""


@click.command("run", help=_HELP)
@click.option(
    "--recipe",
    metavar="NAME|FILE",
    callback=not_empty,
    help=f"Recipe to follow: {', '.join(SHIPPED)}, or a TOML file of yours.",
)
@recipe_settings_option
@click.option("--repos", default="", metavar="NAME@REF,…", help="Repositories, e.g. fmt@11.0.0,googletest@v1.15.0")
@click.option("--refs", default="", metavar="NAME@REF,…", help="References to build. The mixtures do not read them.")
@click.option("--dataset", default="", metavar="NAME", help="The dataset of --refs. Default: the active one.")
@click.option(
    "--specialists",
    default="",
    metavar="NAME,…",
    help="Specialists. Default: base, those of the recipe, and those that its repositories define.",
)
@click.option("--phases", default="", metavar="NAME,…", help="Phases of the recipe. Default: its curriculum.")
@click.option("--until", "last", type=NameChoice(STAGE_NAMES), default=STAGE_NAMES[-1], help="Last stage to run.")
@click.option("--configure", is_flag=True, help="Run each tree's own cmake in a sandbox to get a compile database.")
@click.option("--verify", is_flag=True, help="Read every file again, unchanged ones too.")
@data_root_option
def run_command(
    *,
    recipe: str | None,
    settings: tuple[str, ...],
    repos: str,
    refs: str,
    dataset: str,
    specialists: str,
    phases: str,
    last: str,
    configure: bool,
    verify: bool,
    data_root: str | None,
) -> None:
    """Turn the arguments into a corpus and a plan, then run the plan."""
    require("build")  # A missing library is an error now, not hours later in the stage that needs it.
    if tokenizer_device() == GPU:
        require("gpu")
    if refs:
        others = {"--recipe": recipe, "--repos": repos, "--set": settings, "--configure": configure}
        _refuse_beside_refs(others | {"--specialists": specialists, "--phases": phases})
        with at_work(data_root, verify=verify) as root:
            corpus, added = add_references(open_corpus(root, dataset), split_list(refs))
            bring_up_to_date(corpus, planned_steps(corpus, RunPlan((), last, added)))
        return
    if dataset:
        raise click.UsageError("--dataset does not go without --refs; the dataset of a run is named by its recipe")
    whole, followed = _recipes(recipe, settings, split_list(repos), configure=configure)
    if last == STAGE_NAMES[-1]:
        from megacpp_assets.launch.registry import launcher_for

        require("train")
        launcher_for(followed.launch, followed.training)  # rejected before the hours of other stages
    with at_work(data_root, verify=verify) as root:
        corpus = resolve_corpus(root, followed, split_list(repos) or _references(root, followed))
        named = split_list(specialists) or corpus.specialists
        mixtures = corpus.mixtures(named, split_list(phases) or followed.curriculum)
        corpus = write_pins(corpus, activate=followed is whole)
        bring_up_to_date(corpus, planned_steps(corpus, RunPlan(mixtures, last)))


def _refuse_beside_refs(options: Mapping[str, object]) -> None:
    for name, value in options.items():
        if value:
            raise click.UsageError(f"{name} does not go with --refs, which follows the recipe that its dataset follows")


def _recipes(
    name: str | None, settings: Sequence[str], wanted: Sequence[str], *, configure: bool
) -> tuple[Recipe, Recipe]:
    """Return the requested recipe, and the one to follow: the same, unless `wanted` are other repositories."""
    asked = ("semantic.configure=true",) if configure else ()
    whole = load_recipe(name or _recipe_for(wanted), (*settings, *asked))
    named = any(setting.partition("=")[0].strip() == "dataset" for setting in settings)
    return whole, whole if named else for_repositories(whole, wanted)


def _recipe_for(wanted: Sequence[str]) -> str:
    return "sample" if all(name.startswith(EMBEDDED) for name in wanted) else "upstream"


def _references(root: Path, recipe: Recipe) -> tuple[str, ...]:
    """Return the recipe's repositories as the lock pins them. Another requested reference is reported."""
    references = locked_references(root, recipe)
    for asked, locked in overruled(recipe, references):
        click.echo(
            f"{locked} stays pinned, though the recipe says {asked}: megacpp lock promote {asked} moves it", err=True
        )
    return references
