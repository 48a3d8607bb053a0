from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.names import DOCUMENT_TOKENS, ROOT_ROLE
from megacpp_assets.contract.recipe.documents import STRATEGIES, HoldoutRecipe, SemanticRecipe
from megacpp_assets.semantic.documents.composer import Skipped
from megacpp_assets.semantic.documents.documents import documents
from megacpp_assets.semantic.documents.items.enumerators import valued_with
from megacpp_assets.semantic.documents.judge import Judge
from megacpp_assets.semantic.documents.roots.held_out import draw, hold_out, validating
from megacpp_assets.semantic.documents.text.document import Document
from tests.semantic.sources import Sources, index

LONG = "  int total = 0;\n  for (int step = 0; step < limit; ++step) total += step * step - limit;\n  return total;\n"
SOURCES: Sources = {
    "held.h": f"inline int squares(int limit) {{\n{LONG}}}\nstruct Held {{ int first; int second; int third; }};\n",
    "copy.cc": f"static int copied(int limit) {{\n{LONG}}}\n",
    "user.cc": '#include "held.h"\nint user(Held held) { return squares(held.first) + 1000000; }\n',
    "other.cc": "int other(int v) { return v * 1000003 + 17; }\n",
}


def _entries(tree: Path, sources: Sources = SOURCES, strategy: str = "per_chunk", **recipe: Any) -> list[Any]:
    repository, store = index(tree, sources)
    held = hold_out(repository, "library", HoldoutRecipe(**recipe))
    return list(
        documents(
            repository,
            store,
            SemanticRecipe(strategy=strategy, replication=0, body_depth=5),
            DOCUMENT_TOKENS,
            Judge(repository, held),
        )
    )


def _salt_that_holds(path: str, sources: Sources = SOURCES) -> str:
    """A salt under which `path` has the lowest lot, and no other file is held out."""
    return next(
        salt for salt in map(str, range(1000)) if min(sources, key=lambda name: draw("library", name, salt)) == path
    )


def _held(tree: Path, **recipe: Any) -> list[Any]:
    return _entries(tree, share=1e-9, salt=_salt_that_holds("held.h"), **recipe)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_of_a_held_out_file_trains_but_declarations_without_bodies(strategy: str, tmp_path: Path) -> None:
    entries = _held(tmp_path, strategy=strategy)
    trained = [entry for entry in entries if isinstance(entry, Document) and not entry.validates]
    assert {part.filepath for entry in trained for part in entry.constituents if part.role == ROOT_ROLE} == {
        "user.cc",
        "other.cc",
    }
    texts = "\n".join(entry.text for entry in trained)
    assert "inline int squares(int limit);" in texts and "struct Held {\n  int first;\n};" in texts
    assert "total += step" not in texts and "int third" not in texts


def test_a_document_that_would_complete_a_held_out_definition_goes_without_it_and_keeps_its_other_context(
    tmp_path: Path,
) -> None:
    names = [f"limit_number_{number}" for number in range(12)]
    constants = "".join(f"static const int {name} = {1000 + number};\n" for number, name in enumerate(names))
    sources: Sources = {
        "held.h": constants,
        "help.h": "int help(int value);\n",
        "user.cc": f'#include "held.h"\n#include "help.h"\nint user() {{ return help({" + ".join(names)}); }}\n',
        "few.cc": f'#include "held.h"\nint few() {{ return {names[0]} * {names[1]} + 1000000; }}\n',
    }
    entries = _entries(tmp_path, sources, share=1e-9, salt=_salt_that_holds("held.h", sources))
    texts = {entry.root.name: entry.text for entry in entries if isinstance(entry, Document) and not entry.validates}
    assert f"{names[0]} = 1000;" in texts["few"] and f"{names[2]} =" not in texts["few"]
    assert "int help(int value);" in texts["user"] and f"{names[5]} =" not in texts["user"]


def test_a_near_copy_of_a_held_out_definition_is_left_out_with_its_reason(tmp_path: Path) -> None:
    skipped = {entry.name: entry.reason for entry in _held(tmp_path) if isinstance(entry, Skipped)}
    assert skipped == {"copied": "near-duplicate of held-out held.h:0"}


def _shown_of(enumeration: str, used: str, tree: Path) -> str:
    """The text of a document whose root uses `used` of the held-out `enumeration`."""
    sources: Sources = {
        "held.h": enumeration,
        "user.c": f'#include "held.h"\nint user(int v) {{ return v == {used} ? 1 : 1000000; }}\n',
        "other.c": SOURCES["other.cc"],
    }
    entries = _entries(tree, sources, share=1e-9, salt=_salt_that_holds("held.h", sources))
    texts = {entry.root.name: entry.text for entry in entries if isinstance(entry, Document) and not entry.validates}
    return texts["user"]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("typedef enum {", "} kind;"), ("enum kind {", "};"), ("typedef enum kind_of {", "} kind;")],
)
def test_of_a_held_out_enumeration_the_enumerators_that_are_used_are_shown(
    opening: str, closing: str, tmp_path: Path
) -> None:
    names = "".join(f"  KIND_NUMBER_{number} = 1 << {number}, /* of {number} */\n" for number in range(12))
    text = _shown_of(f"{opening}\n{names}{closing}\n", "KIND_NUMBER_3 + KIND_NUMBER_7", tmp_path)
    assert f"{opening}\n  KIND_NUMBER_3 = 1 << 3,\n  KIND_NUMBER_7 = 1 << 7,\n{closing}" in text


