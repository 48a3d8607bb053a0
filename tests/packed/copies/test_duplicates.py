"""Documents that several repositories have: in clusters beside the rows, and out of them where the recipe says so."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import orjson
import pytest
import zstandard

from megacpp_assets.contract import columns as c
from megacpp_assets.contract.corpus import Corpus as RecipesCorpus
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.lock.corpus_lock import CorpusLock, RepoPin
from megacpp_assets.contract.names import TRAIN_SPLIT
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.contract.recipe.documents import MixtureRecipe
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.packed.stage import PackedRowsSpec, run
from megacpp_assets.packed.stage import spec as spec_of
from megacpp_assets.quality.packed import check
from megacpp_assets.storage.artifact import Artifact
from megacpp_assets.storage.jsonl import write_lines
from megacpp_assets.storage.root.layout import enriched_path
from tests.packed.enriched_documents import ABSEIL, DATASET, FMT, Corpus, document, publish_enriched
from tests.packed.test_stage import _taken
from tests.quality.planting import seal

LINES = [f"int value_{n} = compute_{n}(left_{n}, right_{n});" for n in range(40)]
TEXT = "\n".join(LINES)
NEAR = "\n".join([*LINES[:38], "void changed();"])
OTHER = "\n".join(f"static_assert(sizeof(other_{n}) == {n}, other_name_{n});" for n in range(40))


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> PackedRowsSpec:
    root = tmp_path_factory.mktemp("twice")
    texts = {
        ABSEIL: {"a-text": TEXT, "a-again": TEXT, "a-other": OTHER},
        FMT: {"f-same": TEXT, "f-near": NEAR, "f-short": "int x;"},
    }
    for repo, named in texts.items():
        made = [
            document(repo, name, tokens=90, chunks=3, seed=i, text=text) for i, (name, text) in enumerate(named.items())
        ]
        publish_enriched(root, repo, [made])
    return Corpus(root, {FMT: [], ABSEIL: []}, {}).spec()


def _clustered(artifact: Artifact) -> list[tuple[str, str, bool]]:
    data = zstandard.ZstdDecompressor().decompress(artifact.file(c.DUPLICATES_FILE).read_bytes())
    lines = [orjson.loads(line) for line in data.splitlines()]
    return [(line["cluster"], line["doc_id"], line["exact"]) for line in lines]


@pytest.mark.parametrize(
    ("duplicates", "left"),
    [
        ("report", {"a-text", "a-again", "a-other", "f-same", "f-near", "f-short"}),
        ("drop_exact", {"a-text", "a-again", "a-other", "f-near", "f-short"}),
        ("drop_near", {"a-text", "a-again", "a-other", "f-short"}),
    ],
)
def test_clusters_are_recorded_and_the_first_repository_keeps_its_documents(
    spec: PackedRowsSpec, duplicates: str, left: set[str]
) -> None:
    artifact = run(replace(spec, duplicates=duplicates))
    assert set(_taken(artifact)) == left
    copies = _clustered(artifact)
    assert [(name, exact) for _, name, exact in copies] == [
        ("a-text", False), ("a-again", False), ("f-same", True), ("f-near", False),
    ]  # fmt: skip
    assert {cluster for cluster, *_ in copies} == {hashlib.sha256(TEXT.encode()).hexdigest()[:16]}
    assert artifact.manifest.stats["copies_per_repo"] == {ABSEIL.key: 0, FMT.key: 2}
    assert artifact.manifest.stats["duplicate_documents"] == 6 - len(left)
    assert [result.name for result in check(artifact) if not result.passed] == []


def test_documents_that_only_include_headers_are_not_compared(tmp_path: Path) -> None:
    headers = [f"#include <header_{n}.h>" for n in range(30)]
    lists = {
        "one": "#include <stddef.h>\n\n",
        "many": "/* Headers. */\n#ifdef _WIN32\n" + "\n".join(headers) + "\n#endif // _WIN32\n",
        "code": "\n".join([*headers, "int value;"]),
    }
    for repo in (ABSEIL, FMT):
        made = [
            document(repo, f"{repo.name}-{name}", tokens=90, chunks=3, seed=1, text=text)
            for name, text in lists.items()
        ]
        publish_enriched(tmp_path, repo, [made])
    artifact = run(replace(Corpus(tmp_path, {FMT: [], ABSEIL: []}, {}).spec(), duplicates="drop_near"))
    assert [name for _, name, _ in _clustered(artifact)] == ["abseil-cpp-code", "fmt-code"]
    assert set(_taken(artifact)) == {f"{repo.name}-{name}" for repo in (ABSEIL, FMT) for name in lists} - {"fmt-code"}
    assert [result.name for result in check(artifact) if not result.passed] == []


def _versions(root: Path) -> PackedRowsSpec:
    """Two tags of one project under two names: documents of the tip, and whole files (v2) of commits before it."""
    old, new, v2 = RepoRef("lib-old", "v1"), RepoRef("lib", "v2"), "v2_simple_4096"
    moved, changed = "\n".join([*LINES[2:], "int a;"]), "\n".join([*LINES[:36], "void f();", "int b;"])
    texts: dict[RepoRef, dict[int | str, dict[str, tuple[str, str]]]] = {
        new: {4096: {"n-tip": ("value.cc", TEXT)}, v2: {"n-v2": ("value.cc", moved), "n-other": ("other.cc", OTHER)}},
        old: {
            4096: {"o-tip": ("value.cc", NEAR)},
            v2: {"o-v2": ("value.cc", changed), "o-same": ("other.cc", OTHER), "o-copy": ("copy.cc", NEAR + "int y;")},
        },
    }
    for repo, sets in texts.items():
        made = {
            name: [
                document(repo, doc_id, tokens=90, chunks=3, seed=seed, text=text, filepath=path)
                for seed, (doc_id, (path, text)) in enumerate(documents.items())
            ]
            for name, documents in sets.items()
        }
        publish_enriched(root, repo, [made.pop(4096)], others=made)
    spec = Corpus(root, {new: [], old: []}, {}).spec()
    return replace(spec, duplicates="report", blend={v2: 1.0})


def test_versions_of_one_file_are_no_near_duplicates_of_each_other(tmp_path: Path) -> None:
    spec = replace(_versions(tmp_path), projects={"lib-old": "lib"})
    artifact = run(spec)
    copies = {name: exact for _, name, exact in _clustered(artifact)}
    # The tips of two tags are compared, and files of different paths. Equal texts are copies even within a history.
    assert copies == {
        "n-tip": False,
        "o-tip": False,
        "n-v2": False,
        "o-copy": False,
        "n-other": True,
        "o-same": False,
    }
    assert "o-v2" not in copies, "the two others of value.cc are versions of its file"
    assert [result.name for result in check(artifact) if not result.passed] == []


def test_documents_of_two_dataset_versions_are_compared_across_projects(tmp_path: Path) -> None:
    artifact = run(_versions(tmp_path))
    copies = {name: exact for _, name, exact in _clustered(artifact)}
    assert set(copies) == {"n-tip", "n-v2", "n-other", "o-tip", "o-v2", "o-same", "o-copy"}
    assert artifact.manifest.stats["copies_per_repo"] == {"lib-old@v1": 0, "lib@v2": 3}
    left_out = run(replace(_versions(tmp_path / "again"), duplicates="drop_near"))
    assert set(_taken(left_out)) == {"o-tip", "o-v2", "o-same", "o-copy"}
    assert [result.name for result in check(left_out) if not result.passed] == []


def test_repositories_of_one_url_are_one_project(tmp_path: Path) -> None:
    named = (("lib", "https://a.org/lib.git"), ("lib-old", "https://a.org/lib"), ("other", "https://a.org/other"))
    pins = tuple(RepoPin(name, "v1", "v1", "0" * 40, url, "", "") for name, url in named)
    recipe = Recipe("d", "sample", ("lib", "lib-old", "other"), ("4k",))
    assert spec_of(RecipesCorpus(tmp_path, CorpusLock("d", "", pins), recipe), "base/4k").projects == {"lib-old": "lib"}


def _rows(folder: Path, names: Sequence[str], duplicates: str = "drop_near") -> Artifact:
    """The rows of repositories with equal and nearly equal documents, made in `folder` in the given order."""
    texts = {"a": [TEXT, OTHER], "b": [NEAR, "int x;"], "c": [OTHER, TEXT], "d": [NEAR.replace("value_3", "v")]}
    for name in names:
        repo = RepoRef(name, "v1")
        if not (folder / enriched_path(DATASET, repo)).exists():
            documents = enumerate(texts[name])
            made = [document(repo, f"{name}{i}", tokens=90, chunks=3, seed=i, text=text) for i, text in documents]
            publish_enriched(folder, repo, [made])
    spec = Corpus(folder, {RepoRef(name, "v1"): [] for name in names}, {}).spec()
    return run(replace(spec, duplicates=duplicates))


def _hashes(artifact: Artifact) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in artifact.files("")]


def _rows_of_one(folder: Path) -> list[str]:
    names = random.Random(folder.name).sample("abcd", 4)
    return _hashes(_rows(folder, names))


@pytest.mark.parametrize("workers", [2, *(pytest.param(number, marks=pytest.mark.campaign) for number in (1, 4))])
def test_the_same_documents_are_left_out_for_any_number_of_workers_and_any_order(tmp_path: Path, workers: int) -> None:
    expected = _hashes(_rows(tmp_path / "expected", "abcd"))
    folders = [tmp_path / str(number) for number in range(4)]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        assert list(pool.map(_rows_of_one, folders)) == [expected] * 4


def test_a_repository_more_gives_what_all_give_from_nothing(tmp_path: Path) -> None:
    assert len(_taken(_rows(tmp_path / "grown", "abc"))) == 3
    assert _hashes(_rows(tmp_path / "grown", "abcd")) == _hashes(_rows(tmp_path / "whole", "dcba"))


def test_duplicates_are_searched_only_if_the_recipe_asks(spec: PackedRowsSpec) -> None:
    artifact = run(spec)
    assert artifact.files("", c.DUPLICATES_FILE) == [] and len(_taken(artifact, TRAIN_SPLIT)) == 6
    with pytest.raises(SpecError, match=r"mixture.duplicates; expected by_catalogue or ignore or .*; found 'drop'"):
        MixtureRecipe(duplicates="drop")


def test_the_check_detects_a_cluster_that_is_not_recorded(spec: PackedRowsSpec, tmp_path: Path) -> None:
    artifact = run(replace(spec, duplicates="report"))
    write_lines(artifact.file(c.DUPLICATES_FILE), [])
    (failed,) = (result for result in check(seal(artifact)) if not result.passed)
    assert failed.name == "duplicates_recorded"
    assert (
        "line 1 of duplicates_train.jsonl.zst differs: nothing, expected {" in failed.found and "a-text" in failed.found
    )
