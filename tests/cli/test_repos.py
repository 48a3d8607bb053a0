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
