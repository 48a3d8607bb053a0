"""The benchmark of calls found reads names and places as a compiler gives them, and says what it lacks."""

from __future__ import annotations

import shutil
import subprocess
import sys

import _emitted as emitted
import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from tests.benchmarks.conftest import FOLDER


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fmt::v11::detail::buffer<char>::append<char>", ("append", False)),
        ("std::vector<std::pair<int, char> >::vector", ("vector", True)),
        ("std::__cxx11::basic_string<char>::basic_string<std::allocator<char> >", ("basic_string", True)),
        ("std::operator<< <char, std::char_traits<char> >", ("operator<<", False)),
        ("A<(B)1>::operator()", ("operator()", False)),
        ("C::operator int", ("operator int", False)),
        ("f(int)::$_0::operator()", ("operator()", False)),
        ("foo[abi:cxx11]", ("foo", False)),
        ("main", ("main", False)),
    ],
)
def test_the_last_part_of_a_name_is_the_callees_and_tells_constructors(name: str, expected: tuple[str, bool]) -> None:
    assert emitted.last_part(name) == expected


def test_a_missing_compiler_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentLacks, match="apt-get install --no-install-recommends clang"):
        emitted.find_clang()


def test_an_unknown_source_is_one_sentence() -> None:
    if not any(map(shutil.which, emitted._NAMES)):
        pytest.skip("needs a clang: apt-get install --no-install-recommends clang")
    done = subprocess.run(
        [sys.executable, str(FOLDER / "calls.py"), "nowhere"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "expected URL@REF" in done.stderr
