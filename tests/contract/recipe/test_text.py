"""Recipes as text: shipped ones are whole, a wrong key or value is one sentence with its path, and nothing is lost."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.documents import SemanticRecipe, TokenizerRecipe
from megacpp_assets.contract.recipe.rows import PhaseRecipe, standard_phases
from megacpp_assets.contract.recipe.text import (
    SHIPPED,
    differences,
    load_recipe,
    parse_recipe,
    recipe_sha256,
    recipe_toml,
)
from megacpp_assets.contract.recipe.training import TrainingRecipe
from megacpp_assets.contract.recipe.whole import Recipe
from megacpp_assets.contract.tokens.specials import VOCABULARY_SIZE

_LABELS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_]{0,9}", fullmatch=True)

SMALL = """
dataset = "mine"
catalogue = "sample"
repos = ["sample-kernel"]
curriculum = ["4k"]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A recipe file of a person's own."""
    file = tmp_path / "mine.toml"
    file.write_text(SMALL)
    return file


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_recipe_is_whole_and_reads_back_as_it_is_written(name: str) -> None:
    recipe = load_recipe(name)
    assert recipe.repos and recipe.tokenizer.vocabulary_size <= VOCABULARY_SIZE
    assert parse_recipe(tomllib.loads(recipe_toml(recipe)), name) == recipe


def test_a_file_of_a_persons_own_is_followed_with_defaults_for_what_it_leaves_out(mine: Path) -> None:
    recipe = load_recipe(str(mine))
    assert (recipe.dataset, recipe.training, recipe.semantic) == ("mine", TrainingRecipe(), SemanticRecipe())


def test_a_catalogue_beside_the_recipe_is_found_from_anywhere(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine.write_text(SMALL.replace('"sample"', '"own.toml"', 1))
    monkeypatch.chdir("/")
    assert load_recipe(str(mine)).catalogue == str(mine.parent / "own.toml")


def test_files_that_a_recipe_names_by_hash_are_found_beside_it_from_anywhere(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = "0" * 64
    lines = [f"{hashed}  sets/one.jsonl", f"{hashed}  ../two.jsonl", f"{hashed}  /data/three.jsonl"]
    mine.write_text(f"{SMALL}\n[curation]\nbenchmarks = {lines}\n")
    monkeypatch.chdir("/")
    places = (mine.parent / "sets/one.jsonl", mine.parent.parent / "two.jsonl", "/data/three.jsonl")
    assert load_recipe(str(mine)).curation.benchmarks == tuple(f"{hashed}  {place}" for place in places)


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("training.steps=2000", "training.steps", 2000),
        ("training.learning_rate=1", "training.learning_rate", 1.0),
        ("semantic.configure=true", "semantic.configure", True),
        ("dataset=other", "dataset", "other"),
        ("history.since=2024-01-31", "history.since", "2024-01-31"),
        ('curriculum=["16k"]', "curriculum", ("16k",)),
        ("phases.16k.document_tokens=8192", "phases.16k.document_tokens", 8192),
        ("specialists.drivers.sample-kernel=2.5", "specialists.drivers.sample-kernel", 2.5),
    ],
)
def test_a_setting_changes_one_key(mine: Path, setting: str, key: str, value: object) -> None:
    plain, changed = load_recipe(str(mine)), load_recipe(str(mine), [setting])
    assert [(name, second) for name, _, second in differences(plain, changed)] == [(key, value)]


def test_a_repository_may_be_parsed_with_the_headers_of_another_of_the_recipe(mine: Path) -> None:
    settings = ['repos=["sample-kernel", "sample-format"]', 'stand_ins.sample-kernel=["sample-format"]']
    recipe = load_recipe(str(mine), settings)
    assert recipe.stand_ins == {"sample-kernel": ("sample-format",)}
    assert parse_recipe(tomllib.loads(recipe_toml(recipe)), "again") == recipe


