"""`megacpp recipe show`: a recipe whole, as one can start one's own from, with the size of its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.document_sets import VERSIONS
from megacpp_assets.contract.recipe.text import load_recipe
from tests.cli.commands import exit_code


def test_what_is_shown_can_be_followed_and_begins_with_the_size_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not exit_code(monkeypatch, "recipe", "show", "smoke", "--set", "training.hidden=64")
    shown = capsys.readouterr().out
    (tmp_path / "mine.toml").write_text(shown)
    assert load_recipe(str(tmp_path / "mine.toml")) == load_recipe("smoke", ["training.hidden=64"])
    assert shown.startswith("# a model of ") and shown.splitlines()[0].endswith(" parameters")


def test_a_setting_without_a_recipe_is_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert exit_code(monkeypatch, "recipe", "show", "--set", "training.steps=9", "--data-root", str(tmp_path)) == 2


MINE = (
    'dataset = "mine"\ncatalogue = "./own.toml"\nrepos = ["lib"]\ncurriculum = ["4k"]\n[specialists.math]\nlib = 2.0\n'
)


@pytest.mark.parametrize(
    ("catalogue", "words"),
    [
        ("", "repository 'lib'\n  expected one of other"),
        ('[repo.lib]\nurl = "lib"\nref = "v1"\n', "repo.lib.url\n  expected https://HOST/OWNER/NAME or an absolute"),
    ],
)
def test_a_recipe_whose_catalogue_does_not_have_its_repositories_cannot_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], catalogue: str, words: str
) -> None:
    (tmp_path / "own.toml").write_text(catalogue + '[repo.other]\nurl = "/srv/other"\nref = "v1"\n')
    (tmp_path / "mine.toml").write_text(MINE)
    words_of_data_root = ("--data-root", str(tmp_path / "data"))
    assert exit_code(monkeypatch, "recipe", "check", str(tmp_path / "mine.toml"), *words_of_data_root) == 1
    assert words in capsys.readouterr().err


def test_the_advice_for_an_unknown_repository_names_the_catalogue_of_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.toml").write_text('[repo.other]\nurl = "/srv/other"\nref = "v1"\n')
    (tmp_path / "mine.toml").write_text(MINE)
    assert exit_code(monkeypatch, "recipe", "check", str(tmp_path / "mine.toml"), "--data-root", str(tmp_path)) == 1
    assert f"add it to {tmp_path / 'own.toml'}" in " ".join(capsys.readouterr().err.split())


def test_a_recipe_that_can_be_followed_is_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[repo.lib]\nurl = "/srv/lib"\nref = "v1"\nspecialist = "own"\n'
    (tmp_path / "own.toml").write_text(text)
    (tmp_path / "mine.toml").write_text(MINE)
    root = tmp_path / "data"
    assert not exit_code(monkeypatch, "recipe", "check", str(tmp_path / "mine.toml"), "--data-root", str(root))
    assert "specialists  base, math, own" in capsys.readouterr().out
    assert not root.exists()


@pytest.mark.parametrize("command", ["recipe check sample", "run --recipe sample"])
def test_a_training_that_its_launcher_has_no_machine_for_is_rejected_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    settings = ("launch.launcher=slurm", "launch.exchange=gs://bucket/place", "training.device=tpu")
    words = [word for setting in settings for word in ("--set", setting)]
    assert exit_code(monkeypatch, *command.split(), *words, "--data-root", str(tmp_path / "data")) == 1
    assert "training.device on the launcher slurm\n  expected cpu or cuda\n  found tpu" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_a_listed_file_that_is_missing_or_another_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.toml").write_text('[repo.lib]\nurl = "/srv/lib"\nref = "v1"\n')
    (tmp_path / "bench.jsonl").write_text("changed")
    lists = f'[curation]\nbenchmarks = ["{"0" * 64}  bench.jsonl"]\nscorer = ["python3", "score.py"]\n'
    (tmp_path / "mine.toml").write_text(f'{MINE}{lists}scorer_files = ["{"1" * 64}  score.py"]\n')
    assert exit_code(monkeypatch, "recipe", "check", str(tmp_path / "mine.toml"), "--data-root", str(tmp_path)) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"curation.benchmarks {tmp_path}/bench.jsonl; expected sha256 {'0' * 64}; found sha256 " in said
    assert f"curation.scorer_files {tmp_path}/score.py; expected sha256 {'1' * 64}; found No such file" in said


def test_the_difference_of_two_recipes_has_both_values_as_a_recipe_file_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text(MINE)
    other.write_text(f"{MINE}[training]\nsteps = 9\nfrom_previous_phase = false\n[phases.own]\nrow_tokens = 8192\n")
    assert exit_code(monkeypatch, "recipe", "diff", str(one), str(other)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "training.steps: 100 -> 9" in lines
    assert "training.from_previous_phase: true -> false" in lines
    assert "phases.own.row_tokens: missing -> 8192" in lines


def test_long_values_of_two_recipes_stand_below_the_key_with_the_names_of_the_recipes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "recipe", "diff", "sample", "smoke") == 1
    lines = capsys.readouterr().out.splitlines()
    place = lines.index("repos")
    assert lines[place + 1].startswith('  sample: ["sample-passes@v1.0.0", "sample-expr@v1.0.0", ')
    assert lines[place + 2] == '  smoke: ["sample-kernel@v1.0.0"]'
    assert "training.layers: 2 -> 1" in lines


def test_two_equal_recipes_are_said_to_be_equal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not exit_code(monkeypatch, "recipe", "diff", "sample", "sample")
    assert capsys.readouterr().out == "no key differs\n"


def test_the_example_of_history_can_be_followed_and_takes_every_version_and_rules_against_secrets_and_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not exit_code(monkeypatch, "recipe", "check", "upstream_history", "--data-root", str(tmp_path / "data"))
    assert "repositories fmt@11.0.0, googletest@v1.15.0" in capsys.readouterr().out
    recipe = load_recipe("upstream_history")
    assert set(recipe.phase("4k").blend) == set(VERSIONS)
    assert (recipe.curation.secrets, recipe.mixture.definitions) == ("replace", "drop_near")
