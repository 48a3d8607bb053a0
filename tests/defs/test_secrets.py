"""A secret that a person has in the environment, in an address or in a file is in nothing that a run writes or says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from dagster._core.storage.event_log import SqliteEventLogStorage

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.defs.build import build_definitions
from megacpp_assets.defs.home.instance import open_instance
from megacpp_assets.pipeline.corpus import open_corpus
from tests.pipeline.roots import command, environment, megacpp_here
from tests.repos.git_tree import commit, git, make_repository

CANARY = "hunter2canary"
SOURCE = b"int answer(int a) {\n" + b"  a += 1;\n" * 40 + b"  return a;\n}\n"
NOWHERE = "127.0.0.1:9"
RECIPE = """
dataset = "mine"
catalogue = "./catalogue.toml"
repos = ["lib"]
curriculum = ["4k"]

[semantic]
parsed_documents = 0
"""


class Person:
    """Somebody with secrets in the environment, who works on a data root; all that is said to them is kept."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.root, self.said = folder, folder / "data", ""
        key = folder / "key.pem"
        key.write_text(f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n")
        for name in ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "WANDB_API_KEY", "MEGACPP_PASSWORD"):
            monkeypatch.setenv(name, CANARY)
        monkeypatch.setenv("MEGACPP_SIGNING_KEY", str(key))
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:{CANARY}@{NOWHERE}")

    def megacpp(self, *words: str, **more: str) -> int:
        done = subprocess.run(
            command(*words), env=environment(self.root) | more, capture_output=True, text=True, check=False
        )
        self.said += done.stdout + done.stderr
        return done.returncode

    def megacpp_here(self, *words: str) -> int:
        """The same in this process."""
        done = megacpp_here(self.root, *words)
        self.said += done.stdout + done.stderr
        return done.returncode

    def job(self, partition: str) -> bool:
        """A run as the UI launches it."""
        with open_instance(self.root) as instance:
            try:
                instance.add_dynamic_partitions("repo_ref__mine", [partition])
            except SpecError as error:  # Dagster's own storage keeps it, so that the run says something too
                self.said += str(error)
                SqliteEventLogStorage.add_dynamic_partitions(instance.event_log_storage, "repo_ref__mine", [partition])
            job = build_definitions(self.root).resolve_job_def("mine__pinned_repos__curated_files__semantic_jsonl__job")
            done = job.execute_in_process(instance=instance, raise_on_error=False, partition_key=partition)
            for entry in instance.all_logs(done.run_id):
                self.said += str(entry)
        return done.success

    def leaks(self) -> list[str]:
        """Where the secret is found."""
        files = [file for file in self.root.rglob("*") if file.is_file()]
        places = [file.relative_to(self.root).as_posix() for file in files if CANARY.encode() in file.read_bytes()]
        return places + ["what was said"] * (CANARY in self.said)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    make_repository(tmp_path / "git" / "own" / "lib", {"lib.cc": SOURCE}, "v1.0")
    (tmp_path / "catalogue.toml").write_text(
        f'[repo.lib]\nurl = "https://{NOWHERE}/own/lib"\nref = "v1.0"\nlicense = "MIT"\n'
    )
    (tmp_path / "mine.toml").write_text(RECIPE)
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", f"{tmp_path}/git/{{owner}}/{{name}}")
    return Person(tmp_path, monkeypatch)


def test_no_secret_is_in_what_a_good_and_a_failed_run_write_and_say(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = ("--recipe", str(person.folder / "mine.toml"))
    assert person.megacpp("run", *recipe, "--until", "semantic_jsonl") == 0, person.said
    commit(
        person.folder / "git" / "own" / "lib",
        {"more.cc": SOURCE.replace(b"answer", b"more").replace(b"+= 1", b"*= 3")},
        "v1.1",
    )
    assert person.job("lib@v1.1")
    git(person.folder / "git" / "own" / "lib", "tag", "v1.2")
    assert person.megacpp_here("run", "--refs", "lib@v1.2", "--until", "pinned_repos") == 0
    monkeypatch.setenv("MEGACPP_GIT_MIRROR", f"https://user:{CANARY}@{NOWHERE}/{{owner}}/{{name}}")
    assert person.megacpp_here("run", "--refs", "lib@v1.3") == 1
    assert not person.job("lib@v1.3")
    monkeypatch.delenv("MEGACPP_GIT_MIRROR")
    assert person.megacpp_here("run", "--refs", "lib@v1.3") == 1
    assert "no credentials are taken" in person.said and "unable to access" in person.said
    assert len(open_corpus(person.root).known_refs) == 3
    assert person.leaks() == []


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (f'launch.exchange="https://user:{CANARY}@host/bucket"', "launch.exchange"),
        (f'launch.exchange="s3://key:{CANARY}@bucket/folder"', "launch.exchange"),
        (f'launch.settings.password="{CANARY}"', "launch"),
        (f'catalogue="https://user:{CANARY}@host/catalogue.toml"', "catalogue"),
    ],
)
def test_a_secret_in_the_configuration_is_rejected_and_not_kept_with_the_recipe(
    person: Person, setting: str, said: str
) -> None:
    words = ("run", "--recipe", str(person.folder / "mine.toml"), "--set", setting, "--until", "pinned_repos")
    done = megacpp_here(person.root, *words)
    person.said = done.stdout + done.stderr
    assert done.returncode == 1 and said in person.said and "Traceback" not in person.said
    assert person.leaks() == []