def test_arguments_of_cmake_belong_to_a_repository(mine: Path) -> None:
    stated = '["-S", "part/inner", "-DPART_TESTS:BOOL=OFF", "-DPARTS=one;two words"]'
    recipe = load_recipe(str(mine), [f"cmake_arguments.sample-kernel={stated}"])
    assert recipe.cmake_arguments == {"sample-kernel": tuple(json.loads(stated))}
    assert parse_recipe(tomllib.loads(recipe_toml(recipe)), "again") == recipe


@pytest.mark.parametrize(
    "stated",
    ["[]", '["-S"]', '["-S", "../up"]', '["-S", "/root"]', '["-S", "part/.."]', '["-P", "script"]', '["-DNAME"]',
     '["-DNAME=1", "-S", "part"]', '["-DNAME=line\\nline"]'],
)  # fmt: skip
def test_other_arguments_of_cmake_are_rejected(mine: Path, stated: str) -> None:
    with pytest.raises(SpecError, match=r'cmake_arguments\.sample-kernel; expected "-S" and a relative folder'):
        load_recipe(str(mine), [f"cmake_arguments.sample-kernel={stated}"])


def test_arguments_of_cmake_for_an_unknown_repository_are_rejected(mine: Path) -> None:
    with pytest.raises(SpecError, match="cmake_arguments; expected a repository of the recipe"):
        load_recipe(str(mine), ['cmake_arguments.fmt=["-S", "part"]'])


