"""The catalogue of a data root: what a person wrote wrongly is named by file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import REPOSITORY_CATEGORIES
from megacpp_assets.repos.catalogue import USER_CATALOGUE, CatalogueEntry, add_entry, load_catalogue
from megacpp_assets.repos.pins import pin

_LIB = '[repo.lib]\nurl = "https://github.com/o/lib"\nref = "v1"\n'


def test_what_was_added_is_read_back(root: Path) -> None:
    entry = CatalogueEntry(
        "lib", "https://github.com/o/lib", "v1", "MIT", submodules=True, submodule_owners=("github.com/x",)
    )
    add_entry(entry, root)
    assert load_catalogue("upstream", root)["lib"] == entry


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("repo = 3", "repo; expected tables [repo.NAME]; found a number"),
        ("[[repo]]\nname = 'lib'", "repo; expected tables [repo.NAME]; found a list of tables"),
        ("[repo]\nlib = 3", "repo.lib; expected a table; found a number"),
        (_LIB + "license = 3", "repo.lib.license; expected a text; found a number"),
        (_LIB + 'submodules = "yes"', "repo.lib.submodules; expected true or false; found a text"),
        (_LIB + "submodule_owners = [1]", "submodule_owners; expected a list of texts; found a list of other kinds"),
        (_LIB + 'submodule_owners = ["https://github.com"]', "submodule_owners; expected HOST/OWNER"),
        (_LIB + "size_class = 1979-05-27", "repo.lib.size_class; expected a text; found a date or time"),
        (_LIB + 'size_class = "XL"', "repo.lib.size_class; did you mean `L`?; expected one of S, M, L, H; found 'XL'"),
        (_LIB + 'category = "games"', "repo.lib.category; expected one of os_kernels, compilers_and_runtimes"),
        (_LIB + 'colour = "red"', "repo.lib.colour; expected one of url, ref, license"),
        (_LIB + 'name = "other"', "repo.lib.name; expected one of url, ref"),
        (_LIB + 'access = "account"', "repo.lib.note; expected the reason why it is not open"),
        (_LIB + 'vcs = "svn"', "repo.lib.vcs; expected one of git, fossil, cvs, mercurial, depot; found 'svn'"),
        (_LIB + 'license = "Foo"', "repo.lib.license; expected an SPDX licence expression"),
        ('[repo.lib]\nref = "v1"', "repo.lib.url; expected a text; found nothing"),
        ('[repo."a b"]\nurl = "/x"\nref = "v1"', "partition key 'a b@v1'; expected NAME@REF"),
        ('[repo.lib]\nurl = "ssh://host/x"\nref = "v1"', "repo.lib.url; expected https://HOST/OWNER/NAME"),
        ("[repos.lib]", "repos; expected tables [repo.NAME] and nothing else; found the key repos"),
        ("[repo.lib", "expected TOML; found"),
        ("x = " + "[" * 5000, "expected TOML; found"),
        (b"\xff", "expected a readable file in UTF-8; found"),
    ],
)
def test_a_fault_is_one_sentence_with_file_key_expectation_and_finding(
    root: Path, text: str | bytes, sentence: str
) -> None:
    path = root / USER_CATALOGUE
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpecError) as caught:
        _load(root)
    assert str(caught.value).startswith(str(path)) and sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_wrong_key_of_an_entry_is_named_at_once_with_the_closest_right_one(root: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    text = '[repo.lib]\nurl = "/srv/lib"\nreff = "v1"\nlicence = "MIT"\ncategory = "cpp_librarys"\nsource_bytes = -1\n'
    mine.write_text(text)
    error = load_catalogue(str(mine), root)["lib"]
    assert isinstance(error, SpecError)
    assert str(error).splitlines()[0] == f"{mine}: 4 values of repo.lib are wrong"
    for key, closest in (("reff", "ref"), ("licence", "license"), ("category", "cpp_libraries")):
        assert f"\n  repo.lib.{key}; did you mean `{closest}`?" in str(error)
    assert "\n  repo.lib.source_bytes; expected 0 or more; found -1" in str(error)
    assert error.do == f"correct {mine}"


def test_a_missing_and_a_wrong_key_are_both_named(root: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[repo.lib]\nlicense = "Foo"\ntags = "("\n')
    error = load_catalogue(str(mine), root)["lib"]
    for part in ("repo.lib.url; expected a text; found nothing", "repo.lib.ref; expected a text; found nothing"):
        assert part in str(error)
    assert "repo.lib.license; expected an SPDX" in str(error) and "repo.lib.tags; expected a regular" in str(error)


def test_the_advice_names_the_file_that_was_read(root: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("[repo.lib")
    with pytest.raises(SpecError, match=f"{mine}; expected TOML; .*; what to do: correct {mine}$"):
        load_catalogue(str(mine), root)
    mine.write_text(_LIB)
    assert f"add it to {mine}" in load_catalogue(str(mine), root).advice
    assert "to " not in load_catalogue("sample", root).advice.partition("megacpp")[0]
    (root / USER_CATALOGUE).write_text("[repo.lib")
    with pytest.raises(SpecError, match=f"what to do: correct {root / USER_CATALOGUE}, or remove it and add"):
        load_catalogue("sample", root)


def _load(root: Path) -> None:
    for entry in load_catalogue("sample", root).values():
        if isinstance(entry, SpecError):
            raise entry


def test_a_wrong_entry_leaves_the_others_as_they_are(root: Path) -> None:
    text = _LIB + '[repo.bad]\nurl = "/x"\nref = "a,b"\n[repo.gcc]\nurl = "/y"\nref = "releases/gcc-13.2.0"\n'
    (root / USER_CATALOGUE).write_text(text)
    added = CatalogueEntry("more", "/z", "v1")
    add_entry(added, root)
    found = load_catalogue("sample", root)
    assert isinstance(found["bad"], SpecError) and found["more"] == added
    assert isinstance(found["gcc"], CatalogueEntry) and found["gcc"].ref == "releases/gcc-13.2.0"


def test_the_catalogue_that_a_recipe_names_goes_before_what_was_added(root: Path, tmp_path: Path) -> None:
    add_entry(CatalogueEntry("lib", "/elsewhere", "v2", "MIT"), root)
    mine = tmp_path / "mine.toml"
    mine.write_text(_LIB)
    assert load_catalogue(str(mine), root)["lib"] == CatalogueEntry("lib", "https://github.com/o/lib", "v1")


def test_a_folder_in_place_of_the_file_is_one_sentence(root: Path) -> None:
    (root / USER_CATALOGUE).mkdir()
    with pytest.raises(SpecError, match="expected a readable file"):
        load_catalogue("sample", root)


def test_the_extended_catalogue_has_142_repositories_in_16_categories(root: Path) -> None:
    entries = load_catalogue("extended", root).values()
    assert len(entries) == 142
    assert {entry.category for entry in entries} == set(REPOSITORY_CATEGORIES)
    assert {entry.origin for entry in entries} == {"reference", "scripts", "ours"}
    assert len({entry.url for entry in entries}) == 142


@pytest.mark.parametrize(("name", "reason"), [("unreal-engine", "linked to Epic Games"), ("fuchsia", "by jiri")])
def test_a_repository_that_is_not_open_is_rejected_with_its_reason(root: Path, name: str, reason: str) -> None:
    entry = load_catalogue("extended", root)[name]
    with pytest.raises(SpecError, match=f"repository {name}; expected a source that is open.*{reason}"):
        pin(entry, "tip", root)
