"""The job file: what it says, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import LineageGap, SpecError
from megacpp_assets.training.job import TrainingJob
from tests.training.world import publish_tokenizer, tiny_root, tiny_spec


def test_a_job_survives_a_round_trip(tmp_path: Path) -> None:
    spec = tiny_spec(tiny_root(tmp_path / "a root"))
    job = TrainingJob.from_bytes(TrainingJob.of(spec).to_bytes())
    assert job == TrainingJob.of(spec) and job.spec() == spec and job.name == TrainingJob.of(spec).name


def test_a_job_has_no_command_and_no_process_and_one_path(tmp_path: Path) -> None:
    job = TrainingJob.of(tiny_spec(tiny_root(tmp_path)))
    raw = json.loads(job.to_bytes())
    assert raw.pop("root") == tmp_path.as_uri()
    assert str(tmp_path) not in json.dumps(raw) and "python" not in json.dumps(raw)


def test_another_input_than_in_the_job_is_rejected(tmp_path: Path) -> None:
    job = TrainingJob.of(tiny_spec(tiny_root(tmp_path)))
    artifact = publish_tokenizer(tmp_path)
    other = TrainingJob.from_bytes(job.to_bytes().replace(artifact.manifest.sha256.encode(), b"0" * 64))
    with pytest.raises(LineageGap, match=f"the manifest {'0' * 64} that the job names"):
        other.spec()


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"mixture": 3}'])
def test_a_malformed_job_is_rejected(data: bytes) -> None:
    with pytest.raises(SpecError, match="expected a job file of this version"):
        TrainingJob.from_bytes(data)