def _counting(given: int, length: int) -> str:
    """An enumeration of 30 enumerators of which the first and the one at `given` have a value of their own."""
    values = {0: " = 7", given: " = 40"}
    names = "".join(f"  K{number:0{length}}{values.get(number, '')}, // of {number}\n" for number in range(30))
    return f"enum kind {{\n{names}}};\n"


def test_an_enumerator_without_a_value_comes_with_those_from_the_last_value_on(tmp_path: Path) -> None:
    text = _shown_of(_counting(20, 9), "K000000022", tmp_path)
    assert "enum kind {\n  K000000020 = 40,\n  K000000021,\n  K000000022,\n};" in text


def test_an_enumerator_that_would_have_another_value_is_not_declared(tmp_path: Path) -> None:
    text = _shown_of(_counting(1, 30), f"K{29:030} + K{1:030}", tmp_path)
    assert f"enum kind {{\n  K{1:030} = 40,\n}};" in text


def test_of_an_enumeration_that_would_be_complete_one_enumerator_is_shown(tmp_path: Path) -> None:
    names = [f"A_LONG_NAME_OF_KIND_NUMBER_{number}" for number in range(10)]
    enumerators = "".join(f"  {name} = {number},\n" for number, name in enumerate(names))
    enumeration = f"enum kind {{\n{enumerators}}};\n"
    text = _shown_of(enumeration, " + ".join(names), tmp_path)
    assert f"enum kind {{\n  {names[0]} = 0,\n}};" in text


@pytest.mark.parametrize(
    "text",
    [
        '\n  ONE = 1,\n#include "more.h"\n  TWO,\n',
        "\n#ifdef SOME\n  ONE,\n#endif\n  TWO,\n",
        "  MORE(ONE) TWO,\n",
        "\n#ifdef SOME\n  ONE = 1,\n  TWO = 2,\n#endif\n",
        "\n#include <more>\n  ONE,\n  TWO = ONE * 2,\n",
    ],
)
def test_an_enumerator_whose_value_the_text_does_not_tell_has_none(text: str) -> None:
    places = [(text.rindex(name), text.rindex(name) + 5) for name in ("ONE", "TWO") if f"({name})" not in text]
    assert valued_with(text, [(start, text.index(",", start) + 1) for start, _ in places])[-1] == frozenset()


def test_an_enumerator_comes_with_those_that_its_value_names() -> None:
    text = "A /* first = */, B = 4, C, D = (A | C), E [[deprecated]] = D, F"
    ends = [at + 1 for at, letter in enumerate(text) if letter == ","]
    valued = valued_with(text, list(zip([0, *(end + 1 for end in ends)], [*ends, len(text)], strict=True)))
    assert valued == [{0}, {1}, {1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 5}]


def test_of_a_held_out_struct_that_a_typedef_alone_names_the_used_fields_are_shown(tmp_path: Path) -> None:
    fields = "".join(f"  int field_number_{number};\n" for number in range(20))
    sources: Sources = {
        "held.h": f"typedef struct {{\n{fields}}} box;\n",
        "user.c": '#include "held.h"\nint user(box *v) { return v->field_number_3 + 1000000; }\n',
        "other.c": SOURCES["other.cc"],
    }
    entries = _entries(tmp_path, sources, share=1e-9, salt=_salt_that_holds("held.h", sources))
    texts = {entry.root.name: entry.text for entry in entries if isinstance(entry, Document) and not entry.validates}
    assert "typedef struct {\n  int field_number_3;\n} box;" in texts["user"]


def test_of_a_root_of_many_macros_the_copied_ones_alone_are_held_back(tmp_path: Path) -> None:
    steps = " ".join(f"total += step_{number} * {number} - limit;" for number in range(6))
    ours = " ".join(f"\\\n  logged = trace({number}, logged);" for number in range(12))
    copied = f"#define SQUARES(limit, total) do {{ {steps} }} while (0)\n"
    sources: Sources = {
        "held.h": copied,
        "many.h": f"int trace(int level, int logged);\n#define LOG(logged) do {{ {ours} }} while (0)\n{copied}",
        "user.c": '#include "many.h"\nint user(int logged) { LOG(logged); return logged + 1000000; }\n',
    }
    entries = _entries(tmp_path, sources, share=1e-9, salt=_salt_that_holds("held.h", sources))
    assert any(isinstance(entry, Skipped) and "near-duplicate" in entry.reason for entry in entries)
    texts = {entry.root.name: entry.text for entry in entries if isinstance(entry, Document) and not entry.validates}
    assert "#define LOG(logged)" in texts["user"] and "SQUARES" not in texts["user"]


