"""A user's scorer: its numbers decide, its files are in the manifest, and whatever it does wrong is a clear error."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks, SpecError
from megacpp_assets.contract.recipe.curation import CurationRecipe
from megacpp_assets.contract.recipe.text import load_recipe
from megacpp_assets.contract.sources.curated import DECISIONS_FILE
from megacpp_assets.curation.scorer import opened_scorer, scorer_config
from megacpp_assets.curation.stage import CuratedFilesSpec, run, target
from megacpp_assets.quality.curation import check
from megacpp_assets.repos.catalogue import CatalogueEntry
from megacpp_assets.repos.pins import pin
from megacpp_assets.repos.stage import PinnedReposSpec
from megacpp_assets.repos.stage import run as fetch
from megacpp_assets.storage.parquet import read_table
from tests.repos.git_tree import make_repository

_HEAD = "import json, sys\n"
_LOOP = "for line in sys.stdin:\n    text = json.loads(line)['text']\n"
GOOD = _HEAD + _LOOP + "    print(text.count('good') / 2 - text.count('bad'), flush=True)\n"
MEMORY = 256 << 20

Make = Callable[..., CurationRecipe]


def _hashed(path: Path) -> str:
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"


@pytest.fixture
def recipe(tmp_path: Path) -> Make:
    """Return a function that writes a scorer program and a model file, and returns a recipe that names both."""

    def make(program: str, **changes: object) -> CurationRecipe:
        path, model = tmp_path / "score.py", tmp_path / "model.bin"
        path.write_text(program)
        model.write_bytes(b"weights")
        settings: dict[str, object] = {
            "scorer": (sys.executable, "-S", str(path)),
            "scorer_files": (_hashed(path), _hashed(model)),
            "scorer_seconds": 5,
            "scorer_memory": MEMORY,
        }
        return CurationRecipe(**{**settings, **changes})  # type: ignore[arg-type]

    return make


def _score(recipe: CurationRecipe, *texts: str) -> list[float]:
    with opened_scorer(recipe) as scorer:
        assert scorer is not None
        return [scorer.score(f"{number}.cc", text) for number, text in enumerate(texts)]


def test_a_scorer_gives_each_text_a_number_in_order(recipe: Make) -> None:
    large = "int good;\n\u540d" * 200_000
    assert _score(recipe(GOOD), "good\n\r\u2028 good", "bad", large, "") == [1.0, -1.0, 100_000.0, 0.0]


def test_the_manifest_has_the_hashes_of_its_files_and_no_path(recipe: Make) -> None:
    chosen = recipe(GOOD)
    config = scorer_config(chosen)
    program, model = (line[:64] for line in chosen.scorer_files)
    assert config == {"scorer": [sys.executable, "-S", program], "scorer_files": sorted((program, model))}
    assert scorer_config(CurationRecipe()) == {"scorer": [], "scorer_files": []}


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("", "the end of the program with code 0"),
        ("raise SystemExit('no model')", "the end of the program with code 1: no model"),
        (_HEAD + _LOOP + "    raise ValueError(text)", "code 1: ValueError: int a;"),
        (_HEAD + _LOOP + "    print('fine', flush=True)", "expected a finite number; found 'fine'"),
        (_HEAD + _LOOP + "    print('nan', flush=True)", "expected a finite number; found 'nan'"),
        (_HEAD + _LOOP + "    print('1\\n2', flush=True)", "an answer to half a question, or two"),
        ("print('ready', flush=True)\n" + _HEAD + "import time; time.sleep(60)", "before the question|found 'ready'"),
        (_HEAD + _LOOP + "    print('7' * 5000, flush=True)", "a line of more than 1000 bytes"),
        (_HEAD + _LOOP + f"    bytearray({2 * MEMORY})", "code 1: MemoryError"),
        (_HEAD + "import os\n" + _LOOP + "    os.abort()", "the end of the program with code -6"),
    ],
    ids=["silent", "ends", "fails", "words", "nan", "twice", "early", "long line", "memory", "aborts"],
)
def test_a_scorer_that_fails_is_an_error_that_names_the_file_and_what_it_did(
    recipe: Make, program: str, found: str
) -> None:
    with pytest.raises(SpecError, match=rf"curation\.scorer, 0\.cc.*({found}).*run the program by hand"):
        _score(recipe(program), "int a;", "int b;")


@pytest.mark.parametrize("answers", ["import time; time.sleep(600)", "while True: pass"])
def test_a_scorer_that_does_not_answer_is_ended(recipe: Make, answers: str) -> None:
    before = time.monotonic()
    with pytest.raises(SpecError, match="expected an answer within 1 s; found none"):
        _score(recipe(_HEAD + answers, scorer_seconds=1), "int a;\n" * 100_000)
    assert time.monotonic() - before < 60


def test_a_scorer_that_closes_its_output_and_runs_on_is_ended(recipe: Make) -> None:
    said = "closed its input or output, and still ran after 1 s.*run the program by hand"
    with pytest.raises(SpecError, match=said):
        _score(recipe("import os, time\nos.close(1)\ntime.sleep(600)", scorer_seconds=1), "int a;")


def test_a_missing_program_and_missing_or_changed_files_are_named(recipe: Make, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match=r"curation\.scorer; expected a program .*no/such: No such file"):
        _score(recipe(GOOD, scorer=("/no/such",)), "int a;")
    chosen = recipe(GOOD)
    (tmp_path / "model.bin").write_bytes(b"other weights")
    with pytest.raises(SpecError, match=r"scorer file .*model\.bin; expected sha256 .*sha256sum"):
        _score(chosen, "int a;")
    (tmp_path / "model.bin").unlink()
    with pytest.raises(SpecError, match=r"scorer file .*model\.bin; expected a readable file; found No such file"):
        _score(chosen, "int a;")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scorer": ("a",)}, "both or neither; found scorer alone"),
        ({"scorer_files": ("0" * 64 + "  /x",)}, "both or neither; found scorer_files alone"),
        ({"scorer": ("",), "scorer_files": ("0" * 64 + "  /x",)}, "an empty name"),
        ({"scorer_action": "drop"}, "no scorer"),
        ({"scorer_files": ("x",)}, "a sha256, two spaces and a path"),
        ({"least_score": float("nan")}, "a finite number"),
        ({"scorer_seconds": 0}, "1 to 3600"),
        ({"scorer_memory": 5}, "at least 67_108_864"),
    ],
)
def test_a_recipe_with_half_a_scorer_is_rejected(changes: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        CurationRecipe(**changes)  # type: ignore[arg-type]


def test_the_stage_records_scores_and_drops_by_them_only_where_the_recipe_says_so(recipe: Make, tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    files = {"a.cc": b"int good(); // good\n", "b.cc": b"int bad();\n", "c.cc": b"int good(); // good\n", "d.cc": b"\0"}
    make_repository(tmp_path / "upstream", files)
    chosen = pin(CatalogueEntry("lib", str(tmp_path / "upstream"), "v1"), "v1", root)
    fetch(PinnedReposSpec(root, chosen))
    found = {}
    for action in ("report", "drop"):
        spec = CuratedFilesSpec(root, "d", chosen.partition, chosen.license, recipe(GOOD, scorer_action=action))
        made = run(spec)
        assert [result for result in check(made) if not result.passed] == []
        assert made.manifest.config["scorer_files"] == target(spec).config["scorer_files"] != []
        rows = read_table(made.file(DECISIONS_FILE)).to_pylist()
        assert [row["quality_score"] for row in rows] == [1.0, -1.0, 1.0, None]
        stats = made.manifest.stats
        assert (stats["files_scored"], stats["files_by_score"]) == (
            3,
            {"below the least score": 1, "not below the least score": 2},
        )
        found[action] = [(row["filepath"], row["reason"], row["detail"]) for row in rows if row["decision"] == "drop"]
    assert found == {"report": [], "drop": [("b.cc", "quality rule", "score -1 below 0")]}


def test_what_runs_is_the_file_beside_the_recipe_whatever_the_current_folder_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        (folder / "score.py").write_text(GOOD)
        digest = hashlib.sha256(GOOD.encode()).hexdigest()
        (folder / "mine.toml").write_text(
            'dataset = "mine"\ncatalogue = "sample"\nrepos = ["sample-kernel"]\ncurriculum = ["4k"]\n[curation]\n'
            f"scorer = ['{sys.executable}', '-S', 'score.py']\nscorer_files = ['{digest}  score.py']\n"
        )
        (tmp_path / "score.py").write_text(_HEAD + _LOOP + "    print(7, flush=True)\n")
        monkeypatch.chdir(tmp_path)
        loaded = load_recipe(str(folder / "mine.toml")).curation
        assert _score(loaded, "good good") == [1.0]
        configs.append(scorer_config(loaded))
    assert configs[0] == configs[1] == {"scorer": [sys.executable, "-S", digest], "scorer_files": [digest]}
