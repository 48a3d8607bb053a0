"""The Dagster instance of a data root: found from anywhere, and what is said where its database is no database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from megacpp_assets.contract.errors import DiskFailure
from megacpp_assets.defs.home.instance import HOME_VARIABLE, SETTINGS, open_instance, served_root
from megacpp_assets.defs.showing.paths import home_of
from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE, LOCK_FILE

CHECKOUT = Path(__file__).parents[3]


def test_a_database_that_cannot_be_read_is_a_sentence_with_what_to_do(tmp_path: Path) -> None:
    with open_instance(tmp_path) as instance:
        assert instance.get_runs() == []
    databases = [path for path in (tmp_path / "dagster").rglob("*.db") if path.stat().st_size]
    for database in databases:
        database.write_bytes(b"no database" * 1000)
    said = r"dagster; expected a database to write; found file is not a database; what to do: .*dagster/ may be removed"
    with pytest.raises(DiskFailure, match=said), open_instance(tmp_path) as instance:
        instance.get_runs()
    assert databases != []


def test_the_settings_lie_in_the_package_so_that_an_installed_wheel_has_them(tmp_path: Path) -> None:
    with open_instance(tmp_path):
        assert (home_of(tmp_path) / SETTINGS.name).read_bytes() == SETTINGS.read_bytes()
    import megacpp_assets

    assert SETTINGS.is_relative_to(Path(megacpp_assets.__file__).parent)


def test_a_checkouts_settings_are_those_of_every_data_root_and_its_database() -> None:
    assert yaml.safe_load((CHECKOUT / "dagster.yaml").read_text()) == yaml.safe_load(SETTINGS.read_text())


@pytest.mark.parametrize(
    ("variable", "has_lock", "served"),
    [("", True, "data"), ("/dagster", True, "other"), ("/dagster", False, "data"), ("/elsewhere", True, "data")],
)
def test_a_process_of_dagsters_serves_the_root_whose_home_it_was_given(
    variable: str, has_lock: bool, served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    if has_lock:
        (other / LOCK_FILE).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(DATA_ROOT_VARIABLE, raising=False)
    monkeypatch.setenv(HOME_VARIABLE, f"{other}{variable}" if variable else "")
    assert served_root() == tmp_path / served
    monkeypatch.setenv(DATA_ROOT_VARIABLE, str(tmp_path / "named"))
    assert served_root() == tmp_path / "named"


RUNS = "import json, sys; from dagster._cli.utils import get_possibly_temporary_instance_for_cli as instance\n" + (
    "with instance() as found: print(json.dumps([run.job_name for run in found.get_runs()]))"
)


def _clean(root: Path) -> dict[str, str]:
    """What a user has in the environment who knows of the data root, and of Dagster nothing."""
    environment = {name: value for name, value in os.environ.items() if name != HOME_VARIABLE}
    return environment | {DATA_ROOT_VARIABLE: str(root)}


def test_dagsters_commands_find_the_roots_own_database_in_a_checkout(tmp_path: Path) -> None:
    """Dagster itself would open a temporary one, where no run was ever recorded."""
    from dagster import DagsterRun

    with open_instance(tmp_path) as instance:
        instance.add_run(DagsterRun(job_name="recorded"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "dagster.yaml").write_bytes((CHECKOUT / "dagster.yaml").read_bytes())
    asked = [sys.executable, "-c", RUNS]
    done = subprocess.run(asked, cwd=tmp_path / "in", env=_clean(tmp_path), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["recorded"]


def _assets(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dagster", "asset", "list", "-m", "megacpp_assets.definitions"]
    return subprocess.run(command, cwd=folder, env=_clean(root), capture_output=True, text=True, check=False)


def test_a_corrupt_lock_is_one_sentence_on_dagsters_command_line(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text("no lock [")
    done = _assets(tmp_path, tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: corpus.lock; expected a lock written by megacpp; found ")
    assert "; what to do: put back what was there" in last
    assert "Traceback" not in done.stderr


def test_recording_in_a_temporary_database_is_reported(tmp_path: Path) -> None:
    """In a folder without settings, on a root where nothing is pinned yet."""
    done = _assets(tmp_path, tmp_path)
    assert done.returncode == 0
    do = f"what to do: export DAGSTER_HOME={home_of(tmp_path)}, which megacpp run makes"
    assert do in done.stderr
