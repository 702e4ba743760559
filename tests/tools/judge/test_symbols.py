"""What a built library offers and asks for."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from cudamaster.benchmark.registry import load_task
from cudamaster.tools.judge.build_gate import build_verdict
from cudamaster.tools.judge.elf import read_library
from cudamaster.tools.judge.symbols import symbol_faults
from cudamaster.tools.records import Build, Status

CONTRACT = load_task("gelu").contract
GOOD = 'extern "C" int gelu() { return 0; } extern "C" unsigned long gelu_workspace_bytes(int) { return 0; } '
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ makes the libraries")


@pytest.fixture
def library(tmp_path):
    def compile_(source):
        path = tmp_path / "x.so"
        (tmp_path / "x.cpp").write_text(source)
        subprocess.run(["g++", "-shared", "-fPIC", "-o", path, tmp_path / "x.cpp"], check=True)
        return path

    return compile_


def test_what_is_defined_is_exported_and_what_is_called_is_imported(library):
    symbols = read_library(library(GOOD + 'extern "C" int other(); extern "C" int f() { return other(); }'))
    assert {"gelu", "gelu_workspace_bytes"} <= symbols.exported
    assert "other" in symbols.imported
    assert "other" not in symbols.exported


def test_a_good_library_has_no_fault(library):
    assert symbol_faults(library(GOOD), CONTRACT) == ()


def test_a_mangled_entry_is_a_build_error(library):
    path = library(GOOD.replace('extern "C" int', "int"))
    verdict = build_verdict(Build(ok=True, library=str(path)), CONTRACT)
    assert verdict.status is Status.BUILD_ERROR
    assert 'does not export gelu: define it with extern "C"' in verdict.summary


def test_a_forbidden_import_is_forbidden_however_the_source_spelled_it(library):
    hidden = 'extern "C" int cudaLaunchKernel(); extern "C" int sneaky() __asm__("dlsym"); '
    hidden += "static int f() { return sneaky() + cudaLaunchKernel(); }"
    verdict = build_verdict(Build(ok=True, library=str(library(GOOD + hidden))), CONTRACT)
    assert verdict.status is Status.FORBIDDEN
    assert "dlsym" in verdict.summary


def test_a_runtime_linked_in_brings_its_own_imports(library):
    source = GOOD + 'extern "C" int dlsym(); static int f() { return dlsym(); } static int (*p)() = f;'
    runtime = '__attribute__((constructor)) static void start() __asm__("libcudart_static_1"); '
    runtime += "static volatile int on; static void start() { on = 1; }"
    assert symbol_faults(library(source + runtime), CONTRACT) == ()
    assert "dlsym" in symbol_faults(library(source), CONTRACT)[0]


def test_another_kind_of_file_is_left_to_the_loader(tmp_path):
    (tmp_path / "x").write_text("hello")
    assert read_library(tmp_path / "x") is None


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        ("__attribute__((constructor)) static void early() {}", "(_ZL5earlyv)"),
        ("static int f() { return (long)&f; } int seed = f();", "code runs when the library is loaded"),
        ('asm(".section .init_array,\\"aw\\"\\n.quad gelu\\n.text");', "(?)"),
        ("__attribute__((constructor)) static void frame_dummy() {}", "code runs when the library is loaded"),
        (
            'extern "C" void* pick() { return (void*)&pick; } static int g() __attribute__((ifunc("pick")));'
            " static int (*p)() = g;",
            "(an indirect function)",
        ),
        ('extern "C" int helper() { return 1; }', "exports helper"),
        ("extern const char table[2000000] = {1}; static const char* t = table;", "the host's constants take 2,"),
    ],
)
def test_what_reaches_beyond_the_two_entry_points_is_forbidden(library, extra, says):
    verdict = build_verdict(Build(ok=True, library=str(library(extra + GOOD))), CONTRACT)
    assert verdict is not None
    assert verdict.status is Status.FORBIDDEN
    assert says in verdict.detail


def test_a_library_of_another_kind_is_forbidden(library, tmp_path):
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-x", "c++", "/dev/null", "-o", tmp_path / "libcublas.so.13"], check=True
    )
    (tmp_path / "y.cpp").write_text(GOOD)
    command = ["g++", "-shared", "-fPIC", "-o", tmp_path / "y.so", tmp_path / "y.cpp", "-Wl,--no-as-needed"]
    subprocess.run([*command, tmp_path / "libcublas.so.13"], check=True)
    (fault,) = symbol_faults(tmp_path / "y.so", CONTRACT)
    assert "libcublas.so.13" in fault
