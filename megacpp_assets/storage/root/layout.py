"""The paths of artifacts in the data root. They are relative to the root, with '/' between parts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from megacpp_assets.contract import disks
from megacpp_assets.contract.canonical import sha256_bytes
from megacpp_assets.contract.document_sets import DocumentSet
from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import Mixture, RepoRef
from megacpp_assets.storage.remote import SCHEME, open_root

DATA_ROOT_VARIABLE = disks.DATA_ROOT_VARIABLE
LOCK_FILE = "corpus.lock"
LOCK_HISTORY = "corpus.lock.d"
"""The folder of all earlier states of the lock, numbered."""
CACHE = "cache"
"""The folder of caches, which are not part of any artifact. Removing it costs only time."""
RECIPES = "recipes"
"""The folder of the recipes of datasets, each under its hash."""
RECEIPTS = "receipts"
"""The folder of receipts: the cost of each finished step, and the results of its checks."""
HISTORY = "manifests"
"""The folder of every sealed manifest under its hash, so that replaced artifacts stay traceable."""
REGISTRY = "tokenizer/registry.git"
ARTIFACT_DEPTHS = {
    "cpp_raw": 1,
    "curated": 2,
    "commits": 2,
    "commit_documents": 2,
    "commit_windows": 2,
    "resolved_windows": 2,
    "jsonl": 2,
    "tokenizer": 1,
    "parquet": 2,
    "enriched": 2,
    "packed": 3,
    "megatron": 3,
    "checkpoints": 4,
}
"""The folder of each kind of artifact, and the depth of artifacts below it."""
ARTIFACT_FOLDERS = tuple(ARTIFACT_DEPTHS)
_LONGEST_NAME = 250
"""In bytes. File systems allow 255, and a suffix may follow."""
_DIGITS = 32


def data_root(value: str | None = None) -> Path:
    """Return the data root as an absolute path: of `value`, else of `MEGACPP_DATA_ROOT`, else of `data` from here.

    For `gs://BUCKET/FOLDER` that is its cache on this machine, brought up to date (storage/bucket/root.py).
    """
    chosen = value or os.environ.get(DATA_ROOT_VARIABLE) or "data"
    if chosen.startswith(SCHEME):
        return open_root(chosen)
    if "://" in chosen:
        do = "correct --data-root"
        raise SpecError("data root", expected="a local path, or gs://BUCKET/FOLDER", found=chosen, do=do)
    given = Path(chosen).expanduser()
    if given.is_symlink() and not given.exists():
        do = "create that folder, or name another path"
        raise SpecError(
            f"data root {given}", expected="a folder", found=f"a link to {given.readlink()}, which is missing", do=do
        )
    root = given.resolve()
    if root.exists() and not root.is_dir():
        raise SpecError(f"data root {root}", expected="a folder", found="a file", do="name another path")
    return root


def make_root(root: Path) -> None:
    """Create the folder of a data root if it is missing. `SpecError` if the system refuses."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        expected, do = "a folder that can be created", "name another path, or grant permission to create this one"
        raise SpecError(f"data root {root}", expected=expected, found=error.strerror, do=do) from error


def file_name(path: str) -> str:
    """Return `path` as the name of one file, without slashes. Where it is too long, a hash replaces its end."""
    plain = path.replace("/", "__")
    if len(plain.encode()) <= _LONGEST_NAME:
        return plain
    begin = plain.encode()[: _LONGEST_NAME - _DIGITS].decode(errors="ignore")
    return begin + sha256_bytes(plain.encode())[:_DIGITS]


def raw_path(repo: RepoRef) -> str:
    """`pinned_repos`: bare git objects of one commit and its file list."""
    return f"cpp_raw/{repo.key}"


def curated_path(dataset: str, repo: RepoRef) -> str:
    """Decisions on the files of one commit."""
    return f"curated/{dataset}/{repo.key}"


def licences_cache_path() -> str:
    """Classified licence heads of all repositories and datasets, by content and detector."""
    return f"{CACHE}/licences"


def semantic_cache_path() -> str:
    """Parsed units of all repositories and datasets, by content."""
    return f"{CACHE}/semantic"


def words_cache_path() -> str:
    """Word counts of all repositories and datasets, by content."""
    return f"{CACHE}/words"


def seen_cache_path() -> str:
    """Return the file states of verified artifacts, by the artifact's path."""
    return f"{CACHE}/seen"


def checked_cache_path() -> str:
    """Records of repositories that passed their check."""
    return f"{CACHE}/checked"


def lineage_cache_path() -> str:
    """Facts that were read from manifests."""
    return f"{CACHE}/lineage"


def decoded_cache_path(dataset: str, budgets: Sequence[DocumentSet]) -> str:
    """Return the decoded documents of some budgets, for the mixtures of a dataset."""
    return f"{CACHE}/decoded/{dataset}/{'_'.join(map(str, budgets))}"


def jsonl_path(dataset: str, repo: RepoRef) -> str:
    """`semantic_jsonl`: semantic JSONL shards."""
    return f"jsonl/{dataset}/{repo.key}"


def commits_path(dataset: str, repo: RepoRef) -> str:
    """The history of a pin: its objects and the list of its commits."""
    return f"commits/{dataset}/{repo.key}"


def commit_documents_path(dataset: str, repo: RepoRef) -> str:
    """JSONL shards of the dataset versions that are made of commits."""
    return f"commit_documents/{dataset}/{repo.key}"


def commit_windows_path(dataset: str, repo: RepoRef) -> str:
    """JSONL shards of windows around the functions that commits modified."""
    return f"commit_windows/{dataset}/{repo.key}"


def resolved_windows_path(dataset: str, repo: RepoRef) -> str:
    """JSONL shards of windows around those functions, with callers and callees that libclang resolved."""
    return f"resolved_windows/{dataset}/{repo.key}"


def tokenizer_path(dataset: str) -> str:
    """`tokenizer`: `tokenizer.json`, `tokenizer.lock`."""
    return f"tokenizer/{dataset}"


def parquet_path(dataset: str, repo: RepoRef) -> str:
    """`tokenized_parquet`: token parquet."""
    return f"parquet/{dataset}/{repo.key}"


def enriched_path(dataset: str, repo: RepoRef) -> str:
    """`v6_enriched`: token-level columns."""
    return f"enriched/{dataset}/{repo.key}"


def packed_path(dataset: str, mixture: Mixture) -> str:
    """`packed_rows`: fixed-length rows."""
    return f"packed/{dataset}/{mixture.key}"


def megatron_path(dataset: str, mixture: Mixture) -> str:
    """`megatron_bin_idx`: `<dataset>_{train,valid}.{bin,idx}` and sidecars."""
    return f"megatron/{dataset}/{mixture.key}"


def checkpoints_path(dataset: str, mixture: Mixture) -> str:
    """`trained_checkpoint`: the folder that holds one artifact per saved step."""
    return f"checkpoints/{dataset}/{mixture.key}"


def checkpoint_path(dataset: str, mixture: Mixture, step: int) -> str:
    """`trained_checkpoint`: one checkpoint."""
    return f"{checkpoints_path(dataset, mixture)}/step_{step:08d}"
