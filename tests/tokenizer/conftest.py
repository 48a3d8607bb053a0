"""Real inputs for the tokenizer's tests: C++ text, a trained model, a `pinned_repos` artifact of git objects."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import TokenizerRecipe
from megacpp_assets.contract.sources.source_file import FILES_LIST, OBJECTS, SourceFile, dump_files
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.git_objects import git_environment
from megacpp_assets.storage.publish import Publication, Target, publish
from megacpp_assets.storage.root.layout import raw_path
from megacpp_assets.tokenizer._bpe import Counter
from megacpp_assets.tokenizer.encoder import Encoder
from megacpp_assets.tokenizer.report.statistics import STATISTICS_FILE, Statistics
from megacpp_assets.tokenizer.stage import TokenizerSpec, run
from megacpp_assets.tokenizer.train import Trained, train

ROOT = Path(__file__).parents[2]
REPO = RepoRef("demo", "v1.0.0")
RECIPE = TokenizerRecipe(vocabulary_size=7700)

MakeRaw = Callable[[Path, dict[str, bytes]], Artifact]


def native_sources() -> dict[str, bytes]:
    """The project's own C++: real code that every checkout has."""
    return {file.name: file.read_bytes() for file in sorted((ROOT / "native" / "tokenizer").iterdir())}


def statistics_of(artifact: Artifact) -> Statistics:
    """The statistics of a published tokenizer."""
    return Statistics.from_bytes(artifact.file(STATISTICS_FILE).read_bytes())


def add_words(counter: Counter, words: Mapping[bytes, int]) -> None:
    """Count words that are split already."""
    lengths = np.array([len(word) for word in words], dtype=np.uint32)
    counter.add_words(b"".join(words), lengths, np.array(list(words.values()), dtype=np.int64))


def words_in(counter: Counter) -> dict[bytes, int]:
    """The counter's words and how often each occurs."""
    data, lengths, counts = counter.dump()
    ends = lengths.cumsum().tolist()
    starts = [0, *ends]
    spans = zip(starts, ends, counts.tolist(), strict=False)
    return {data[start:end]: count for start, end, count in spans}


def _git(repository: Path, *arguments: str, data: bytes = b"") -> str:
    command = ["git", "--git-dir", str(repository), *arguments]
    done = subprocess.run(command, input=data, capture_output=True, check=True, env=git_environment())
    return done.stdout.decode().strip()


def publish_raw(root: Path, files: dict[str, bytes], repo: RepoRef = REPO) -> Artifact:
    """A `pinned_repos` artifact: bare objects and a file list; `*.md` is listed but not selected."""

    def produce(publication: Publication, inputs: tuple[Artifact, ...]) -> dict[str, int]:
        objects = publication.directory / OBJECTS
        _git(objects, "init", "--bare", "--quiet", "--template=", str(objects))
        listed = [
            SourceFile(
                path=path,
                blob=_git(objects, "hash-object", "-w", "--stdin", data=data),
                bytes=len(data),
                language="c++",
                header=path.endswith(".hpp"),
                license="Apache-2.0",
                skipped="not C/C++" if path.endswith(".md") else "",
            )
            for path, data in sorted(files.items(), key=lambda item: os.fsencode(item[0]))
        ]
        for path in sorted(path for path in objects.rglob("*") if path.is_file()):
            publication.adopt(path.relative_to(publication.directory).as_posix())
        publication.write(FILES_LIST, dump_files(listed))
        return {"files": len(listed)}

    target = Target(root, raw_path(repo), "pinned_repos", repo.key, "test", {"files": len(files)})
    return publish(target, produce)


@pytest.fixture(scope="session")
def trained() -> Trained:
    return train(native_sources().values(), RECIPE)


@pytest.fixture(scope="session")
def encoder(trained: Trained) -> Encoder:
    return Encoder(trained.model)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """A tokenizer artifact made by the stage. Tests that change it work on a copy."""
    root = tmp_path_factory.mktemp("data")
    publish_raw(root, {**native_sources(), "README.md": b"not selected"})
    return run(TokenizerSpec(root, "demo_v1", (REPO,), RECIPE))
