"""Glue and host program are built once and found again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Contract, DType, array_in, array_out, scalar, size
from cudamaster.tools.device.port import DeviceUnavailable
from cudamaster.tools.device.runner.cache import builds_folder, cached, content_key
from cudamaster.tools.device.runner.host_program import build_glue, build_host_program, glue_source

from .conftest import CONTRACT


def test_glue_calls_through_the_true_prototype() -> None:
    source = glue_source(CONTRACT)
    assert "int (*)(void*, void*, void*, void*, void*, float, int, int, void*, decltype(sizeof 0), void*)" in source
    assert "Size (*)(int)" in source


def test_contracts_of_one_shape_share_their_glue(builds: Path) -> None:
    def of(entry: str) -> Contract:
        arguments = (array_in("x", "N", dtype=DType.F32), array_out("y", "N"), size("N"), scalar("eps"))
        return Contract(entry=entry, arguments=arguments)

    assert build_glue(of("first"), builds) == build_glue(of("second"), builds)


def test_a_missing_compiler_is_explained(tmp_path: Path) -> None:
    with pytest.raises(DeviceUnavailable, match="no-such-compiler was not found"):
        build_host_program(["no-such-compiler"], root=tmp_path)


def test_a_failing_compiler_shows_command_and_output_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DeviceUnavailable, match=r"g\+\+ .*--nonsense[\s\S]*unrecognized"):
        build_host_program(["g++", "--nonsense"], root=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [".locks"]


def test_concurrent_callers_make_a_thing_once(tmp_path: Path) -> None:
    made: list[int] = []

    def make(folder: Path) -> None:
        made.append(1)
        (folder / "thing").write_text("x")

    def ask() -> None:
        assert (cached("key", make, tmp_path) / "thing").read_text() == "x"

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_keys_depend_on_the_split() -> None:
    assert content_key("ab", "c") != content_key("a", "bc")


def test_home_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDAMASTER_HOME", str(tmp_path))
    assert builds_folder() == tmp_path / "builds"
    monkeypatch.delenv("CUDAMASTER_HOME")
    assert builds_folder() == Path(".cudamaster").absolute() / "builds"
