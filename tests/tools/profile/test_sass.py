from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cudamaster.tools.profile import sass
from cudamaster.tools.profile.sass import disassemble, disassembler, parse_sass, plain_name

RECORDED = Path(__file__).parents[2] / "data" / "sass" / "kernels_sm90.sass"
MIXES = parse_sass(RECORDED.read_text())


def test_every_kernel_of_the_listing_is_found() -> None:
    assert set(MIXES) == {"copy4", "gelu_double", "dot_atomic", "softexp", "transpose", "mma", "spill"}


def test_padding_is_no_instruction() -> None:
    assert "NOP" not in MIXES["copy4"].opcodes
    assert MIXES["copy4"].instructions == sum(MIXES["copy4"].opcodes.values())


def test_access_widths() -> None:
    assert MIXES["copy4"].load_bits == {128: 1}
    assert MIXES["copy4"].store_bits == {128: 1}
    assert MIXES["dot_atomic"].load_bits == {32: 2}
    assert MIXES["transpose"].shared_load_bits == {32: 4}


def test_tensor_instructions() -> None:
    assert MIXES["mma"].tensor == 10
    assert all(mix.tensor == 0 for name, mix in MIXES.items() if name != "mma")


def test_a_conversion_by_matrix_unit_is_not_a_tensor_instruction() -> None:
    """HFMA2.MMA moves constants on this architecture; MOVM transposes."""
    assert "HFMA2" in MIXES["dot_atomic"].opcodes
    assert MIXES["dot_atomic"].tensor == 0


def test_local_memory() -> None:
    assert MIXES["spill"].local_loads > 100
    assert MIXES["spill"].local_stores > 100
    assert MIXES["transpose"].local_loads == MIXES["transpose"].local_stores == 0


def test_double_precision_with_its_conversions() -> None:
    assert MIXES["gelu_double"].double > 60
    assert all(mix.double == 0 for name, mix in MIXES.items() if name != "gelu_double")


def test_special_functions_atomics_and_barriers() -> None:
    assert MIXES["softexp"].special == 2
    assert MIXES["dot_atomic"].atomics == 1
    assert MIXES["transpose"].barriers == 1
    assert MIXES["copy4"].special == MIXES["copy4"].atomics == MIXES["copy4"].barriers == 0


def test_shares_are_fractions_of_all_instructions() -> None:
    mix = MIXES["spill"]
    assert mix.share(mix.instructions) == 1.0
    assert mix.share(0) == 0.0


def test_nvdisasm_listings_are_read_too() -> None:
    text = "\n.text.k:\n    /*0000*/    LDG.E.64 R2, desc[UR4][R2.64] ;\n    /*0010*/    @!P0 EXIT ;\n"
    assert parse_sass(text)["k"].load_bits == {64: 1}


def test_text_without_kernels_gives_nothing() -> None:
    assert parse_sass("nothing here") == {}


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        ("_Z3sumPfPKfi", "sum"),
        ("_Z6reduceIfLi4EEvPT_PKS0_", "reduce"),
        ("_ZN2ns6kernelEPf", "kernel"),
        ("_ZN12_GLOBAL__N_14copyEPf", "copy"),
        ("plain", "plain"),
        ("void ns::k<float>(float *)", "k"),
    ],
)
def test_plain_names(mangled: str, plain: str) -> None:
    assert plain_name(mangled) == plain


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disassembler that prints the recorded listing."""
    tool = tmp_path / "bin" / "cuobjdump"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncat {RECORDED}\n")
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    disassemble.cache_clear()
    yield tool
    disassemble.cache_clear()


def test_a_library_is_disassembled(fake: Path, tmp_path: Path) -> None:
    library = tmp_path / "k.so"
    library.write_bytes(b"")
    assert disassembler() == str(fake)
    assert disassemble(str(library))["copy4"].load_bits == {128: 1}


def test_a_failing_disassembler_gives_nothing(fake: Path, tmp_path: Path) -> None:
    fake.write_text("#!/bin/sh\nexit 3\n")
    library = tmp_path / "k.so"
    library.write_bytes(b"")
    assert disassemble(str(library)) == {}


def test_no_library_or_no_disassembler_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disassemble.cache_clear()
    assert disassemble("") == {}
    assert disassemble(str(tmp_path / "missing.so")) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sass.sysconfig, "get_path", lambda _: str(tmp_path))
    assert disassembler() is None
    disassemble.cache_clear()
