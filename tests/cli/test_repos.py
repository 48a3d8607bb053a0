"""`megacpp repos add`: what is a URL is never taken for a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import exit_code


@pytest.mark.parametrize("url", ["git@host:o/r.git", "host:r.git", "ssh://git@host/o/r.git", "git+ssh://host/o/r"])
@pytest.mark.parametrize("ref", ["main", "0" * 40])
def test_a_repository_over_ssh_is_refused_with_the_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str, ref: str
) -> None:
    root = tmp_path / "data"
    assert exit_code(monkeypatch, "repos", "add", url, "--ref", ref, "--data-root", str(root)) == 1
    said = capsys.readouterr().err
    assert repr(url) in said and "ssh:// needs credentials" in said
    assert str(tmp_path) not in said
    assert not root.exists()


def test_a_path_may_hold_a_colon_after_its_first_slash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(monkeypatch, "repos", "add", "./a:b", "--ref", "v1", "--name", "x", "--data-root", "data") == 1
    assert str(tmp_path / "a:b") in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("repos", "add", "https://user:canary@host/o/r", "--ref", "v1"),
        ("repos", "add", "https://host/o/r?token=canary", "--ref", "v1"),
        ("repos", "add", "user:canary@host:o/r", "--ref", "v1"),
        ("repos", "add", "https://host/o/r", "https://user:canary@host/o/r", "--ref", "v1"),
        ("repos", "add", "https://host/o/r", "--ref", "https://user:canary@host/o/r"),
        ("repos", "add", "https://host/o/r", "--ref", "v1", "--submodule-owner", "user:canary@host/o"),
        ("run", "--repos", "https://user:canary@host/o/r"),
        ("run", "--repos", "https://user:canary,x@host/o/r"),
    ],
)
def test_credentials_in_a_url_are_refused_and_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", str(tmp_path / "nowhere"))
    root = tmp_path / "data"
    assert exit_code(monkeypatch, *arguments, "--data-root", str(root)) in {1, 2}
    out, err = capfd.readouterr()
    assert err and "canary" not in out + err
    assert not [path for path in root.rglob("*") if path.is_file() and b"canary" in path.read_bytes()]


@pytest.mark.parametrize("command", [("repos", "list"), ("run", "--repos", "lib")])
def test_credentials_in_the_catalogue_are_refused_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    entry = '[repo.lib]\nurl = "https://user:canary@host/o/lib"\nref = "v1"\n'
    (tmp_path / "catalogue.toml").write_text(entry, encoding="utf-8")
    assert exit_code(monkeypatch, *command, "--data-root", str(tmp_path)) == 1
    out, err = capfd.readouterr()
    assert "repo.lib.url" in err and "canary" not in out + err


def test_a_licence_that_is_no_spdx_expression_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, url = tmp_path / "data", "https://host/o/r"
    arguments = ("--ref", "v1", "--license", "the MIT license", "--data-root", str(root))
    assert exit_code(monkeypatch, "repos", "add", url, *arguments) == 1
    assert "--license; expected an SPDX licence expression" in capsys.readouterr().err
    assert not root.exists()
