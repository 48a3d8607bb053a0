"""`megacpp repos add`: what is a URL is never taken for a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.repos.catalogue import load_catalogue
from tests.cli.commands import exit_code
from tests.repos.git_tree import make_repository


@pytest.mark.parametrize("url", ["git@host:o/r.git", "host:r.git", "ssh://git@host/o/r.git", "git+ssh://host/o/r"])
@pytest.mark.parametrize("ref", ["main", "0" * 40])
def test_a_repository_over_ssh_is_rejected_with_the_ways_out(
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
def test_credentials_in_a_url_are_rejected_and_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", str(tmp_path / "nowhere"))
    root = tmp_path / "data"
    assert exit_code(monkeypatch, *arguments, "--data-root", str(root)) in {1, 2}
    out, err = capfd.readouterr()
    assert err and "canary" not in out + err
    assert not [path for path in root.rglob("*") if path.is_file() and b"canary" in path.read_bytes()]


@pytest.mark.parametrize("command", [("catalogue", "list"), ("run", "--repos", "lib")])
def test_credentials_in_the_catalogue_are_rejected_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    entry = '[repo.lib]\nurl = "https://user:canary@host/o/lib"\nref = "v1"\n'
    (tmp_path / "catalogue.toml").write_text(entry, encoding="utf-8")
    assert exit_code(monkeypatch, *command, "--data-root", str(tmp_path)) == 1
    out, err = capfd.readouterr()
    assert "repo.lib.url" in err and "canary" not in out + err


def test_a_licence_that_is_no_spdx_expression_is_rejected_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, url = tmp_path / "data", "https://host/o/r"
    arguments = ("--ref", "v1", "--license", "the MIT license", "--data-root", str(root))
    assert exit_code(monkeypatch, "repos", "add", url, *arguments) == 1
    assert "--license\n  expected an SPDX licence expression" in capsys.readouterr().err
    assert not root.exists()


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """A repository of a person's own, tagged v9, with the name of one that the upstream catalogue has."""
    make_repository(tmp_path / "fmt", {"a.cpp": b"int a;\n"}, "v9")
    return tmp_path / "fmt"


def test_a_known_name_is_said_to_be_known_and_keeps_its_licence_and_specialist(
    fork: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "data"
    assert not exit_code(monkeypatch, "repos", "add", str(fork), "--ref", "v9", "--data-root", str(root))
    assert "fmt was known already: MIT, specialist small_cpp; it came from https://github" in capsys.readouterr().out
    entry = load_catalogue("upstream", root)["fmt"]
    assert (entry.license, entry.specialist, entry.url, entry.ref) == ("MIT", "small_cpp", str(fork), "v9")


def test_what_an_option_says_of_a_known_name_replaces_what_was_known(
    fork: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "data"
    words = ("repos", "add", str(fork), "--ref", "v9", "--data-root", str(root))
    assert not exit_code(monkeypatch, *words, "--license", "BSL-1.0", "--specialist", "formatting", "--submodules")
    assert not exit_code(monkeypatch, *words, "--no-submodules", "--specialist", "")
    entry = load_catalogue("upstream", root)["fmt"]
    assert (entry.license, entry.specialist, entry.submodules) == ("BSL-1.0", "", False)


def test_of_a_new_name_nothing_is_known(
    fork: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "data"
    assert not exit_code(
        monkeypatch, "repos", "add", str(fork), "--name", "mine", "--ref", "v9", "--data-root", str(root)
    )
    said = capsys.readouterr().out
    assert "known already" not in said
    assert f"next: megacpp run --recipe upstream --repos mine@v9 --until packed_rows --data-root {root}\n" in said
    assert "without --until packed_rows it trains a model too" in said
    assert load_catalogue("upstream", root)["mine"].license == "NOASSERTION"


def test_a_reference_behind_the_url_is_rejected_with_the_words_to_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(monkeypatch, "repos", "add", "https://host/o/r@v1.2") == 2
    assert "megacpp repos add https://host/o/r --ref v1.2" in " ".join(capsys.readouterr().err.split())
    assert exit_code(monkeypatch, "repos", "add", "https://host/o/r") == 2
    assert "Missing option '--ref'." in capsys.readouterr().err