def test_a_phase_that_is_added_has_defaults_for_what_is_not_said_and_the_standard_ones_stay(mine: Path) -> None:
    recipe = load_recipe(str(mine), ["phases.8k.row_tokens=8192", "phases.16k.dataset_version=v16"])
    assert recipe.phases["8k"] == PhaseRecipe(8192, 4096, "")
    assert recipe.phases["16k"] == PhaseRecipe(16_384, 16_384, "v16")
    assert recipe.phases["4k"] == standard_phases()["4k"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("training.stepz=1", "training.stepz; did you mean `training.steps`.; found an unknown key"),
        ("training.steps=many", "training.steps; expected a valid integer; found 'many'"),
        ("training.steps=true", "training.steps; expected a valid integer; found True"),
        ("steps=4", "steps; did you mean `training.steps`.; found an unknown key"),
        ("training.xyzzyq=1", "training.xyzzyq; expected one of layers, .*; found an unknown key"),
        ("semantic.configure=1", "semantic.configure; expected a valid boolean; found 1"),
        ("colour=red", "colour; expected one of dataset, .*; found an unknown key"),
        (
            "training.structure_components=category",
            "training.structure_components; expected none, .*; found 'category'",
        ),
        ("training.structure_components=", "training.structure_components; expected none, core, all, or .*; found ''"),
        ("tokenizer.whitespace=general_", "tokenizer.whitespace; did you mean `general`.; expected operators_carry_"),
        ("training=3", "training; expected a table of keys; found 3"),
        ("tokenizer.vocabulary_size=7", "tokenizer.vocabulary_size; expected at least 7200; found 7"),
        ('curriculum=["5k"]', r"curriculum '5k'; expected one of 4k, .*; what to do: add \[phases.5k\]"),
        ('phases=["4k"]', "phases; expected a table; found \\['4k'\\]"),
        ("phases.5k.document_tokens=5000", "phases.5k.row_tokens; expected a value; found nothing"),
        ("phases.4k.colour=1", "phases.4k.colour; expected one of row_tokens, .*; found an unknown key"),
        (
            "phases.4k.row_tokens=4095",
            "phases.4k.row_tokens; expected 4096 .its document_tokens, .* to 1048576; found 4095",
        ),
        (
            "phases.16k.document_tokens=16385",
            "phases.16k.row_tokens; expected 16385 .its document_tokens, .* to 1048576; found 16384",
        ),
        ("phases.16k.document_tokens=4095", "phases.16k.document_tokens; expected at least 4096; found 4095"),
        ("phases.16k.dataset_version=../x", "phases.16k.dataset_version; expected 1 to 100 letters"),
        ("phases.4k=7", "phases.4k; expected .*; found 7"),
        ("specialists.base.sample-kernel=2", "specialists.base; expected repositories and their weights, and another"),
        ("specialists.drivers={}", "specialists.drivers; expected repositories .*; found no repository"),
        (
            "specialists.drivers.fmt=2",
            "specialists.drivers.fmt; expected one of the recipe's repositories: sample-kernel",
        ),
        (
            "specialists.drivers.category:games=2",
            "specialists.drivers.category:games; expected .*, or category:CATEGORY",
        ),
        ("specialists.drivers.sample-kernel=0", "specialists.drivers.sample-kernel; expected a positive finite number"),
        (
            "specialists.drivers.sample-kernel=nan",
            "specialists.drivers.sample-kernel; expected a positive finite number",
        ),
        ("specialists.a/b.sample-kernel=2", "specialists.a/b; expected a name of letters"),
        (
            'stand_ins.sample-kernel=["fmt"]',
            "stand_ins.sample-kernel; expected repositories of the recipe, .*; found fmt",
        ),
        ('stand_ins.sample-kernel=["sample-kernel"]', "stand_ins.sample-kernel; expected .*; found sample-kernel"),
        ("stand_ins.sample-kernel=[]", "stand_ins.sample-kernel; expected .*; found none"),
        ('stand_ins.fmt=["sample-kernel"]', "stand_ins.fmt; expected repositories of the recipe, each once"),
        ("stand_ins.sample-kernel=7", "stand_ins.sample-kernel; expected a list, such as .*; found 7"),
        ("mixture.own_weight=-1", "mixture.own_weight; expected above 0; found -1"),
        ("repos=[]", "repos; expected at least one, each once; found none"),
        (
            'repos=["sample-kernel", "sample-kernel@v2"]',
            "repos; expected at least one, each once; found sample-kernel,",
        ),
        ("dataset=../x", "dataset; expected 1 to 100 letters"),
        ("concurrency.parsing=0", "concurrency.parsing; expected 1 to 1000; found 0"),
        ("concurrency.network=100000", "concurrency.network; expected 1 to 1000; found 100000"),
        ("concurrency.gpu=1", "concurrency.gpu; expected one of parsing, accelerator, network"),
        ("training.steps", "--set; expected KEY=VALUE"),
        ("dataset.name=x", "--set dataset.name; expected a key of a section"),
    ],
)
def test_a_wrong_setting_is_rejected_with_the_path_of_its_key(mine: Path, setting: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        load_recipe(str(mine), [setting])


def test_a_key_with_several_faults_is_reported_once_and_every_message_says_how_to_list_the_keys(mine: Path) -> None:
    with pytest.raises(SpecError) as found:
        load_recipe(str(mine), ["training.batch_rows=3", "training.processes=2", "training.hidden=1"])
    assert str(found.value).count("training.batch_rows;") == 1 and "2 values are wrong" in str(found.value)
    assert found.value.do.startswith("megacpp recipe show sample lists every key")
    with pytest.raises(SpecError, match=r"found 3; what to do: megacpp recipe show sample lists every key"):
        load_recipe(str(mine), ["training.batch_rows=3", "training.processes=2"])


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (
            "{row_tokens = 4096, document_tokens = 2048}",
            "phases.short.document_tokens; expected at least 4096; found 20",
        ),
        ("{document_tokens = 4096}", "phases.short.row_tokens; expected"),
    ],
)
def test_a_phase_of_the_curriculum_with_a_fault_is_not_called_unknown_too(mine: Path, phase: str, words: str) -> None:
    with pytest.raises(SpecError) as found:
        load_recipe(str(mine), [f"phases.short={phase}", 'curriculum=["short"]'])
    assert words in str(found.value) and "curriculum 'short'" not in str(found.value)


def test_a_long_value_is_shortened(mine: Path) -> None:
    with pytest.raises(SpecError) as found:
        load_recipe(str(mine), [f"training.steps={'x' * 1000}"])
    assert f"found '{'x' * 99}…; " in str(found.value)


