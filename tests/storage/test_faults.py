"""Disks that fail while an artifact is made: the file is named, nothing is left behind, and a rerun makes it whole."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from megacpp_assets.contract.errors import LineageGap, disk_failure
from megacpp_assets.storage.artifact import Artifact, find_artifact
from megacpp_assets.storage.atomic import remove_tree, write_any, write_atomic
from megacpp_assets.storage.publish import Publication, Target, publish
from tests.forks import forked
from tests.storage.test_publish import RESULT, make_result, make_source, result_target, tree

LIMIT_BYTES = 8192
CALLS = ("fsync", "rename", "unlinkat", "openat", "write")
QUICK = (
    ("fsync", 1, "EIO"), ("rename", 1, "ENOSPC"), ("unlinkat", 1, "EIO"), ("openat", 3, "EIO"), ("write", 1, "ENOSPC"),
)  # fmt: skip
"""Which call fails, at its first or a later time, and how; the campaign has all of them."""


def in_a_child(work: Callable[[], object]) -> dict[str, Any]:
    """What `work` raised in a process that may write no file beyond `LIMIT_BYTES`; empty where nothing."""
    ours, theirs = os.pipe()

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))
        said: dict[str, Any] = {}
        try:
            work()
        except OSError as error:
            said = {"errno": error.errno, "sentence": str(disk_failure(error))}
        os.write(theirs, json.dumps(said).encode())

    child = forked(limited)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        found = json.load(answer)
    os.waitpid(child, 0)
    return dict(found)


def big(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
    publication.write("part/small", b"x")
    publication.write("part/big", b"x" * (LIMIT_BYTES + 1))
    return {}


def test_a_write_that_the_system_rejects_names_the_file_and_leaves_nothing(tmp_path: Path) -> None:
    make_source(tmp_path)
    said = in_a_child(lambda: publish(result_target(tmp_path), big))
    assert said["errno"] == errno.EFBIG
    assert said["sentence"] == (
        f"{tmp_path / RESULT / 'part/big'}; expected room under the limit of file sizes; found File too large; "
        "what to do: raise the limit (ulimit -f) and run the same command again: it continues"
    )
    assert not (tmp_path / RESULT).exists()
    assert sorted(tree(publish(result_target(tmp_path), big).directory)) == [
        "_COMPLETE", "manifest.json", "part/big", "part/small",
    ]  # fmt: skip


@pytest.mark.parametrize("write", [write_atomic, write_any])
def test_a_small_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, write: Callable[[Path, bytes], None]
) -> None:
    write(tmp_path / "file", b"old")
    said = in_a_child(lambda: write(tmp_path / "file", b"x" * (LIMIT_BYTES + 1)))
    assert said["sentence"].startswith(f"{tmp_path / 'file'}; expected room")
    assert tree(tmp_path) == {"file": b"old"}


def test_a_file_that_cannot_be_removed_is_named_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may remove everything, so the refusal is made up: `shutil` names the last part of the path alone."""
    make_source(tmp_path)
    artifact = publish(result_target(tmp_path), big)

    def refuse(path: str, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(PermissionError) as caught:
        remove_tree(artifact.directory)
    assert artifact.directory in Path(caught.value.filename).parents
    assert "grant it, or choose another folder" in str(disk_failure(caught.value))


def test_many_may_write_one_receipt_at_once(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(200):
            write_any(tmp_path / "receipt", bytes([number]) * 5000)

    children = [forked(partial(write, number)) for number in range(4)]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    ((name, data),) = tree(tmp_path).items()
    assert name == "receipt" and data in [bytes([number]) * 5000 for number in range(4)]


def test_leftover_files_of_a_stage_are_not_sealed(tmp_path: Path) -> None:
    def produce(publication: Publication, _inputs: tuple[Artifact, ...]) -> Mapping[str, Any]:
        publication.write("data", b"x")
        (publication.directory / ".scratch").mkdir()
        (publication.directory / ".scratch" / "spool").touch()
        return {}

    with pytest.raises(LineageGap, match=r"\.scratch/spool; expected only files of the artifact; found another"):
        publish(Target(tmp_path, "packed/set/base/4k", "packed_rows", "base/4k", "1", {}), produce)
    assert find_artifact(tmp_path, "packed/set/base/4k") is None
    assert not (tmp_path / "packed/set/base/4k").exists()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.ENOTDIR, errno.EBUSY])
def test_every_refusal_of_the_system_is_a_sentence_of_four_parts(code: int) -> None:
    said = str(disk_failure(OSError(code, os.strerror(code), "/data/file")))
    assert said.startswith("/data/file; expected ")
    assert f"; found {os.strerror(code)}; what to do: " in said


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not there to make a disk fail")
@pytest.mark.parametrize(
    ("call", "number", "fault"),
    [
        pytest.param(*each, marks=[] if each in QUICK else pytest.mark.campaign)
        for each in product(CALLS, (1, 3, 9), ("ENOSPC", "EIO"))
    ],
)
def test_whichever_call_fails_a_rerun_ends_with_the_same_bytes(
    tmp_path: Path, call: str, number: int, fault: str
) -> None:
    for root in (tmp_path / "calm", tmp_path / "faulty"):
        make_source(root), make_result(root, "1")
    wanted = tree(make_result(tmp_path / "calm", "2").directory)
    code = (
        "import sys; from pathlib import Path; from tests.storage.test_publish import make_result\n"
        "from megacpp_assets.contract.errors import disk_failure\n"
        "root = Path(sys.argv[1]); (root / 'start').exists()\n"
        "try:\n make_result(root, '2')\n"
        "except OSError as error:\n print(disk_failure(error)); sys.exit(1)\n"
    )
    inject = ["strace", "-f", "-o", "/dev/null", "-P", str(tmp_path / "faulty" / RESULT), "-e", f"trace={call}"]
    command = [*inject, "-e", f"inject={call}:error={fault}:when={number}", sys.executable, "-c", code]
    done = subprocess.run(
        [*command, str(tmp_path / "faulty")], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or "; what to do: " in done.stdout
    found = find_artifact(tmp_path / "faulty", RESULT)
    assert found is None or list(found.problems()) == []
    assert tree(make_result(tmp_path / "faulty", "2").directory) == wanted
