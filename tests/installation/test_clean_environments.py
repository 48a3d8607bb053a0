"""The wheel in environments that hold nothing else: at both ends of the ranges, and beside a user's own torch."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3600)]  # pip downloads up to 3 GB for a torch

HERE = Path(__file__).parents[2]
LOWEST = (
    "click==8.1.3",
    "numpy==2.1.0" if sys.version_info >= (3, 13) else "numpy==2.0.0",
    "orjson==3.10.7" if sys.version_info >= (3, 13) else "orjson==3.10.0",
    "psutil==6.0.0",
    "pyarrow==18.0.0",
    "pydantic==2.10.0",
    "rich==13.7.0",
    "SQLAlchemy==2.0.31",
    "tomlkit==0.13.0",
    "zstandard==0.23.0",
)
"""The lower ends of the ranges in pyproject.toml, or the first release for this Python."""
READ = """
import sys
import megacpp_assets.lineage.audit, megacpp_assets.loader.rows, megacpp_assets.megatron.verify
import megacpp_assets.cli.files.merge, megacpp_assets.viewing.page
assert not {"torch", "dagster", "clang"} & sys.modules.keys()
try:
    import megacpp_assets.loader.schedule
except ImportError as error:
    assert "pip install 'megacpp-assets[train]'" in str(error), error
else:
    raise SystemExit("torch is installed, though nobody asked for it")
"""
TRAIN = """
import sys
import torch
import megacpp_assets.loader.schedule.data_schedule
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.training.network.model import GPT
from megacpp_assets.training.network.size import model_config
from megacpp_assets.training.optimizer import optimizer_for

assert torch.__version__.split("+")[0] == sys.argv[1], torch.__version__
recipe = load_recipe("smoke").training
model = GPT(model_config(recipe, 512))
parameters = dict(model.named_parameters())
sum(parameter.square().sum() for parameter in parameters.values()).backward()
before = float(model.embedding.detach().norm())
optimizer_for(recipe, parameters).step(0.01)
assert float(model.embedding.detach().norm()) != before
assert "dagster" not in sys.modules
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is published."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(HERE)]
    subprocess.run(command, check=True)
    (made,) = folder.glob("*.whl")
    return made


def environment(folder: Path, *requirements: str) -> Path:
    """The Python of a new environment that holds `requirements` and what they need."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile", *requirements], check=True)
    return python


@pytest.mark.parametrize("others", [LOWEST, ()], ids=["lowest", "newest"])
def test_without_extras_the_readers_work_and_torch_and_dagster_stay_away(
    wheel: Path, tmp_path: Path, others: tuple[str, ...]
) -> None:
    python = environment(tmp_path / "venv", str(wheel), *others)
    subprocess.run([python, "-c", READ], check=True, cwd=tmp_path)  # elsewhere the tree would hide the wheel
    subprocess.run([python.with_name("megacpp"), "audit", "--help"], check=True)


@pytest.mark.parametrize("torch", ["2.9.1", "2.14.1"])
def test_training_stands_beside_another_torch(wheel: Path, tmp_path: Path, torch: str) -> None:
    python = environment(tmp_path / "venv", f"{wheel}[train]", f"torch=={torch}")
    subprocess.run([python, "-c", TRAIN, torch], check=True, cwd=tmp_path)
