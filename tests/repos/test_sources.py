"""Where a URL leads: mirror templates, local paths, and what is refused."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.repos.git import GitFailed, git
from megacpp_assets.repos.sources import advice, source_url
from tests.repos.git_tree import git as git_at
from tests.repos.git_tree import make_repository


def test_a_mirror_template_replaces_owner_and_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", "/srv/git/{owner}/{name}")
    assert source_url("https://github.com/fmtlib/fmt.git", tmp_path) == "/srv/git/fmtlib/fmt"


def test_without_a_mirror_the_url_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MEGACPP_GIT_MIRROR", raising=False)
    assert source_url("https://github.com/fmtlib/fmt", tmp_path) == "https://github.com/fmtlib/fmt"


def test_a_sample_repository_is_in_the_data_root(tmp_path: Path) -> None:
    assert source_url("sample://sample-expr", tmp_path) == str(tmp_path / "sample_git" / "sample-expr.git")


@pytest.mark.parametrize(
    "url",
    ["ext::sh -c id", "git://host/x", "ssh://host/x", "git@host:x/y", "-upload-pack=x", "http://host/x/y",
     "https://user:secret@host/x", "https://host/../x", "relative/path"],
)  # fmt: skip
def test_a_scheme_that_could_run_or_leak_something_is_rejected(url: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="repository URL"):
        source_url(url, tmp_path)


@pytest.mark.parametrize("url", ["https://u:canary@host/x/y", "https://host/x/y?token=canary", "u:canary@host:x/y"])
def test_credentials_in_a_url_are_rejected_and_not_shown(url: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no credentials are taken") as caught:
        source_url(url, tmp_path)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "template",
    ["https://u:can ary@host/{owner}/{name}", "https://host/{owner}/{name}?t=can ary", "https://can ary@h/{x}"],
)
def test_credentials_in_a_mirror_template_are_rejected_and_not_shown(
    template: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", template)
    with pytest.raises(SpecError, match="MEGACPP_GIT_MIRROR") as caught:
        source_url("https://github.com/fmtlib/fmt", tmp_path)
    assert "can ary" not in str(caught.value)


@pytest.mark.parametrize("template", ["/srv/{nope}", "{0}", "relative/{name}", "ssh://host/{owner}/{name}"])
def test_a_mirror_template_that_cannot_work_is_rejected(
    template: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", template)
    with pytest.raises(SpecError, match="MEGACPP_GIT_MIRROR"):
        source_url("https://github.com/fmtlib/fmt", tmp_path)


class _Answers(BaseHTTPRequestHandler):
    """Answers with the status that the path begins with."""

    def do_GET(self) -> None:
        status = int(self.path.split("/")[1])
        self.send_response(status)
        if status == 301:
            self.send_header("Location", "http://127.0.0.1:1/moved/name")
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("status", "do"),
    [
        (301, "the repository has moved: write its new address"),
        (401, "the source needs an account"),
        (403, "the source needs an account"),
        (404, "the repository has vanished"),
        (410, "the repository has vanished"),
        (500, "check the network"),
    ],
)
def test_what_git_says_of_a_repository_that_moved_vanished_or_needs_an_account_has_its_own_advice(
    status: int, do: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEGACPP_GIT_MIRROR", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/{status}/owner/name"
        try:
            with pytest.raises(GitFailed) as failed:
                git("-c", "protocol.http.allow=always", "ls-remote", url)
        finally:
            server.shutdown()
            thread.join()
    assert advice("https://host/owner/name", str(failed.value)).startswith(do)


def test_a_mirror_that_is_set_is_not_advised_and_an_end_while_git_wrote_points_to_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", "/srv/git/{owner}/{name}")
    said = advice("https://host/owner/name")
    assert "unset the variable" in said and "set MEGACPP_GIT_MIRROR to" not in said
    for url in ("https://host/owner/name", "/srv/git/name"):
        assert "ulimit -f" in advice(url, "fatal: fetch-pack: invalid index-pack output")


def test_a_source_that_lacks_objects_is_to_be_cloned_whole(tmp_path: Path) -> None:
    source = tmp_path / "damaged"
    make_repository(source, {"a.cc": b"int a;\n"})
    lost = git_at(source, "rev-parse", "HEAD:a.cc")
    (source / ".git/objects" / lost[:2] / lost[2:]).unlink()
    git("init", "-q", "--bare", str(tmp_path / "taken"))
    with pytest.raises(GitFailed) as failed:
        git("fetch", source.as_uri(), "HEAD", git_dir=tmp_path / "taken")
    assert advice(str(source), str(failed.value)).startswith("the source lacks objects")
