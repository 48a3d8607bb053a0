"""`tokenizer`: from pinned sources to the tokenizer, its lock, its statistics and a registry commit.

Equal sources and recipe give equal bytes and an equal commit, with any number of workers. Training ends in the
registry, and the artifact is always restored from one of its commits: the pinned one, or the one that these sources and
this recipe gave. So no training is repeated, whatever has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from megacpp_assets.compute.executors.select import worker_count
from megacpp_assets.contract.canonical import canonical_json, fingerprint, sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.lock.corpus_lock import TokenizerPin
from megacpp_assets.contract.lock.removal import Removal, without_removed
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.contract.step import Progress, silent
from megacpp_assets.storage.artifact import Artifact, find_artifact, open_artifact
from megacpp_assets.storage.caching.cache import Cache
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.publish import Publication, Target, current_artifact, publish
from megacpp_assets.storage.root.layout import raw_path, tokenizer_path, words_cache_path
from megacpp_assets.storage.root.locks import reading, writing
from megacpp_assets.storage.work import write_work
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE, dump_model
from megacpp_assets.tokenizer.contents import (
    CORPUS_FILE,
    RECIPE_FILE,
    Contents,
    committed_pin,
    committed_recipe,
    restore,
)
from megacpp_assets.tokenizer.counting import CountCache, count_portions, portions
from megacpp_assets.tokenizer.device import count_texts, train_counted
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.registry import commit_tokenizer, trained_commit
from megacpp_assets.tokenizer.report.statistics import STATISTICS_FILE, Measure
from megacpp_assets.tokenizer.train import Trained, batches
from megacpp_assets.tokenizer.vocabulary.fixed import fixed_sha256
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

VERSION = "6"


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """The pinned repositories that train the tokenizer of `dataset`, their removed files, and the recipe; or the
    `pin` of a trained one.
    """

    root: Path
    dataset: str
    repos: tuple[RepoRef, ...]
    recipe: TokenizerRecipe
    pin: TokenizerPin | None = None
    removed: tuple[Removal, ...] = ()


def spec(corpus: Corpus, _partition: str) -> TokenizerSpec:
    """Return what the tokenizer of `corpus` is made from. A pinned one comes from the registry, so that no tag
    retrains it.
    """
    pinned = corpus.lock.tokenizer
    if pinned:
        repos = tuple(RepoRef.parse(key) for key in pinned.repos)
        return TokenizerSpec(corpus.root, corpus.dataset, repos, corpus.recipe.tokenizer, pinned)
    removed = tuple(removal for removal in corpus.lock.removed if removal.path)
    return TokenizerSpec(corpus.root, corpus.dataset, corpus.repo_refs, corpus.recipe.tokenizer, removed=removed)


def target(spec: TokenizerSpec) -> Target:
    """Return the artifact's path and everything that decides its bytes. The order of `spec.repos` does not.

    A pinned tokenizer has the recipe of its commit. Without a commit, before the first training, nothing is current.
    """
    pin = spec.pin or _trained(spec)
    return Target(
        root=spec.root,
        path=tokenizer_path(spec.dataset),
        stage="tokenizer",
        partition=spec.dataset,
        version=VERSION,
        config={**_training(_recipe(spec)), "commit": pin.commit if pin else ""},
        inputs=_inputs(spec),
    )


def run(spec: TokenizerSpec, progress: Progress = silent) -> Artifact:
    """Restore the pinned tokenizer, or the one trained from these sources. It is trained if the registry lacks it.

    `LineageGap` or `TokenizerDrift` for a commit that cannot be restored; then nothing was overwritten.
    """
    memory = CountCache(Cache(spec.root / words_cache_path()))
    pin = spec.pin or _train_once(spec, memory, progress)
    wanted = target(replace(spec, pin=pin))
    artifact = current_artifact(wanted) or _publish(wanted, restore(spec.root, spec.dataset, pin))
    if memory.counted or memory.reused:
        write_work(artifact, {"portions_counted": memory.counted, "portions_reused": memory.reused})
        memory.store.trim()
    return artifact


def _publish(wanted: Target, restored: Contents) -> Artifact:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        for name, content in restored.files.items():
            publication.write(name, content)
        return restored.stats

    return publish(wanted, produce)


def _inputs(spec: TokenizerSpec) -> tuple[str, ...]:
    return tuple(sorted(map(raw_path, set(spec.repos)), key=str.encode))


def _training(recipe: TokenizerRecipe) -> dict[str, Any]:
    """Return what decides the merges, apart from the sources."""
    return {
        "recipe": asdict(recipe),
        "fixed_vocabulary": fixed_sha256(),
        "splitter": sha256_bytes(whitespace_recipe(recipe.whitespace).pattern.encode()),
    }


def _fingerprint(spec: TokenizerSpec, inputs: Iterable[Artifact]) -> str:
    """Return the fingerprint of a training: what it reads, and how."""
    read = [artifact.manifest.sha256 for artifact in inputs]
    without = {"removed": _left_out(spec)} if spec.removed else {}
    return fingerprint(
        {"dataset": spec.dataset, "version": VERSION, **_training(spec.recipe), "inputs": read, **without}
    )


def _left_out(spec: TokenizerSpec) -> list[str]:
    return sorted(removal.what for removal in spec.removed)


def _trained(spec: TokenizerSpec) -> TokenizerPin | None:
    """Return the pin of what these sources and this recipe gave before, or None if the registry lacks it."""
    inputs = [artifact for path in _inputs(spec) if (artifact := find_artifact(spec.root, path)) is not None]
    if len(inputs) < len(_inputs(spec)):
        return None
    commit = trained_commit(spec.root, _fingerprint(spec, inputs))
    try:
        return committed_pin(spec.root, commit) if commit else None
    except LineageGap:
        return None


def _recipe(spec: TokenizerSpec) -> TokenizerRecipe:
    """Return the recipe of the pinned commit. If the registry lacks it, `run` raises unless the artifact is current."""
    if spec.pin is None:
        return spec.recipe
    try:
        return committed_recipe(spec.root, spec.pin.commit)[1]
    except LineageGap:
        return spec.recipe


def training_files(raw: Artifact, removed: Sequence[Removal] = ()) -> list[SourceFile]:
    """Return the source files of a repository that train the tokenizer: the selected ones, in path order."""
    name = RepoRef.parse(raw.manifest.partition).name
    patterns = [removal.path or "*" for removal in removed if removal.repository == name]
    return [file for file in without_removed(source_files(raw), patterns) if not file.skipped]


def training_texts(inputs: Iterable[Artifact], removed: Sequence[Removal] = ()) -> Iterator[bytes]:
    """Yield the texts that train a tokenizer, in order, without removed files."""
    return (data for _, _, data in _texts(tuple(inputs), removed))


def _texts(inputs: tuple[Artifact, ...], removed: Sequence[Removal]) -> Iterator[tuple[str, SourceFile, bytes]]:
    for raw in inputs:
        with blob_reader(raw) as reader:
            for file, data in reader.read_all(training_files(raw, removed)):
                yield raw.manifest.partition, file, data


def _train_once(spec: TokenizerSpec, memory: CountCache, progress: Progress) -> TokenizerPin:
    """Train and register under a lock of these inputs. A process that waited finds the result of the other one."""
    with writing(spec.root, f"{tokenizer_path(spec.dataset)}/training"), reading(spec.root, _inputs(spec)):
        inputs = tuple(open_artifact(spec.root, path).verify() for path in _inputs(spec))
        return _trained(spec) or _register(spec, inputs, memory, progress)


def _register(
    spec: TokenizerSpec, inputs: tuple[Artifact, ...], memory: CountCache, progress: Progress
) -> TokenizerPin:
    files = sum(len(training_files(raw, spec.removed)) for raw in inputs)
    trained = _train(spec, inputs, files, memory, progress)
    texts = _texts(inputs, spec.removed)
    statistics = _measure(Encoder(trained.model, threads=worker_count()), texts, files, progress).finish(trained)
    contents = {
        TOKENIZER_FILE: dump_model(trained.model),
        STATISTICS_FILE: statistics.to_bytes(),
        **_described(spec, inputs),
    }
    commit = commit_tokenizer(spec.root, spec.dataset, contents, _fingerprint(spec, inputs))
    return committed_pin(spec.root, commit)


def _train(
    spec: TokenizerSpec, inputs: tuple[Artifact, ...], files: int, memory: CountCache, progress: Progress
) -> Trained:
    """Train. Counting is the first third of the progress, merging the second; the caller's measuring is the last."""

    def counted(done: int) -> None:
        progress(done, 3 * files)

    def merged(made: int, wanted: int) -> None:
        progress(files + files * made // max(1, wanted), 3 * files)

    parts = (part for raw in inputs for part in portions(raw, training_files(raw, spec.removed)))
    counter = count_portions(parts, spec.recipe, partial(count_texts, recipe=spec.recipe), memory, counted)
    trained = train_counted(counter, spec.recipe, merged)
    progress(2 * files, 3 * files)  # a small corpus has no pair left before the vocabulary is full
    return trained


def _measure(
    encoder: Encoder, texts: Iterator[tuple[str, SourceFile, bytes]], files: int, progress: Progress
) -> Measure:
    measure, done = Measure(encoder), 0
    entries = ((repo, _language(file), data) for repo, file, data in texts)
    for batch in batches(entries, lambda text: len(text[2])):
        measure.add(batch)
        done += len(batch)
        progress(2 * files + done, 3 * files)
    return measure


def _described(spec: TokenizerSpec, inputs: tuple[Artifact, ...]) -> dict[str, bytes]:
    """Return what a commit records about its training."""
    listed = [{"path": raw.path, "manifest_sha256": raw.manifest.sha256} for raw in inputs]
    without = {"removed": _left_out(spec)} if spec.removed else {}
    recipe = {"dataset": spec.dataset, "recipe": asdict(spec.recipe), "version": VERSION}
    return {
        RECIPE_FILE: canonical_json(recipe),
        CORPUS_FILE: canonical_json({"inputs": listed, "sha256": sha256_bytes(canonical_json(listed)), **without}),
    }


def _language(file: SourceFile) -> str:
    return f"{file.language or 'other'} {'header' if file.header else 'source'}"
