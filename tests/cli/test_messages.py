"""What a user reads after a mistake: what is wrong, the closest name, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.storage.root.layout import DATA_ROOT_VARIABLE
from tests.cli.commands import exit_code

NO_CHECKPOINT = ("found no checkpoint there; the active dataset of ", "megacpp run trains one; or name its folder")
NO_DATASET = ("active dataset of ", "expected a dataset of corpus.lock", "found none", "what to do: megacpp run makes")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("audit base/4k", NO_CHECKPOINT),
        ("audit --token 1 base/4k", ("expected ROW:COL or SPLIT:ROW:COL", "what to do: write for example valid:0:12")),
        ("audit --tokenizer zz", ("expected 4 to 40 hexadecimal digits", "what to do: take the commit from megacpp")),
        ("audit --repo fmt", ("--repo 'fmt'", "found none at all", "what to do: name it as NAME or NAME@REF")),
        ("export base/4k OUT", NO_CHECKPOINT),
        ("export --megatron OUT", ("found no mixture", "what to do: make it with megacpp run, or name another data")),
        ("view base/4k 0", NO_DATASET),
        ("view fmt@11.0.0 0", NO_DATASET),
        ("view base/4k 0 --dataset mine", ("dataset 'mine'", "found none at all", "what to do: megacpp run makes")),
        ("tokenizer show", NO_DATASET),
        (
            "tokenizer diff ab cd",
            ("tokenizer commit 'ab'", "found 0 that begin so", "what to do: give the first digits"),
        ),
        ("lock diff 9", ("state 9 of corpus.lock", "what to do: megacpp lock history lists the states")),
        (
            "launch cancel job-1",
            ("run 'job-1'", "found none at all", "what to do: megacpp launch status lists the runs"),
        ),
        ("run --set trainin.steps=2", ("did you mean `training`?", "megacpp recipe show sample lists every key")),
        ("run --set training.steps", ("expected KEY=VALUE", "what to do: megacpp recipe show sample lists every key")),
        ("run --set training.steps=x", ("training.steps\n  expected a valid integer\n  found 'x'\n  what to do: ",)),
        ("run --recipe mine.toml", ("found No such file", "what to do: correct the path, or start a file from ")),
        ("run --recipe smpl", ("did you mean `sample`?", "what to do: correct the path")),
        ("run --set catalogue=extnded", ("did you mean `extended`?", "what to do: correct the name or the path")),
        ("run --set launch.launcher=slrm --recipe smoke", ("launch.launcher 'slrm'", "did you mean `slurm`?")),
        ("run --phases 8k", ("phase '8k'", "expected one of 4k, 16k, 64k", "what to do: add [phases.8k]")),
        ("run --until packed_row", ("is not one of 'pinned_repos', ", "Did you mean 'packed_rows'?")),
        ("backfill --repo fmt --tags 1 --until pinned", ("Did you mean 'pinned_repos'?",)),
        (
            "catalogue show fnt",
            ("repository of catalogue extended 'fnt'", "did you mean `fmt`?", "megacpp catalogue list"),
        ),
        ("catalogue list --category browser", ("Did you mean 'browsers'?",)),
        ("--data-root OUT run", ("'--data-root' in front of 'run'", "megacpp run --data-root ...")),
        ("--no-such-option run", ("No such option",)),
        ("verify FILE", ("FILE", "found a file", "what to do: name a data root")),
        ("verify gs://x/y", ("with a BUCKET of 3 or more", "found 'x'", "what to do: correct the name")),
        ("copy OUT gs://bucket/root", ("found no such folder", "what to do: correct SOURCE")),
        (
            "bench packing loader --runs 3",
            ("expected one benchmark before --runs", "what to do: run benchmarks with options one"),
        ),
        (
            "repos add OUT --ref v1 --name a/b",
            ("name of repository ", "found 'a/b'", "what to do: give one with --name"),
        ),
        ("service web --code here", ("expected HOST:PORT", "what to do: write for example 127.0.0.1:4000")),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(
    line: str,
    said: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv(DATA_ROOT_VARIABLE, str(tmp_path / "data"))
    (tmp_path / "FILE").touch()
    monkeypatch.chdir(tmp_path)
    assert exit_code(monkeypatch, *line.replace("OUT", str(tmp_path / "out")).split()) in (1, 2)
    answer = capsys.readouterr().err
    for words in said:
        assert words in answer


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("launch status", "no training was launched from {root}; megacpp run launches it"),
        ("lock show", "no dataset is pinned in {root}; megacpp run pins the dataset of a recipe"),
    ],
)
def test_an_empty_list_says_what_fills_it(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not exit_code(monkeypatch, *line.split(), "--data-root", str(tmp_path))
    assert capsys.readouterr().out.strip() == said.format(root=tmp_path)


def test_a_pair_with_a_typo_in_its_name_is_answered_with_the_pair_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fmt_train.idx").touch()
    assert exit_code(monkeypatch, "merge", str(tmp_path / "all"), str(tmp_path / "fmt_trian")) == 1
    answer = capsys.readouterr().err
    assert f"error: {tmp_path / 'fmt_trian.idx'}\n  did you mean `fmt_train`?" in answer
    assert "found no such file\n  what to do: name a pair by its path without .bin or .idx" in answer
