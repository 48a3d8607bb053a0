"""The environment that decides the bits of a training on a CPU."""

from pathlib import Path

import pytest

from megacpp_assets.contract.errors import EnvironmentLacks
from megacpp_assets.training.processes import numerics


def _processor(monkeypatch: pytest.MonkeyPatch, folder: Path, flags: str) -> None:
    (folder / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: fpu {flags} avx2\n")
    monkeypatch.setattr(numerics, "_PROCESSOR", folder / "cpuinfo")


def test_by_default_every_library_uses_avx2() -> None:
    found = numerics.numerics(3)
    assert found["OMP_NUM_THREADS"] == "3"
    assert (found["ATEN_CPU_CAPABILITY"], found["ONEDNN_MAX_CPU_ISA"]) == ("avx2", "AVX2")


def test_avx512_is_used_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _processor(monkeypatch, tmp_path, "avx512f avx512dq avx512bw avx512vl")
    found = numerics.numerics(1, "avx512")
    assert (found["ATEN_CPU_CAPABILITY"], found["ONEDNN_MAX_CPU_ISA"]) == ("avx512", "AVX512_CORE")


def test_a_processor_without_avx512_is_an_error_that_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _processor(monkeypatch, tmp_path, "avx512f avx512dq")
    with pytest.raises(EnvironmentLacks, match=r"avx512bw avx512vl.*set training\.instruction_set = avx2"):
        numerics.numerics(1, "avx512")


def test_a_machine_that_does_not_tell_its_processor_has_no_avx512(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numerics, "_PROCESSOR", tmp_path / "missing")
    with pytest.raises(EnvironmentLacks, match="avx512f"):
        numerics.numerics(1, "avx512")
