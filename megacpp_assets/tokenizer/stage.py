"""Stage 3a, `tokenizer`: pinned sources in; `tokenizer.json`, `tokenizer.lock`, `statistics.json`, `quality.md` and a
registry commit out. Equal sources and recipe give equal bytes and an equal commit, with any number of workers.

A pinned tokenizer is never trained again: its files come from its registry commit, whatever has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from megacpp_assets.compute.select import worker_count
from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.corpus import Corpus
from megacpp_assets.contract.corpus_lock import TokenizerPin
from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.recipe import TokenizerRecipe
from megacpp_assets.contract.sources.source_file import SourceFile
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.cache import Cache
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.layout import raw_path, tokenizer_path, words_cache_path
from megacpp_assets.storage.publish import Publication, Target, current_artifact, publish
from megacpp_assets.storage.work import write_work
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE, dump_model
from megacpp_assets.tokenizer.contents import (
    CORPUS_FILE,
    RECIPE_FILE,
    Contents,
    committed_recipe,
    contents_of,
    restore,
)
from megacpp_assets.tokenizer.counting import Memory, count_portions, portions
from megacpp_assets.tokenizer.device import count_texts, train_counted
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.fixed import fixed_sha256
from megacpp_assets.tokenizer.lock import LOCK_FILE, TokenizerLock
from megacpp_assets.tokenizer.registry import commit_tokenizer, registered_commits
from megacpp_assets.tokenizer.report.statistics import STATISTICS_FILE, Measure, Statistics
from megacpp_assets.tokenizer.train import Trained, batches
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

VERSION = "3"


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """Which pinned repositories train the tokenizer of `dataset`, and how; or the `pin` of one that they trained."""

    root: Path
    dataset: str
    repos: tuple[RepoRef, ...]
    recipe: TokenizerRecipe
    pin: TokenizerPin | None = None


def spec(corpus: Corpus, _partition: str) -> TokenizerSpec:
    """What the one tokenizer of `corpus` is made from. Once pinned it comes from its registry: no tag retrains it."""
    pinned = corpus.lock.tokenizer
    repos = tuple(RepoRef.parse(key) for key in pinned.repos) if pinned else corpus.repo_refs
    return TokenizerSpec(corpus.root, corpus.dataset, repos, corpus.recipe.tokenizer, pinned)


def target(spec: TokenizerSpec) -> Target:
    """The artifact and everything that decides its bytes; the order of `spec.repos` does not.

    A pinned tokenizer has the recipe of its commit, and an artifact of another commit is not current.
    """
    recipe = _recipe(spec)
    return Target(
        root=spec.root,
        path=tokenizer_path(spec.dataset),
        stage="tokenizer",
        partition=spec.dataset,
        version=VERSION,
        config={
            "recipe": asdict(recipe),
            "fixed_vocabulary": fixed_sha256(),
            "splitter": sha256_bytes(whitespace_recipe(recipe.whitespace).pattern.encode()),
        },
        inputs=tuple(sorted(map(raw_path, set(spec.repos)), key=str.encode)),
        states={"commit": spec.pin.commit} if spec.pin else {},
    )


def run(spec: TokenizerSpec, progress: Progress = silent) -> Artifact:
    """Train or, where one is pinned, restore it, unless the artifact is current; the registry has it afterwards.

    `LineageGap` or `TokenizerDrift` for a pinned one that cannot be restored; nothing was overwritten then.
    """
    wanted = target(spec)
    if spec.pin is not None and (current := current_artifact(wanted)) is not None:
        return _registered(current)
    restored = restore(spec.root, spec.dataset, spec.pin) if spec.pin is not None else None
    memory = Memory(Cache(spec.root / words_cache_path()))

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        made = restored or _produce(spec, inputs, memory, progress)
        for name, content in made.files.items():
            publication.write(name, content)
        return made.stats

    artifact = publish(wanted, produce)
    if memory.counted or memory.reused:
        write_work(artifact, {"portions_counted": memory.counted, "portions_reused": memory.reused})
        memory.store.trim()
    return _registered(artifact)


def _recipe(spec: TokenizerSpec) -> TokenizerRecipe:
    """The recipe of the pinned commit. Where the registry lacks it `run` says so, unless the artifact needs nothing."""
    if spec.pin is None:
        return spec.recipe
    try:
        return committed_recipe(spec.root, spec.pin.commit)[1]
    except LineageGap:
        return spec.recipe


def read_lock(artifact: Artifact) -> TokenizerLock:
    """The lock of a published tokenizer."""
    return TokenizerLock.from_bytes(artifact.file(LOCK_FILE).read_bytes())


def read_statistics(artifact: Artifact) -> Statistics:
    """The statistics of a published tokenizer."""
    return Statistics.from_bytes(artifact.file(STATISTICS_FILE).read_bytes())


def pin_of(artifact: Artifact) -> TokenizerPin:
    """What `corpus.lock` holds of a published tokenizer."""
    return read_lock(artifact).pin


def training_files(raw: Artifact) -> list[SourceFile]:
    """The source files of a repository that train the tokenizer: the selected ones, in path order."""
    return [file for file in source_files(raw) if not file.skipped]


def training_texts(inputs: Iterable[Artifact]) -> Iterator[bytes]:
    """The texts that trained a tokenizer, from its inputs, in their order."""
    return (data for _, _, data in _texts(tuple(inputs)))


def _texts(inputs: tuple[Artifact, ...]) -> Iterator[tuple[str, SourceFile, bytes]]:
    for raw in inputs:
        with blob_reader(raw) as reader:
            for file, data in reader.read_all(training_files(raw)):
                yield raw.manifest.partition, file, data


def _produce(spec: TokenizerSpec, inputs: tuple[Artifact, ...], memory: Memory, progress: Progress) -> Contents:
    files = sum(len(training_files(raw)) for raw in inputs)
    trained = _train(spec, inputs, files, memory, progress)
    data = dump_model(trained.model)
    encoder = Encoder(trained.model, threads=worker_count())
    statistics = _measure(encoder, inputs, files, progress).finish(trained)
    commit = commit_tokenizer(
        spec.root,
        spec.dataset,
        {TOKENIZER_FILE: data, STATISTICS_FILE: statistics.to_bytes(), **_contents(spec.dataset, inputs, spec.recipe)},
    )
    return contents_of(commit, spec.recipe, encoder, data, statistics)


def _train(
    spec: TokenizerSpec, inputs: tuple[Artifact, ...], files: int, memory: Memory, progress: Progress
) -> Trained:
    """Counting is the first third of the progress, merging the second; measuring will be the last."""

    def counted(done: int) -> None:
        progress(done, 3 * files)

    def merged(made: int, wanted: int) -> None:
        progress(files + files * made // max(1, wanted), 3 * files)

    parts = (part for raw in inputs for part in portions(raw, training_files(raw)))
    counter = count_portions(parts, spec.recipe, partial(count_texts, recipe=spec.recipe), memory, counted)
    trained = train_counted(counter, spec.recipe, merged)
    progress(2 * files, 3 * files)  # a small corpus has no pair left before the vocabulary is full
    return trained


def _measure(encoder: Encoder, inputs: tuple[Artifact, ...], files: int, progress: Progress) -> Measure:
    measure, done = Measure(encoder), 0
    texts = ((repo, _language(file), data) for repo, file, data in _texts(inputs))
    for batch in batches(texts, lambda text: len(text[2])):
        measure.add(batch)
        done += len(batch)
        progress(2 * files + done, 3 * files)
    return measure


def _registered(artifact: Artifact) -> Artifact:
    """Put a current artifact back into a registry that lost it; the commit is a function of the artifact alone."""
    if pin_of(artifact).commit in registered_commits(artifact.root):
        return artifact
    files = {name: artifact.file(name).read_bytes() for name in (TOKENIZER_FILE, STATISTICS_FILE)}
    inputs = [{"path": entry.path, "manifest_sha256": entry.manifest_sha256} for entry in artifact.manifest.inputs]
    files |= _described(artifact.manifest.partition, inputs, artifact.manifest.config["recipe"])
    commit_tokenizer(artifact.root, artifact.manifest.partition, files)
    return artifact


def _contents(dataset: str, inputs: tuple[Artifact, ...], recipe: TokenizerRecipe) -> dict[str, bytes]:
    listed = [{"path": raw.path, "manifest_sha256": raw.manifest.sha256} for raw in inputs]
    return _described(dataset, listed, asdict(recipe))


def _described(dataset: str, inputs: list[dict[str, str]], recipe: Mapping[str, Any]) -> dict[str, bytes]:
    corpus = {"inputs": inputs, "sha256": sha256_bytes(canonical_json(inputs))}
    return {
        RECIPE_FILE: canonical_json({"dataset": dataset, "recipe": dict(recipe), "version": VERSION}),
        CORPUS_FILE: canonical_json(corpus),
    }


def _language(file: SourceFile) -> str:
    return f"{file.language or 'other'} {'header' if file.header else 'source'}"