def test_a_missing_key_is_named(mine: Path) -> None:
    mine.write_text(SMALL.replace('dataset = "mine"', ""))
    with pytest.raises(SpecError, match=f"{mine}: dataset; expected a value; found nothing"):
        load_recipe(str(mine))


@pytest.mark.parametrize("name", ["../etc/passwd", "nonsense"])
def test_a_recipe_that_is_not_there_is_rejected_with_the_shipped_ones(name: str) -> None:
    shipped = "sample, smoke, upstream, upstream_1gpu, upstream_8gpu, upstream_history"
    with pytest.raises(SpecError, match=f"one of {shipped}, or the path of .*; found No such file"):
        load_recipe(name)


@pytest.mark.parametrize("data", [b"dataset = [", b"\xff", b"#" * (2 << 20)])
def test_what_is_no_recipe_is_rejected(mine: Path, data: bytes) -> None:
    mine.write_bytes(data)
    with pytest.raises(SpecError, match=r"mine\.toml"):
        load_recipe(str(mine))


@given(
    st.builds(
        Recipe,
        dataset=st.from_regex(r"[A-Za-z0-9_]{1,20}", fullmatch=True),
        catalogue=st.sampled_from(["sample", "upstream"]),
        repos=st.lists(st.text(min_size=1), min_size=1, max_size=3, unique=True).map(tuple),
        curriculum=st.just(("4k", "64k")),
        phases=st.dictionaries(
            _LABELS, st.builds(PhaseRecipe, st.integers(8192, 1 << 20), st.integers(4096, 8192))
        ).map(lambda own: own | standard_phases()),
        tokenizer=st.builds(TokenizerRecipe, st.integers(7200, VOCABULARY_SIZE)),
        training=st.builds(TrainingRecipe, learning_rate=st.floats(1e-9, 1e9)),
    )
)
def test_every_recipe_survives_its_text(recipe: Recipe) -> None:
    assert parse_recipe(tomllib.loads(recipe_toml(recipe)), "text") == recipe


def test_the_hash_follows_what_a_recipe_says_and_not_how_it_was_written(mine: Path) -> None:
    plain = load_recipe(str(mine))
    mine.write_text(SMALL + "# a remark\n[training]\nsteps = 100\n")
    assert recipe_sha256(load_recipe(str(mine))) == recipe_sha256(plain)
    assert recipe_sha256(replace(plain, dataset="other")) != recipe_sha256(plain)


def test_every_wrong_value_of_a_recipe_is_named_in_one_error(mine: Path) -> None:
    settings = ["training.steps=many", "semantic.failed_files_per_cent=101", "semantic.colour=1", "dataset=a b"]
    with pytest.raises(SpecError) as caught:
        load_recipe(str(mine), [*settings, "phases.5k.document_tokens=5000", "mixture.own_weight=-1"])
    said = str(caught.value)
    assert said.startswith(f"{mine}: 6 values are wrong")
    for key in ("training.steps", "semantic.failed_files_per_cent", "semantic.colour", "dataset", "mixture.own_weight"):
        assert f"\n  {key}; expected" in said
    assert "phases.5k.row_tokens; expected a value" in said


def test_a_dataset_may_have_a_hyphen_in_its_name(mine: Path) -> None:
    assert load_recipe(str(mine), ["dataset=my-corpus"]).dataset == "my-corpus"


def test_a_fault_of_one_phase_is_not_reported_for_the_others(tmp_path: Path) -> None:
    """Each phase of the recipe would be unknown to the curriculum."""
    phases = "".join(f"[phases.{name}]\nrow_tokens = 4096\n" for name in ("short", "long"))
    head = 'dataset = "m"\ncatalogue = "sample"\nrepos = ["sample-expr"]\ncurriculum = ["short", "long"]\n'
    (tmp_path / "mine.toml").write_text(f"{head}{phases}[phases.long.blend]\nlong = 0.5\n")
    with pytest.raises(SpecError, match=r"phases.long.blend.long; expected a phase whose documents fit") as error:
        load_recipe(str(tmp_path / "mine.toml"))
    assert "curriculum" not in str(error.value)
