"""Fetches and lists a repository in a separate process under limits, so that a stranger's repository can exhaust
only that.
"""

from __future__ import annotations

import errno
import pickle
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from megacpp_assets.compute.executors.answers import unpack
from megacpp_assets.compute.executors.isolated import run_isolated
from megacpp_assets.compute.limits import allow, limit_files, limit_memory
from megacpp_assets.contract.errors import MegacppError, OverLimit, WorkerDied
from megacpp_assets.contract.lock.corpus_lock import RepoPin
from megacpp_assets.contract.recipe.documents import SourcesRecipe
from megacpp_assets.repos.fetch import fetch_commit
from megacpp_assets.repos.git import GitStopped
from megacpp_assets.repos.limits import over_limit
from megacpp_assets.repos.listing.listing import Listing, list_files

_GRACE_S = 60
_OUT_OF_CPU = f"exit code {-signal.SIGXCPU}"


@dataclass(frozen=True, slots=True)
class Fetching:
    """One pin, its data root and limits, and where the objects and the list of files go."""

    pin: RepoPin
    root: Path
    limits: SourcesRecipe
    git_dir: Path
    files: Path


def fetch_apart(fetching: Fetching) -> Listing:
    """Fetch the pin and write its list of files, in a separate process. Raises what `run_apart` raises."""
    listing: Listing = run_apart(Job(_fetch_and_list, fetching, fetching.pin.partition.key, fetching.limits))
    return listing


def _fetch_and_list(fetching: Fetching) -> Listing:
    survey = fetch_commit(fetching.pin, fetching.root, fetching.git_dir, fetching.limits)
    return list_files(fetching.pin, survey, fetching.git_dir, fetching.limits.path_bytes, fetching.files)


@dataclass(frozen=True, slots=True)
class Job:
    """A call `work(argument)` that reads what strangers wrote. `repository` names it in errors; `limits` bound its
    process.

    `work` must be a function of a module, because it is pickled.
    """

    work: Callable[[Any], Any]
    argument: Any
    repository: str
    limits: SourcesRecipe


def run_apart(job: Job) -> Any:
    """Return the result of the job, which runs in a separate process.

    Raises the expected errors of `job.work`, `OverLimit` for a limit that its process exceeds, and `WorkerDied` for any
    other end.
    """
    limits, repository = job.limits, job.repository
    answer, failure = unpack(run_isolated(pickle.dumps((run_limited, job)), limits.wall_seconds))
    if isinstance(answer, MegacppError):
        raise answer
    if failure is None:
        return answer
    reason = str(failure)
    if reason.startswith("timeout"):
        raise over_limit(repository, limits, "wall_seconds", "more")
    if reason.endswith(_OUT_OF_CPU):
        raise over_limit(repository, limits, "cpu_seconds", "more")
    raise WorkerDied(f"repository {repository}", expected="a process that ends well", found=reason, do="run it again")


def run_limited(job: Job) -> Any:
    """Return the result of the job, or its expected error. This runs in the limited process."""
    limits, repository = job.limits, job.repository
    limit_memory(limits.memory_bytes)
    limit_files(limits.total_bytes)
    # The parent enforces this limit, because it can also end git. This call helps where the parent cannot.
    allow(limits.cpu_seconds, limits.wall_seconds + _GRACE_S)
    try:
        return job.work(job.argument)
    except GitStopped as error:
        return over_limit(repository, limits, error.limit, str(error))
    except MegacppError as error:
        return error
    except MemoryError:
        return over_limit(repository, limits, "memory_bytes", "more")
    except OSError as error:
        return _of_a_limit(error, repository, limits) or _unforeseen(error, repository)


def _of_a_limit(error: OSError, repository: str, limits: SourcesRecipe) -> OverLimit | None:
    name = {errno.ENOMEM: "memory_bytes", errno.EFBIG: "total_bytes"}.get(error.errno or 0)
    return over_limit(repository, limits, name, str(error)) if name else None


def _unforeseen(error: OSError, repository: str) -> WorkerDied:
    what = f"repository {repository}"
    return WorkerDied(
        what, expected="to be written", found=str(error), do="make room or mend the disk, and run it again"
    )
