from __future__ import annotations

import pytest

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.platforms import PLATFORM_IDS, platforms, table_of


def test_the_table_has_the_kinds_and_numbers_of_the_contract() -> None:
    found: dict[str, list[int]] = {}
    for platform in platforms().by_id.values():
        found.setdefault(platform.kind, []).append(platform.id)
    assert {kind: (ids[0], ids[-1]) for kind, ids in found.items()} == {
        "os": (1, 30), "rtos": (31, 44), "gpu": (45, 60), "arch": (61, 92), "compiler": (93, 105),
        "cpp_std": (106, 112),
    }  # fmt: skip
    assert sorted(platforms().by_id) == list(range(1, PLATFORM_IDS))


def test_mingw_is_a_system_and_a_compiler_and_its_macro_tells_both() -> None:
    assert platforms().by_sign["__MINGW32__"] == (24, 102)
    assert [str(platforms().by_id[each]) for each in (24, 102)] == ["os=mingw", "compiler=mingw"]


def test_no_two_platforms_of_a_kind_have_one_name_and_each_has_a_sign() -> None:
    named = [str(platform) for platform in platforms().by_id.values()]
    assert len(set(named)) == len(named)
    assert all(platform.signs for platform in platforms().by_id.values())


def test_a_table_whose_ids_do_not_fit_its_platforms_is_rejected() -> None:
    with pytest.raises(SpecError, match="platforms of kind os; expected ids from 1 on, one for each of 1"):
        table_of({"kind": [{"name": "os", "first": 1, "last": 2, "platforms": {"linux": ["__linux__"]}}]})
