"""What comes back from an evaluation process, and what every kind of misbehaviour looks like from outside."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.tools.device.port import CallResult, Unsupported
from cudamaster.tools.device.runner.client import Limits, RunnerFault, RunnerProcess, remove_left_folders

from .conftest import GOOD, make_arrays, make_case, make_task

Start = Callable[..., RunnerProcess]


def run(runner: RunnerProcess, n: int = 7, **options: object) -> CallResult:
    runner.load_case(make_case(n), make_arrays(n))
    return runner.call(**options)  # type: ignore[arg-type]


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("n", [1, 7, 1000, 100_003])
def test_a_right_candidate_brings_every_output_back(start: Start, n: int) -> None:
    result = run(start(), n)
    assert result.status == "ok", result.message
    np.testing.assert_array_equal(result.outputs["y"], 2.5 * np.arange(n, dtype=np.float32) + 3)
    np.testing.assert_array_equal(result.outputs["z"], np.full(n, 10.5, np.float32))
    np.testing.assert_array_equal(result.outputs["extra"], np.full(n, 20, np.float32))
    assert result.damage == ()
    assert result.unwritten == {"y": 0, "extra": 0}


def test_a_killed_driver_s_folder_is_removed_and_a_living_one_s_stays(start: Start, tmp_path: Path) -> None:
    living, left, new, odd, strange = (tmp_path / f"cudamaster-{name}" for name in ("a", "b", "c", "d", "e"))
    runner = start()
    living.symlink_to(runner.folder)
    for folder in (left, new, odd, strange):
        folder.mkdir()
    for folder in (left, new):
        (folder / "outputs.bin").write_bytes(b"much")
    os.mkfifo(odd / "outputs.bin")  # a candidate may have left anything: nothing blocks
    (strange / "outputs.bin").symlink_to(left)
    for folder in (runner.folder, left, odd, strange):
        os.utime(folder, (0, 0))
    remove_left_folders(tmp_path)
    assert not left.exists()
    assert new.exists()
    assert strange.exists()
    assert run(runner).status == "ok"


def test_zero_elements(start: Start) -> None:
    result = run(start(), 0)
    assert result.status == "ok"
    assert result.outputs["y"].shape == (0,)


def test_an_inout_array_is_restored_before_every_call(start: Start) -> None:
    runner = start()
    first, second = run(runner), runner.call()
    np.testing.assert_array_equal(first.outputs["z"], second.outputs["z"])


def test_null_pointers_reach_the_candidate(start: Start) -> None:
    runner = start()
    runner.load_case(make_case(5, null=("extra",)), make_arrays(5))
    result = runner.call()
    assert result.status == "ok"
    assert set(result.outputs) == {"y", "z"}


@pytest.mark.parametrize("poison", [0x00, 0xFF, 0x7B])
def test_untouched_outputs_are_counted_as_unwritten(start: Start, poison: int) -> None:
    result = run(start("{ y[0] = 5; return 0; }"), poison=poison)
    assert result.unwritten == {"y": 6, "extra": 7}
    assert result.outputs["y"][1:].tobytes() == bytes([poison]) * 24


def test_the_workspace_is_poisoned_again_before_every_call(start: Start) -> None:
    keeps = "{ unsigned char* w = (unsigned char*)workspace; y[0] = w[0]; w[0] = 9; return 0; }"
    runner = start(keeps)
    assert run(runner, poison=0x11).outputs["y"][0] == 0x11
    assert runner.call(poison=0x22).outputs["y"][0] == 0x22


def test_workspace_size_and_pointer(start: Start) -> None:
    body = "{ y[0] = workspace_bytes; y[1] = workspace == NULL; return 0; }"
    assert run(start(body, workspace="return 4 * n;")).outputs["y"][:2].tolist() == [28, 0]
    assert run(start(body, workspace="return 0;")).outputs["y"][:2].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("{ y[n] = 1; return 0; }", "memory after 'y' was overwritten: byte 28 of 28"),
        ("{ y[-1] = 1; return 0; }", "memory before 'y' was overwritten: byte -1"),
        ("{ ((char*)x)[4096] = 1; return 0; }", "memory after 'x'"),
        ("{ ((char*)workspace)[64] ^= 1; return 0; }", "memory after 'workspace' was overwritten: byte 64 of 64"),
        ("{ ((float*)x)[2] = 99; return 0; }", "input 'x' was changed, first at byte"),
        ("{ ((int*)k)[1] = 7; return 0; }", "input 'k' was changed"),
    ],
)
def test_writes_outside_the_outputs_are_named(start: Start, body: str, says: str) -> None:
    result = run(start(body))
    assert result.status == "ok"
    assert says in " ".join(result.damage)


def test_a_changed_large_input_is_seen(start: Start) -> None:
    n = 1 << 20  # 4 MiB: compared by the host program
    result = run(start("{ ((float*)x)[777777] = -1; return 0; }"), n)
    assert result.damage == (f"input 'x' was changed, first at byte {777777 * 4}",)
    assert run(start(), n).damage == ()


def test_positions_of_a_huge_output_and_a_full_scan(start: Start) -> None:
    n = (1 << 22) + 3
    wanted = np.array([0, 1, 2_097_151, 2_097_152, n - 1], dtype=np.int64)
    runner = start("{ for (int i = 0; i < n; ++i) if (i != 3000000) y[i] = i; return 0; }")
    result = run(runner, n, positions={"y": wanted})
    np.testing.assert_array_equal(result.outputs["y"], wanted.astype(np.float32))
    assert result.unwritten["y"] == 1


def test_new_pointers_differ_and_old_pointers_stay(start: Start) -> None:
    runner = start("{ memcpy(y, &y, 8); return 0; }")

    def pointer(new: bool) -> int:
        runner.load_case(make_case(), make_arrays(), new_pointers=new)
        return int(runner.call().outputs["y"][:2].view(np.uint64)[0])

    first = pointer(True)
    assert pointer(False) == first
    assert pointer(True) != first


def test_same_pointers_with_new_data(start: Start) -> None:
    runner = start()
    run(runner)
    arrays = {**make_arrays(), "x": np.full(7, 4, np.float32)}
    runner.load_case(make_case(), arrays, new_pointers=False)
    assert runner.call().outputs["y"].tolist() == [13.0] * 7


def test_repeat_tells_a_steady_candidate_from_a_drifting_one(start: Start) -> None:
    steady = start()
    run(steady)
    hashes = steady.repeat(4)
    assert len(set(hashes)) == 1
    assert len(hashes) == 4  # type: ignore[arg-type]
    drifting = start("{ static int calls; for (int i = 0; i < n; ++i) y[i] = ++calls > 14; return 0; }")
    run(drifting)
    assert len(set(drifting.repeat(4))) > 1  # type: ignore[arg-type]


def test_an_error_code_is_a_launch_error_and_the_process_lives_on(start: Start) -> None:
    runner = start("{ if (n == 7) return 1; y[0] = 0; return 0; }")
    result = run(runner)
    assert result.status == "launch_error"
    assert "cudaErrorFake: invalid argument" in result.message
    assert run(runner, 8).status == "ok"


def test_a_launch_error_that_the_entry_hides_is_found(start: Start) -> None:
    result = run(start(before='extern "C" int cudamaster_last_error() { return 1; }'))
    assert result.status == "launch_error"
    assert "did not say so" in result.message


def test_a_sticky_device_error_is_a_crash(start: Start) -> None:
    runner = start('{ setenv("FAKE_STICKY", "1", 1); return 0; }')
    result = run(runner)
    assert result.status == "crash"
    assert "illegal memory access" in result.message
    assert runner.call() == result
    assert is_gone(runner._process.pid)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("{ *(volatile int*)8 = 1; return 0; }", "SIGSEGV"),
        ('{ write(2, "boom\\n", 5); abort(); }', "SIGABRT"),
        ("{ _exit(0); }", "exit code 0"),
        ("{ exit(0); }", "exit code 0"),
    ],
)
def test_a_process_that_ends_is_a_crash(start: Start, body: str, says: str) -> None:
    result = run(start(body))
    assert result.status == "crash"
    assert says in result.message
    if "boom" in body:
        assert "boom" in result.message


def test_an_endless_call_times_out_and_nothing_stays(start: Start) -> None:
    runner = start("{ for (;;) ; }", limits=Limits(call_s=0.3))
    result = run(runner)
    assert result.status == "timeout"
    assert is_gone(runner._process.pid)
    assert runner.call().status == "timeout"


def test_faults_in_the_workspace_function(start: Start) -> None:
    assert run(start(workspace="abort();")).status == "crash"
    huge = run(start(workspace="return (size_t)1 << 50;"))
    assert huge.status == "launch_error"
    assert f"{1 << 50:,} bytes" in huge.message


def test_faults_of_a_constructor(start: Start) -> None:
    crashed = start(before="struct S { S() { *(volatile int*)8 = 1; } } s;")
    assert run(crashed).status == "crash"
    assert run(start(before="struct S { S() { _exit(0); } } s;")).status == "crash"


def test_a_forged_answer_has_no_nonce(start: Start) -> None:
    forged = r'for (int fd = 3; fd < 64; ++fd) write(fd, "loaded\n 0 {\"filtered\": true}\n", 32);'
    assert run(start(before=f"struct S {{ S() {{ {forged} }} }} s;")).status == "crash"
    assert run(start(f"{{ {forged} return 0; }}")).status == "crash"


def test_missing_entry_points_and_unresolved_symbols(
    start: Start, executable: Path, builds: Path, tmp_path: Path
) -> None:
    undefined = start("{ return nowhere(); }", before='extern "C" int nowhere();')
    result = run(undefined)
    assert result.status == "launch_error"
    assert "nowhere" in result.message
    (tmp_path / "not_a_library.so").write_text("hello")
    with RunnerProcess(executable, tmp_path / "not_a_library.so", make_task(), Precision.FP32, builds=builds) as broken:
        assert run(broken).status == "launch_error"


def test_no_gpu_is_the_machines_fault(start: Start) -> None:
    with pytest.raises(RunnerFault, match="no GPU context"):
        start(environment={"FAKE_NO_GPU": "1"})


def test_the_candidate_sees_no_descriptor_no_environment_and_no_children(start: Start) -> None:
    os.environ["SECRET_OF_THE_DRIVER"] = "x"
    body = """{
      int open = 0; for (int fd = 3; fd < 256; ++fd) open += fcntl(fd, F_GETFD) >= 0;
      y[0] = open; y[1] = getenv("SECRET_OF_THE_DRIVER") != NULL; y[2] = fork() >= 0; y[3] = socket(1, 1, 0) >= 0;
      y[4] = kill(getppid(), 0) == 0; y[5] = system("true") == 0; return 0; }"""
    runner = start(body, before="#include <fcntl.h>\n#include <sys/socket.h>\n#include <signal.h>")
    seen = run(runner).outputs["y"].tolist()
    assert seen[:2] == [1.0, 0.0]  # the control socket alone
    if runner.isolation.system_calls:
        assert seen[2:6] == [0.0, 0.0, 0.0, 0.0]
    assert os.getsid(runner.pid) == runner._process.pid != os.getsid(0)


def test_the_size_of_the_workspace_is_asked_when_the_descriptor_of_the_inputs_is_closed(start: Start) -> None:
    count = "size_t open = 0; for (int fd = 3; fd < 256; ++fd) open += fcntl(fd, F_GETFD) >= 0; return open;"
    runner = start("{ y[0] = workspace_bytes; return 0; }", workspace=count, before="#include <fcntl.h>")
    assert run(runner).outputs["y"][0] == 1.0  # the control socket alone


def test_a_flood_of_output_is_cut(start: Start) -> None:
    flood = "char b[65536]; memset(b, 65, sizeof b); for (int i = 0; i < 4096; ++i) write(1, b, sizeof b);"
    runner = start(f"{{ {flood} return 0; }}", limits=Limits(file_bytes=1 << 20))
    assert run(runner).status == "ok"
    assert (runner.folder / "stdout").stat().st_size <= 1 << 20


def test_memory_limit(start: Start) -> None:
    body = "{ y[0] = malloc((size_t)8 << 30) != NULL; return 0; }"
    assert run(start(body, limits=Limits(memory_bytes=2 << 30))).outputs["y"][0] == 0.0


def test_the_process_ends_when_its_driver_goes(start: Start) -> None:
    runner = start("{ for (;;) ; }", limits=Limits(call_s=0.05))
    runner.load_case(make_case(), make_arrays())
    runner._socket.sendall(b"call 255 0\n")
    runner._socket.close()
    assert runner._process.wait(timeout=20) == 3


def test_closing_removes_process_and_folder(start: Start) -> None:
    runner = start()
    folder, pid = runner.folder, runner._process.pid
    assert folder.is_dir()
    runner.close()
    assert not folder.exists()
    assert is_gone(pid)
    assert run(runner).status == "crash"


def test_a_wrong_array_is_refused_before_it_is_sent(start: Start) -> None:
    with pytest.raises(ValueError, match=r"array 'x'.*float64"):
        start().load_case(make_case(), {**make_arrays(), "x": np.zeros(7)})


def test_no_counters_and_no_clock_are_said(start: Start) -> None:
    runner = start()
    run(runner)
    with pytest.raises(Unsupported, match="no counters"):
        runner.counters()
    with pytest.raises(Unsupported, match="without timing"):
        runner.time("cold", 1)


def test_counters_of_the_loaded_library(start: Start) -> None:
    before = """static int calls; extern "C" void cpusim_counters_reset() { calls = 0; }
    extern "C" const char* cpusim_counters_json() { return calls ? "{\\"calls\\": 1}" : "{}"; }"""
    runner = start("{ calls = 1; return 0; }", before=before)
    run(runner)
    assert runner.counters() == {"calls": 1}
    runner.reset_counters()
    assert runner.counters() == {}


def test_ten_small_cases_leave_no_growth(start: Start) -> None:
    runner = start(GOOD)
    run(runner)
    before = runner.usage()
    for n in range(1, 11):
        assert run(runner, n).status == "ok"
    after = runner.usage()
    assert after["threads"] == before["threads"]
    assert after["descriptors"] == before["descriptors"]


def test_time_of_a_hang_is_bounded(start: Start) -> None:
    runner = start("{ sleep(1000); return 0; }", limits=Limits(call_s=0.2))
    begin = time.monotonic()
    assert run(runner).status == "timeout"
    assert time.monotonic() - begin < 30


def test_work_beyond_the_given_stream_is_damage(start: Start) -> None:
    runner = start(GOOD.replace("{\n", '{ setenv("FAKE_BEYOND_US", "2000", 1);\n', 1))
    (said,) = run(runner).damage
    assert "after the given stream was done: launch every kernel on `stream`" in said


def test_a_single_pause_beyond_the_stream_is_the_hosts(start: Start) -> None:
    once = '{ static int c; if (c++) unsetenv("FAKE_BEYOND_US"); else setenv("FAKE_BEYOND_US", "2000", 1);\n'
    assert run(start(GOOD.replace("{\n", once, 1))).damage == ()


def test_threads_that_stay_are_damage_and_those_that_end_are_not(start: Start) -> None:
    before = "#include <pthread.h>\nstatic void* wait(void* seconds) { sleep((long)seconds); return NULL; }"
    body = "{{ pthread_t t; pthread_create(&t, NULL, wait, (void*){}); {} {}"
    stays = start(body.format("100l", "", GOOD.strip()[1:]), before=before)
    assert "1 threads were started and are still there after the call" in run(stays).damage
    assert "2 threads were started and are still there after the call" in stays.call().damage
    ends = start(body.format("0l", "pthread_join(t, NULL); usleep(20000);", GOOD.strip()[1:]), before=before)
    assert run(ends).damage == ()


def test_device_memory_that_each_call_keeps_is_damage_after_the_sixth(start: Start) -> None:
    takes = (
        'static long left = 1 << 30; left -= %s; char t[32]; sprintf(t, "%%ld", left); setenv("FAKE_FREE_BYTES", t, 1);'
    )
    leaks = start("{" + takes % "4096" + GOOD.strip()[1:], before="#include <stdio.h>")
    assert [run(leaks).damage, *(leaks.call().damage for _ in range(4))] == [()] * 5
    assert leaks.call().damage == ("call after call keeps some of device memory, the last one 4,096 bytes",)
    once = start("{ static int c;" + takes % "(c++ == 1 ? 4096 : 0)" + GOOD.strip()[1:], before="#include <stdio.h>")
    assert [run(once).damage, *(once.call().damage for _ in range(7))] == [()] * 8


def test_device_memory_that_others_take_is_no_damage(start: Start) -> None:
    runner = start(GOOD, environment={"FAKE_FREE_DRIFT": "65536"})
    assert [run(runner).damage, *(runner.call().damage for _ in range(7))] == [()] * 8


def test_no_memory_becomes_executable_after_loading(start: Start) -> None:
    body = """{
      char* page = (char*)((size_t)(void*)&scale_add & ~4095ul);
      y[0] = mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
      y[1] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
      y[2] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; return 0; }"""
    runner = start(body, before="#include <sys/mman.h>")
    seen = run(runner).outputs["y"][:3].tolist()
    assert seen == ([0.0, 0.0, 1.0] if runner.isolation.system_calls else [1.0, 1.0, 1.0])


def test_the_hosts_memory_is_limited_without_a_limit_on_addresses(start: Start) -> None:
    body = "{ y[0] = malloc((size_t)2 << 30) != NULL; y[1] = malloc((size_t)100 << 20) != NULL; return 0; }"
    seen = run(start(body, limits=Limits(memory_bytes=None, data_bytes=1 << 30))).outputs["y"][:2].tolist()
    assert seen == [0.0, 1.0]


def test_which_elements_are_looked_at_is_not_known_during_a_call(start: Start) -> None:
    n = (1 << 22) + 3
    body = GOOD.replace("{", '{ if (access("positions.bin", F_OK) == 0) return 1;', 1)
    runner, wanted = start(body), np.array([0, 5, n - 1], dtype=np.int64)
    for _ in range(2):
        assert run(runner, n, positions={"y": wanted}).outputs["y"].tolist() == (2.5 * wanted + 3).tolist()
    assert runner.last_outputs({"y": wanted}).outputs["y"].tolist() == (2.5 * wanted + 3).tolist()
    assert not (runner.folder / "positions.bin").exists()
