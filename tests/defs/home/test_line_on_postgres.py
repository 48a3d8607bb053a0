"""The whole line with Dagster's database on a real Postgres server: recorded, audited, and resumable without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.defs.home.database import POSTGRES_VARIABLE
from tests.pipeline.roots import data_hashes, megacpp
from tests.postgres import postgres

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]
RUN = ("run", "--recipe", "smoke")


def test_the_line_is_recorded_and_audited_and_resumes_after_the_server_was_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgres() as server:
        monkeypatch.setenv(POSTGRES_VARIABLE, server.create("dagster"))
        done = megacpp(tmp_path, *RUN)
        assert done.returncode == 0, done.stdout + done.stderr
        made = data_hashes(tmp_path)
        assert not (tmp_path / "dagster" / "history").exists()
        audit = megacpp(tmp_path, "audit", "base/4k")
        assert audit.returncode == 0 and "verified: true" in audit.stdout, audit.stdout + audit.stderr
        server.stop("immediate")
        for words in (RUN, ("audit", "base/4k")):
            down = megacpp(tmp_path, *words)
            lines = down.stderr.splitlines()
            assert down.returncode == 1 and "Traceback" not in down.stderr
            assert lines[0].startswith("error: Dagster's database postgresql://…@127.0.0.1:")
            assert lines[1] == "  expected a server that answers" and "refused" in lines[2]
        server.start()
        assert "Nothing to do" in megacpp(tmp_path, *RUN).stdout
        assert data_hashes(tmp_path) == made
        # An empty database, as after the loss of the server: the run records what is on disk, and the audit is green.
        server.drop("dagster")
        server.create("dagster")
        again = megacpp(tmp_path, *RUN)
        assert "Recorded in Dagster's event log, which lacked them: " in again.stdout, again.stdout + again.stderr
        assert megacpp(tmp_path, "audit", "base/4k").returncode == 0