def test_a_document_that_validates_has_roots_of_held_out_files_only(tmp_path: Path) -> None:
    held = [entry for entry in _held(tmp_path) if isinstance(entry, Document) and entry.validates]
    assert {part.filepath for entry in held for part in entry.constituents if part.role == ROOT_ROLE} == {"held.h"}
    assert len(held) == 2


def test_whole_repositories_validate_on_request(tmp_path: Path) -> None:
    entries = _entries(tmp_path, repositories=("library",))
    assert all(entry.validates for entry in entries if isinstance(entry, Document))


def test_without_a_share_nothing_validates(tmp_path: Path) -> None:
    assert not any(entry.validates for entry in _entries(tmp_path, share=0.0) if isinstance(entry, Document))


def test_a_repository_of_one_file_trains(tmp_path: Path) -> None:
    (entry,) = _entries(tmp_path, {"a.cc": SOURCES["other.cc"]}, share=0.0001)
    assert isinstance(entry, Document) and not entry.validates


def test_every_definition_a_near_copy_leaves_nothing_to_train_on(tmp_path: Path) -> None:
    sources = {"a.cc": SOURCES["copy.cc"], "b.cc": SOURCES["copy.cc"].replace("copied", "again")}
    entries = _entries(tmp_path, sources, share=0.0001)
    assert [entry.validates for entry in entries if isinstance(entry, Document)] == [True]
    assert [entry.reason.split(" of ")[0] for entry in entries if isinstance(entry, Skipped)] == ["near-duplicate"]


@given(st.text(max_size=20), st.text(max_size=40), st.text(max_size=5))
def test_a_lot_depends_on_repository_path_and_salt_alone(name: str, path: str, salt: str) -> None:
    assert 0 <= draw(name, path, salt) < 1
    assert draw(name, path, salt) == draw(name, path, salt)


def test_what_validates_stays_the_same_in_every_tag_and_budget(tmp_path: Path) -> None:
    first = {f"src/{n}.cc": f"int part{n}(int value) {{ return value + {n} + 1000000; }}\n" for n in range(12)}
    later = {path: text.replace("value + ", "2 * value - ") for path, text in first.items() if path != "src/3.cc"}
    later |= {f"new/{n}.cc": f"int fresh{n}(int value) {{ return value + {n} + 2000000; }}\n" for n in range(4)}
    roots: list[dict[str, bool]] = []
    for number, (sources, budget) in enumerate(((first, 4096), (first, 65_536), (later, 4096))):
        repository, store = index(tmp_path / str(number), sources)
        held = hold_out(repository, "library", HoldoutRecipe(share=0.4, near_copy=1.0))
        made = documents(repository, store, SemanticRecipe(), budget, Judge(repository, held))
        parts = [(part, each.validates) for each in made if isinstance(each, Document) for part in each.constituents]
        roots.append({part.filepath: validates for part, validates in parts if part.role == ROOT_ROLE})
    assert roots[0] == roots[1] and set(roots[0].values()) == {False, True}
    assert {path: roots[2][path] for path in roots[0] if path in roots[2]} == {
        path: validates for path, validates in roots[0].items() if path in later
    }


PATHS = st.frozensets(st.text(max_size=8), max_size=30)
SHARES = st.floats(0.01, 0.9)


@given(PATHS, PATHS, SHARES)
def test_a_file_below_the_share_validates_and_no_other_whatever_files_there_are(
    old: frozenset[str], new: frozenset[str], share: float
) -> None:
    """The two cases in which no lot, or every lot, is below the share have tests of their own."""
    for paths in (old, old | new):
        below = frozenset(path for path in paths if draw("library", path, "") < share)
        if below and below != paths:
            assert validating(paths, "library", HoldoutRecipe(share=share)) == below


@given(PATHS, SHARES)
def test_where_no_lot_is_below_the_share_the_lowest_of_several_validates(paths: frozenset[str], share: float) -> None:
    lots = {path: draw("library", path, "") for path in paths}
    kept = frozenset(path for path, lot in lots.items() if lot >= share)
    lowest = {min(kept, key=lambda path: lots[path])} if len(kept) > 1 else set()
    assert validating(kept, "library", HoldoutRecipe(share=share)) == lowest


@given(PATHS, SHARES)
def test_where_every_lot_is_below_the_share_the_highest_trains(paths: frozenset[str], share: float) -> None:
    lots = {path: draw("library", path, "") for path in paths}
    below = frozenset(path for path, lot in lots.items() if lot < share)
    highest = {max(below, key=lambda path: lots[path])} if below else set()
    assert validating(below, "library", HoldoutRecipe(share=share)) == below - highest


def test_lots_are_spread_evenly() -> None:
    assert 450 < sum(draw("library", f"src/{number}.cc", "") < 0.05 for number in range(10_000)) < 550


@pytest.mark.parametrize("wrong", [{"share": -0.1}, {"share": 1.5}, {"near_copy": 0.0}, {"near_copy": 2.0}])
def test_impossible_shares_are_rejected_by_their_key(wrong: dict[str, float]) -> None:
    with pytest.raises(SpecError, match=f"holdout.{next(iter(wrong))}"):
        HoldoutRecipe(**wrong)  # type: ignore[arg-type]
