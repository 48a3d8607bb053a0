"""Objects of a pack are the bytes that git has, and a damaged pack is an error and never other bytes."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap
from megacpp_assets.repos.git import git
from megacpp_assets.storage._deltas import apply_delta
from megacpp_assets.storage.git_objects import blob_reader_at
from megacpp_assets.storage.packs import Packs
from tests.commits.repository import Files, make_history

COMMITS = 40
DAMAGES = 60


def _history(directory: Path) -> list[str]:
    """A packed repository with long chains of deltas; its blobs in the order of their names."""
    rng, lines = random.Random(5), [b"int line%d();\n" % number for number in range(300)]
    commits: list[tuple[str, Files]] = []
    for number in range(COMMITS):
        lines[rng.randrange(len(lines))] = b"long changed%d(%d);\n" % (number, rng.randrange(1 << 30))
        noise = rng.randbytes(70_000)  # it cannot be compressed
        commits.append((f"Change {number}", {"a.cc": b"".join(lines), f"noise{number}.h": noise}))
    make_history(directory, commits)
    git("repack", "-a", "-d", "-f", "--quiet", "--window=20", "--depth=40", git_dir=directory)
    listed = git("cat-file", "--batch-check", "--batch-all-objects", git_dir=directory).decode().splitlines()
    return [line.split()[0] for line in listed if line.split()[1] == "blob"]


def test_every_blob_of_a_pack_is_the_one_of_git(tmp_path: Path) -> None:
    blobs = _history(tmp_path / "lib")
    assert len(blobs) == 2 * COMMITS
    with Packs(tmp_path / "lib") as packs:
        for blob in (*blobs, *blobs[::-1]):
            assert packs.read(blob) == git("cat-file", "blob", blob, git_dir=tmp_path / "lib")
        assert packs.read("0" * 40) is None
        assert packs.read("f" * 40) is None


def test_a_delta_that_names_its_base_is_read(tmp_path: Path) -> None:
    blobs = _history(tmp_path / "lib")
    # Without --delta-base-offset git names bases by their ids.
    names = git("rev-list", "--objects", "--all", git_dir=tmp_path / "lib")
    packed = tmp_path / "other"
    git("init", "--bare", "--quiet", str(packed))
    prefix = str(packed / "objects" / "pack" / "pack")
    ids = b"".join(line.split()[0] + b"\n" for line in names.splitlines())
    git("pack-objects", "--quiet", prefix, git_dir=tmp_path / "lib", stdin=ids)
    with Packs(packed) as packs:
        assert [packs.read(blob) for blob in blobs[:5]] == [
            git("cat-file", "blob", blob, git_dir=tmp_path / "lib") for blob in blobs[:5]
        ]


def test_what_is_in_no_pack_comes_from_git_or_is_missing(tmp_path: Path) -> None:
    _history(tmp_path / "lib")
    loose = git("hash-object", "-w", "--stdin", git_dir=tmp_path / "lib", stdin=b"int loose;\n").decode().strip()
    with blob_reader_at(tmp_path / "lib", "lib") as blobs:
        assert blobs.read(loose) == b"int loose;\n"
        with pytest.raises(LineageGap, match="missing"):
            blobs.read("1" * 40)


def test_a_damaged_pack_is_an_error_that_names_it_or_another_size(tmp_path: Path) -> None:
    directory = tmp_path / "lib"
    blobs, rng = _history(directory), random.Random(3)
    with Packs(directory) as packs:
        right = {blob: packs.read(blob) for blob in blobs}
    (pack,) = directory.glob("objects/pack/*.pack")
    whole, errors = pack.read_bytes(), 0
    pack.chmod(0o644)
    for _ in range(DAMAGES):
        broken = bytearray(whole)
        for _ in range(20):
            broken[rng.randrange(12, len(broken))] ^= 1 << rng.randrange(8)
        pack.write_bytes(broken)
        with Packs(directory) as packs:
            for blob in blobs:
                try:
                    packs.read(blob)
                except LineageGap as error:
                    assert pack.name in str(error) and blob in str(error)
                    errors += 1
    assert errors > DAMAGES
    pack.write_bytes(whole[: len(whole) // 2])
    with Packs(directory) as packs, pytest.raises(LineageGap, match=pack.name):
        assert [packs.read(blob) for blob in blobs] == list(right.values())


def test_a_pack_with_an_index_of_version_1_is_read_by_git(tmp_path: Path) -> None:
    directory = tmp_path / "lib"
    blobs = _history(directory)
    (pack,) = directory.glob("objects/pack/*.pack")
    index = pack.with_suffix(".idx")
    index.unlink()
    git("index-pack", "--index-version=1", "-o", str(index), str(pack), git_dir=directory)
    right = git("cat-file", "blob", blobs[0], git_dir=directory)
    with blob_reader_at(directory, "lib") as reader:
        assert reader.read(blobs[0]) == right
    index.chmod(0o644)
    index.write_bytes(b"")
    with blob_reader_at(directory, "lib") as reader, pytest.raises(LineageGap, match="missing"):
        reader.read(blobs[0])


def test_an_object_that_grows_beyond_its_size_is_rejected_before_it_fills_memory(tmp_path: Path) -> None:
    directory = tmp_path / "lib"
    make_history(directory, [("One file", {"noise.h": random.Random(1).randbytes(100_000)})])
    git("repack", "-a", "-d", "-f", "--quiet", git_dir=directory)
    (pack,) = directory.glob("objects/pack/*.pack")
    objects = git("verify-pack", "-v", str(pack), git_dir=directory).decode().splitlines()
    blob, _, _, _, place = next(line.split() for line in objects if " blob " in line)
    pack.chmod(0o644)
    with pack.open("r+b") as file:
        file.seek(int(place))
        file.write(b"\xb0\xfd\x2b" + zlib.compress(bytes(80_000_000)))  # a blob of 90,064 bytes by its head
    tracemalloc.start()
    with Packs(directory) as packs, pytest.raises(LineageGap, match="where 90064 are recorded"):
        packs.read(blob)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(
    "delta",
    [
        b"",
        b"\x03",
        b"\x04\x01\x01x",
        b"\x03\x02\x01x",
        b"\x03\x01\x02xy",
        b"\x03\x04\x90\x04",
        b"\x03\x01\x00",
        b"\x03\x05\x05xy",
        b"\x03\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    ],
    ids=["empty", "no size", "other base", "short", "long", "copy over the end", "step 0", "cut off", "endless size"],
)
def test_a_damaged_delta_is_rejected(delta: bytes) -> None:
    assert apply_delta(b"abc", b"\x03\x05\x90\x03\x02xy") == b"abcxy"
    with pytest.raises(ValueError):
        apply_delta(b"abc", delta)
