"""Stage 3a, `tokenizer`: pinned sources in; `tokenizer.json`, `tokenizer.lock`, `statistics.json`, `quality.md` and a
registry commit out. Equal sources and recipe give equal bytes and an equal commit, with any number of workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from megacpp_assets.compute.select import worker_count
from megacpp_assets.contract.canonical import canonical_json, sha256_bytes
from megacpp_assets.contract.corpus_lock import TokenizerPin
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.progress import Progress, silent
from megacpp_assets.contract.recipe import TokenizerRecipe
from megacpp_assets.contract.source_file import SourceFile
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import blob_reader, source_files
from megacpp_assets.storage.layout import raw_path, tokenizer_path
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.tokenizer.artifact import TOKENIZER_FILE, dump_model
from megacpp_assets.tokenizer.device import train_texts
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.fixed import fixed_sha256
from megacpp_assets.tokenizer.lock import BPE_MODEL, GOLDEN_TEXTS, LOCK_FILE, Golden, TokenizerLock
from megacpp_assets.tokenizer.model import special_ids
from megacpp_assets.tokenizer.page import PAGE_FILE, quality_page
from megacpp_assets.tokenizer.registry import commit_tokenizer, registered_commits
from megacpp_assets.tokenizer.statistics import STATISTICS_FILE, Measure, Statistics
from megacpp_assets.tokenizer.train import Trained, batches
from megacpp_assets.tokenizer.whitespace import whitespace_recipe

VERSION = "3"
RECIPE_FILE = "recipe.json"
CORPUS_FILE = "corpus.json"


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """Which pinned repositories train the tokenizer of `dataset`, and how."""

    root: Path
    dataset: str
    repos: tuple[RepoRef, ...]
    recipe: TokenizerRecipe


def target(spec: TokenizerSpec) -> Target:
    """The artifact and everything that decides its bytes; the order of `spec.repos` does not."""
    return Target(
        root=spec.root,
        path=tokenizer_path(spec.dataset),
        stage="tokenizer",
        partition=spec.dataset,
        version=VERSION,
        config={
            "recipe": asdict(spec.recipe),
            "fixed_vocabulary": fixed_sha256(),
            "splitter": sha256_bytes(whitespace_recipe(spec.recipe.whitespace).pattern.encode()),
        },
        inputs=tuple(sorted(map(raw_path, set(spec.repos)), key=str.encode)),
    )


def run(spec: TokenizerSpec, progress: Progress = silent) -> Artifact:
    """Train, unless the artifact is current; its tokenizer is in the registry afterwards in either case."""

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        return _produce(spec, inputs, publication, progress)

    artifact = publish(target(spec), produce)
    if pin_of(artifact).commit not in registered_commits(spec.root):
        _register(artifact)
    return artifact


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


def _produce(
    spec: TokenizerSpec, inputs: tuple[Artifact, ...], publication: Publication, progress: Progress
) -> Mapping[str, Any]:
    files = sum(len(training_files(raw)) for raw in inputs)
    trained = _train(spec, inputs, files, progress)
    data = dump_model(trained.model)
    encoder = Encoder(trained.model, threads=worker_count())
    statistics = _measure(encoder, inputs, files, progress).finish(trained)
    contents = _contents(spec.dataset, inputs, spec.recipe)
    commit = commit_tokenizer(
        spec.root,
        spec.dataset,
        {TOKENIZER_FILE: data, STATISTICS_FILE: statistics.to_bytes(), **contents},
    )
    lock = TokenizerLock(
        model=BPE_MODEL,
        commit=commit,
        sha256=sha256_bytes(data),
        size=len(data),
        recipe=spec.recipe,
        special_ids=special_ids(),
        goldens=tuple(Golden(text, tuple(encoder.encode_batch([text]).ids.tolist())) for text in GOLDEN_TEXTS),
    )
    for name, content in (
        (TOKENIZER_FILE, data),
        (LOCK_FILE, lock.to_bytes()),
        (STATISTICS_FILE, statistics.to_bytes()),
        (PAGE_FILE, quality_page(statistics).encode()),
    ):
        publication.write(name, content)
    return {"vocabulary_size": spec.recipe.vocabulary_size, **_stats(statistics, commit)}


def _train(spec: TokenizerSpec, inputs: tuple[Artifact, ...], files: int, progress: Progress) -> Trained:
    """Counting is the first third of the progress, merging the second; measuring will be the last."""

    def counted() -> Iterator[bytes]:
        for done, (_, _, data) in enumerate(_texts(inputs)):
            yield data
            progress(done + 1, 3 * files)

    def merged(made: int, wanted: int) -> None:
        progress(files + files * made // max(1, wanted), 3 * files)

    trained = train_texts(counted(), spec.recipe, merged)
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


def _register(artifact: Artifact) -> None:
    """Put a current artifact back into a registry that lost it; the commit is a function of the artifact alone."""
    files = {name: artifact.file(name).read_bytes() for name in (TOKENIZER_FILE, STATISTICS_FILE)}
    inputs = [{"path": entry.path, "manifest_sha256": entry.manifest_sha256} for entry in artifact.manifest.inputs]
    files |= _described(artifact.manifest.partition, inputs, artifact.manifest.config["recipe"])
    commit_tokenizer(artifact.root, artifact.manifest.partition, files)


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


def _stats(statistics: Statistics, commit: str) -> dict[str, Any]:
    return {
        "documents": statistics.whole.files,
        "bytes": statistics.whole.bytes,
        "tokens": statistics.whole.tokens,
        "unique_words": statistics.unique_words,
        "merges": statistics.merges,
        "learned_ids": statistics.learned_ids,
        "unused_ids": statistics.unused_ids,
        "round_trip_failures": statistics.round_trip_failures,
        "commit": commit,
    }
