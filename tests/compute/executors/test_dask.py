"""The same batches on a real Dask cluster: same outcomes in the same order, whichever workers die on the way."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from megacpp_assets.compute.executors import dask
from megacpp_assets.compute.executors.certificates import TLS_VARIABLE, Certificates, certificates
from megacpp_assets.compute.executors.dask import DaskPool, scheduler_address
from megacpp_assets.compute.executors.executor import BatchExecutor, Outcome
from megacpp_assets.compute.executors.folders import pack_folder
from megacpp_assets.compute.executors.local import LocalPool
from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from tests.compute.batches import OtherOnHosts, Shared, Work, narrow_and_move, read_shared, square, surroundings
from tests.compute.dask_cluster import Cluster, cluster, write_certificates

LONG_S = 60.0
PLAIN = [Work(tuple(range(size))) for size in (3, 1, 0, 4, 2)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster"), workers=2) as started:
        yield started


@pytest.fixture
def pair(shared: Cluster) -> Cluster:
    """The shared cluster, with two running workers whatever the test before did to them."""
    shared.grow(2)
    return shared


@pytest.fixture
def pool(pair: Cluster) -> Iterator[DaskPool]:
    opened = DaskPool(pair.address, patience_s=LONG_S)
    yield opened
    opened.close()


def outcomes(executor: BatchExecutor, batches: Sequence[Work], timeout_s: float = LONG_S) -> list[tuple[object, ...]]:
    return [comparable(outcome) for outcome in executor.run(square, batches, timeout_s=timeout_s)]


def comparable(outcome: Outcome[object]) -> tuple[object, ...]:
    value = None if outcome.value is None else outcome.value.tolist()
    return outcome.index, value, outcome.failure


def expected(batches: Sequence[Work]) -> list[tuple[object, ...]]:
    return [(index, [number**2 for number in work.numbers], None) for index, work in enumerate(batches)]


def test_outcomes_and_their_order_are_those_of_the_local_pool(pool: DaskPool) -> None:
    batches = [*PLAIN[:2], Work((7,), "raise"), Work((8,), "crash"), *PLAIN[2:]]
    local = LocalPool(1)
    try:
        assert outcomes(pool, batches) == outcomes(local, batches)
    finally:
        local.close()


def test_a_crashing_batch_loses_only_itself_and_no_worker(pool: DaskPool, pair: Cluster) -> None:
    batches = [*PLAIN[:3], Work((9,), "crash"), *PLAIN[3:]]
    found = outcomes(pool, batches)
    assert found[3] == (3, None, "crash: worker ended with exit code -11")
    assert [row for row in found if row[0] != 3] == [row for row in expected(batches) if row[0] != 3]
    assert pair.killed() == 0


def test_a_hanging_batch_times_out_alone(pool: DaskPool) -> None:
    found = outcomes(pool, [PLAIN[0], Work((9,), "hang"), PLAIN[1]], timeout_s=8)
    assert found == [(0, [0, 1, 4], None), (1, None, "timeout: no answer in 8 s"), (2, [0], None)]


def test_a_worker_killed_in_the_middle_of_a_batch_changes_no_outcome(
    pool: DaskPool, pair: Cluster, tmp_path: Path
) -> None:
    batches = [*PLAIN[:3], Work((11, 12), "kill worker once", str(tmp_path)), *PLAIN[3:]]
    assert outcomes(pool, batches) == expected(batches)
    assert (tmp_path / "happened").exists()
    assert pair.killed() == 1


@pytest.mark.campaign
def test_a_batch_that_kills_every_worker_it_meets_is_a_crash(pool: DaskPool, pair: Cluster) -> None:
    assert outcomes(pool, [Work((1,), "kill worker")]) == [(0, None, "crash: 2 workers died while they ran the batch")]
    assert pair.killed() == 2


def test_directory_and_limits_of_a_batch_do_not_reach_the_next(pool: DaskPool, tmp_path: Path) -> None:
    places = list(pool.run(surroundings, [""] * 2, timeout_s=LONG_S))
    assert all(outcome.failure is None for outcome in pool.run(narrow_and_move, [str(tmp_path)] * 2, timeout_s=LONG_S))
    assert list(pool.run(surroundings, [""] * 2, timeout_s=LONG_S)) == places
    assert places[0].value is not None
    assert places[0].value[1] == resource.getrlimit(resource.RLIMIT_NOFILE)


def test_a_run_that_is_abandoned_leaves_the_pool_usable(pool: DaskPool) -> None:
    run = pool.run(square, PLAIN, timeout_s=LONG_S)
    assert comparable(next(run)) == expected(PLAIN)[0]
    run.close()
    assert outcomes(pool, PLAIN[:2]) == expected(PLAIN[:2])


def test_batches_of_an_abandoned_run_end_and_free_their_workers(pool: DaskPool, pair: Cluster) -> None:
    other = DaskPool(pair.address)
    run = other.run(square, [PLAIN[0], *[Work((1,), "hang")] * 2], timeout_s=100 * LONG_S)
    next(run)
    other.close()  # as if the run was killed: both workers wait for ever
    assert outcomes(pool, PLAIN) == expected(PLAIN)


def test_workers_with_other_software_are_rejected(pool: DaskPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "software", lambda: "python 2.7.18")
    with pytest.raises(EnvironmentLacks, match=r"expected python 2\.7\.18; found python 3.*same versions"):
        list(pool.run(square, PLAIN[:1], timeout_s=LONG_S))


def test_a_cluster_that_loses_all_its_workers_is_named_not_waited_for(pair: Cluster) -> None:
    impatient = DaskPool(pair.address, patience_s=0)
    try:
        for worker in pair.workers:
            worker.kill()
        with pytest.raises(EnvironmentLacks, match=r"expected a worker; found none for 0 s; .*dask worker tcp://"):
            outcomes(impatient, PLAIN)
    finally:
        impatient.close()


def test_a_scheduler_that_dies_is_named_and_no_outcome_invented(tmp_path: Path) -> None:
    with cluster(tmp_path, workers=1) as headless:
        pool = DaskPool(headless.address, connect_s=1, patience_s=0)
        try:
            with pytest.raises(EnvironmentLacks, match="connection lost"):
                outcomes(pool, [Work((headless.scheduler.pid,), "kill process")])
        finally:
            pool.close()


def test_a_scheduler_that_died_before_the_batches_were_sent_is_named(tmp_path: Path) -> None:
    with cluster(tmp_path, workers=1) as headless:
        pool = DaskPool(headless.address, connect_s=1, patience_s=0)
        try:
            headless.scheduler.kill()
            last = time.monotonic() + LONG_S
            while pool._client.status != "closed" and time.monotonic() < last:
                time.sleep(0.1)
            with pytest.raises(EnvironmentLacks, match="connection lost"):
                outcomes(pool, PLAIN)
        finally:
            pool.close()


def test_an_address_without_a_scheduler_is_named_with_what_to_do() -> None:
    with pytest.raises(EnvironmentLacks, match=r"tcp://127\.0\.0\.1:9; expected an answer; .*dask scheduler"):
        DaskPool("dask://127.0.0.1:9", connect_s=0.5)


@pytest.mark.parametrize(
    "text", ["", "dask://", "dask://host", "dask://:8786", "tcp://host:8786", "dask://host:99999", "dask://host:x",
             "dask://host:8786/path", "dask://me@host:8786", "dask://host:8786?x=1"]
)  # fmt: skip
def test_an_address_of_another_form_is_rejected(text: str) -> None:
    with pytest.raises(SpecError, match="dask://HOST:PORT"):
        scheduler_address(text, encrypted=False)


def test_an_address_is_translated_for_dask() -> None:
    assert scheduler_address("dask://scheduler.local:8786", encrypted=True) == "tls://scheduler.local:8786"
    assert scheduler_address("dask://[::1]:8786", encrypted=False) == "tcp://[::1]:8786"


@pytest.mark.parametrize("host", ["10.0.0.7", "scheduler.local", "127.0.0.1.example.org", "[2001:db8::1]"])
def test_a_scheduler_on_another_machine_is_not_reached_without_certificates(host: str) -> None:
    with pytest.raises(EnvironmentLacks, match=r"expected certificates.*MEGACPP_COMPUTE_TLS to a folder with ca\.pem"):
        DaskPool(f"dask://{host}:8786")


def test_a_cluster_with_certificates_is_reached_with_them_alone(tmp_path: Path) -> None:
    for name in ("cluster", "ours", "other"):
        (tmp_path / name).mkdir()
    ours, other = write_certificates(tmp_path / "ours"), write_certificates(tmp_path / "other")
    with cluster(tmp_path / "cluster", workers=1, certificates=ours) as running:
        pool = DaskPool(running.address, Certificates(ours))
        assert outcomes(pool, PLAIN[:2]) == expected(PLAIN[:2])
        pool.close()
        for stranger in (Certificates(other), None):
            with pytest.raises(EnvironmentLacks, match="expected an answer"):
                DaskPool(running.address, stranger, connect_s=2)


def test_a_missing_certificate_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_certificates(tmp_path)
    monkeypatch.setenv(TLS_VARIABLE, str(tmp_path))
    assert certificates() == Certificates(tmp_path)
    (tmp_path / "key.pem").unlink()
    with pytest.raises(EnvironmentLacks, match=r"ca\.pem, cert\.pem, key\.pem; found no key\.pem in"):
        certificates()


def test_a_folder_is_read_on_a_host_that_has_no_such_folder(pool: DaskPool, tmp_path: Path) -> None:
    (tmp_path / "tree" / "include").mkdir(parents=True)
    (tmp_path / "tree" / "include" / "a.h").write_text("int a;\n")
    folder = Shared(str(tmp_path / "tree"))
    pool.provide(folder)
    run = pool.run(read_shared, [folder.path] * 3, timeout_s=LONG_S)
    first = next(run)
    (tmp_path / "tree").rename(tmp_path / "gone")  # as on another host: the path names nothing
    found = [outcome.value for outcome in (first, *run, *pool.run(read_shared, [folder.path], timeout_s=LONG_S))]
    assert found == [(["include/a.h"], "int a;\n", "prepared")] * 4


def test_a_folder_travels_once_to_a_host(
    pool: DaskPool, pair: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = []
    monkeypatch.setattr(dask, "pack_folder", lambda path: packed.append(Path(path).parent.name) or pack_folder(path))
    for name in ("first", "equal"):
        tree = tmp_path / name / "tree"
        tree.mkdir(parents=True)
        (tree / "a.h").write_text(f"char text[] = {str(tmp_path)!r};\n")
        pool.provide(Shared(str(tree)))
        assert [each.failure for each in pool.run(read_shared, [str(tree)], timeout_s=LONG_S)] == [None]
    assert packed == ["first"]


def test_a_host_with_other_files_beside_the_folder_is_rejected(pool: DaskPool, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.h").write_text("int b;\n")
    pool.provide(OtherOnHosts(str(tmp_path / "tree"), os.getpid()))
    with pytest.raises(EnvironmentLacks, match=r"expected ours; found theirs; .*same compiler and system headers"):
        list(pool.run(read_shared, [str(tmp_path / "tree")], timeout_s=LONG_S))


def test_a_folder_survives_the_workers_that_had_it(pool: DaskPool, pair: Cluster, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.h").write_text("int c;\n")
    folder = Shared(str(tmp_path / "tree"))
    pool.provide(folder)
    run = pool.run(read_shared, [folder.path], timeout_s=LONG_S)
    assert next(run).failure is None
    for worker in pair.workers:
        worker.kill()
        worker.wait()
    pair.grow(2)
    assert [outcome.failure for outcome in pool.run(read_shared, [folder.path] * 2, timeout_s=LONG_S)] == [None] * 2
