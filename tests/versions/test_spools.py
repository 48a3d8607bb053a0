"""A document set without a document is an error that says what left the documents out, and what decides that."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.partition import RepoRef
from megacpp_assets.storage.publish import Publication
from megacpp_assets.versions.judge import ANSWER, SECRET
from megacpp_assets.versions.spools import spools


def test_an_empty_set_names_the_repository_the_rules_and_the_keys_that_decide_them(tmp_path: Path) -> None:
    left_out = {"v4_4096": Counter({SECRET: 2, ANSWER: 1, "no function modified": 1})}
    with spools(("v4_4096",)) as spooled, pytest.raises(SpecError) as error:
        spooled.write(Publication(tmp_path), RepoRef("lib", "v1"), left_out)
    said = str(error.value)
    assert "v4_4096 documents of lib@v1" in said and f"{ANSWER} 1, no function modified 1, {SECRET} 2" in said
    assert "loosen curation.benchmark_action, curation.secrets of the recipe; or " in said
    assert "take lib out of repos" in said and "every repository must have a document of each version" in said
