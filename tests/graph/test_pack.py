"""Runs that move between machines: nothing is lost, nothing newer is overwritten, nothing leaves the home."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from cudamaster.graph import run
from cudamaster.graph.errors import BadArchive, RunBusy, RunError, UnknownRun
from cudamaster.graph.manifest import locked
from cudamaster.graph.pack import pack
from cudamaster.graph.questions import open_questions
from cudamaster.graph.unpack import unpack
from cudamaster.graph.work import work
from cudamaster.models.mailbox import MailboxChat

from .conftest import Bench
from .fakes import fence, plan, replies, source

GOOD = [fence(source("pass", 2.0)), fence(source("pass", 3.0)), fence(source("pass", 4.0))]
Machine = Callable[[str], Bench]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return a maker of machines, each with a home of its own; the last one made or asked for is the one at work."""
    made: dict[str, Bench] = {}

    def use(name: str) -> Bench:
        bench = made.setdefault(name, Bench(tmp_path / name, replies(coder=list(GOOD))))
        monkeypatch.setattr(run, "context_of", bench.context)
        return bench

    return use


def outcomes(archive: Path, bench: Bench) -> dict[str, str]:
    return {item.run: item.outcome for item in unpack(archive, home=bench.home)}


def test_a_run_begun_without_its_device_ends_where_it_is_as_if_it_had_been_made_there(
    machine: Machine, tmp_path: Path
) -> None:
    laptop = machine("laptop")
    laptop.device_there[0] = False
    assert laptop.start(run_id="moved", device="cuda", wait_for_device=True).status == "waiting_device"
    packed = pack([], tmp_path / "runs.tar.xz", home=laptop.home)
    assert packed.runs == ("moved",)

    server = machine("server")
    assert outcomes(tmp_path / "runs.tar.xz", server) == {"moved": "new"}
    (advanced,) = work(home=server.home, device="cuda", jobs=1)
    assert advanced.status == "improved"
    moved = run.look("moved", home=server.home)
    server.script = replies(coder=list(GOOD))
    alone = server.start(run_id="alone", device="cuda")
    same = ("status", "rounds", "attempts", "spent", "estimated_speedup", "device")
    assert [getattr(moved, name) for name in same] == [getattr(alone, name) for name in same]
    assert moved.best is not None
    assert alone.best is not None
    assert moved.best.sha256 == alone.best.sha256

    back = pack(["moved"], tmp_path / "back.tar.xz", home=server.home)
    assert back.artifacts > 5
    laptop = machine("laptop")
    assert outcomes(tmp_path / "back.tar.xz", laptop) == {"moved": "advanced"}
    summary = run.look("moved", home=laptop.home)
    assert summary.best is not None
    assert (summary.status, Path(summary.best.file)) == ("improved", laptop.home / "runs/moved/result/kernel.cu")
    assert Path(summary.best.file).read_text() == source("pass", 4.0)
    assert outcomes(tmp_path / "back.tar.xz", laptop) == {"moved": "same"}
    assert outcomes(tmp_path / "runs.tar.xz", laptop) == {"moved": "kept"}
    assert run.look("moved", home=laptop.home).status == "improved"


def test_questions_are_answered_on_one_machine_and_kernels_judged_on_the_other(
    machine: Machine, tmp_path: Path
) -> None:
    answers = {"planner": plan("s"), "coder": GOOD[0], "compiler": "{}"}
    archive = tmp_path / "runs.tar.xz"
    with_gpu, with_model = machine("with-gpu"), machine("with-model")
    with_gpu.model = with_model.model = MailboxChat()
    with_model.device_there[0] = False
    machine("with-gpu").start(run_id="r", rounds=1, device="cuda", model="mailbox")
    for _ in range(3):
        pack(["r"], archive, home=machine("with-gpu").home)
        here = machine("with-model")
        unpack(archive, home=here.home)
        (question,) = open_questions(here.home)
        here.answer(question.id, answers[question.agent])
        pack(["r"], archive, home=here.home)
        assert outcomes(archive, machine("with-gpu")) == {"r": "advanced"}
        work(home=with_gpu.home, jobs=1)
    assert run.look("r", home=with_gpu.home).status in ("improved", "waiting_device")
    work(home=with_gpu.home, jobs=1)
    assert run.look("r", home=with_gpu.home).status == "improved"


def test_a_run_that_went_on_on_both_sides_is_refused(machine: Machine, tmp_path: Path) -> None:
    archive = tmp_path / "runs.tar.xz"
    here, there = machine("here"), machine("there")
    here.model = there.model = MailboxChat()
    question = machine("here").start(run_id="r", rounds=1, model="mailbox").questions[0]
    pack(["r"], archive, home=here.home)
    machine("there")
    unpack(archive, home=there.home)
    there.answer(question.id, plan("there"))
    pack(["r"], archive, home=there.home)
    machine("here").answer(question.id, plan("here"))
    before = (here.home / "runs/r/checkpoint.sqlite").read_bytes()
    (item,) = unpack(archive, home=here.home)
    assert item.outcome == "refused"
    assert "each its own way" in item.reason
    assert (here.home / "runs/r/checkpoint.sqlite").read_bytes() == before
    assert "here" in open_questions(here.home)[0].prompt

    manifest = here.home / "runs/r/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"created": "2020-01-01T00:00:00+00:00"}))
    assert "another run has the id" in unpack(archive, home=here.home)[0].reason


def test_an_archive_holds_what_the_state_names_and_no_builds(machine: Machine, tmp_path: Path) -> None:
    bench = machine("here")
    bench.start(run_id="r")
    store = bench.context(run.read_manifest("r", bench.home)).store
    stray = store.put("an artifact that no run names")
    (bench.home / "runs/r/result/bench").write_bytes(b"a program")
    pack([], tmp_path / "runs.tar.xz", home=bench.home)
    with tarfile.open(tmp_path / "runs.tar.xz") as tar:
        names = set(tar.getnames())
        tar.extract("runs/r/checkpoint.sqlite", tmp_path, filter="data")
    assert "runs/r/result/kernel.cu" in names
    assert not any(stray in name or name.endswith((".so", "/bench", ".bin", "lock")) for name in names)
    with sqlite3.connect(tmp_path / "runs/r/checkpoint.sqlite") as database:
        assert database.execute("SELECT count(*) FROM checkpoints").fetchone() == (1,)
    there = machine("there")
    unpack(tmp_path / "runs.tar.xz", home=there.home)
    assert run.look("r", home=there.home).status == "improved"


def test_a_hundred_runs_are_small(machine: Machine, tmp_path: Path) -> None:
    """One run stands for each: what differs between runs does not shrink by being alike."""
    bench = machine("here")
    bench.start(run_id="r")
    sizes = pack([], tmp_path / "runs.tar.xz", home=bench.home).size_bytes
    assert 100 * sizes < 16 << 20


def test_what_cannot_be_packed_is_said(machine: Machine, tmp_path: Path) -> None:
    bench = machine("here")
    out = tmp_path / "runs.tar.xz"
    with pytest.raises(RunError, match="nothing to pack"):
        pack([], out, home=bench.home)
    with pytest.raises(UnknownRun):
        pack(["nothing"], out, home=bench.home)
    bench.start(run_id="r", rounds=1)
    with locked(bench.home / "runs/r"), pytest.raises(RunBusy):
        pack(["r"], out, home=bench.home)
    (tmp_path / "a-file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        pack(["r"], tmp_path / "a-file/runs.tar.xz", home=bench.home)
    assert not out.exists()
    assert list(tmp_path.glob(".pack-*")) == []


def test_a_run_that_cannot_be_packed_does_not_keep_the_others(machine: Machine, tmp_path: Path) -> None:
    bench = machine("here")
    out = tmp_path / "runs.tar.xz"
    for name in ("good", "damaged", "elsewhere"):
        bench.start(run_id=name, rounds=1)
    file = bench.home / "runs/elsewhere/manifest.json"
    file.write_text(file.read_text().replace('"sqlite"', '"postgres"'))
    (bench.home / "runs/damaged/manifest.json").write_text("{")
    packed = pack([], out, home=bench.home)
    assert packed.runs == ("good",)
    assert len(packed.left) == 2
    assert any("damaged" in line for line in packed.left)
    assert any("Postgres" in line for line in packed.left)
    with pytest.raises(RunError, match="Postgres"):
        pack(["good", "elsewhere"], out, home=bench.home)


def doctored(archive: Path, members: dict[str, bytes], link: str = "") -> Path:
    """Return a copy of an archive with more in it."""
    copy = archive.with_name("doctored.tar.xz")
    with tarfile.open(archive) as old, tarfile.open(copy, "w:xz") as new:
        for member in old:
            if member.name not in members:
                new.addfile(member, old.extractfile(member))
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if link:
                entry.type, entry.linkname, entry.size = tarfile.SYMTYPE, link, 0
            new.addfile(entry, io.BytesIO(content))
    return copy


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("../escaped", ""),
        ("/tmp/escaped", ""),
        ("runs/../../escaped", ""),
        ("runs/r/journal/../../../../escaped", ""),
        ("runs/r/result/.hidden", ""),
        ("runs/r/lock", ""),
        ("runs/UP/manifest.json", ""),
        ("runs/r/journal/link", "/etc/passwd"),
        ("artifacts/00/" + "0" * 64, ""),
    ],
)
def test_an_archive_with_anything_else_in_it_is_refused_whole(
    machine: Machine, tmp_path: Path, name: str, link: str
) -> None:
    laptop = machine("laptop")
    laptop.device_there[0] = False
    laptop.start(run_id="r", wait_for_device=True)
    pack([], tmp_path / "runs.tar.xz", home=laptop.home)
    there = tmp_path / "there"
    with pytest.raises(BadArchive):
        unpack(doctored(tmp_path / "runs.tar.xz", {name: b"evil"}, link), home=there)
    assert [path for path in there.rglob("*") if path.is_file() or path.is_symlink()] == []
    assert not (tmp_path / "escaped").exists()


def test_a_damaged_archive_is_refused_whole(machine: Machine, tmp_path: Path) -> None:
    laptop = machine("laptop")
    laptop.device_there[0] = False
    laptop.start(run_id="r", wait_for_device=True)
    archive, there = tmp_path / "runs.tar.xz", tmp_path / "there"
    pack([], archive, home=laptop.home)
    whole = archive.read_bytes()
    damaged = tmp_path / "damaged.tar.xz"
    for data in (b"", b"no archive", whole[: len(whole) // 2], whole[:400] + b"\0\1\2" + whole[403:]):
        damaged.write_bytes(data)
        with pytest.raises(BadArchive):
            unpack(damaged, home=there)
    with pytest.raises(BadArchive):
        unpack(tmp_path / "not-there", home=there)
    others = {"runs/r/checkpoint.sqlite": b"no database" * 500, "runs/r/manifest.json": b"{}", "pack.json": b"[]"}
    for name, content in others.items():
        with pytest.raises(BadArchive):
            unpack(doctored(archive, {name: content}), home=there)
    assert list((there / "runs").iterdir()) == []
    assert {path.name for path in there.iterdir()} == {"runs"}
    assert outcomes(archive, machine("there")) == {"r": "new"}


def test_an_unpack_that_was_killed_can_be_done_again(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "runs.tar.xz"
    here, there = machine("here"), machine("there")
    here.model = there.model = MailboxChat()
    question = machine("here").start(run_id="r", rounds=1, model="mailbox").questions[0]
    pack([], archive, home=here.home)
    unpack(archive, home=there.home)
    here.answer(question.id, plan("s"))
    pack([], archive, home=here.home)
    machine("there")
    from cudamaster.graph import unpack as module

    replace, left = module.os.replace, [3]

    def dying(source: Path, target: Path) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "replace", dying)
        with pytest.raises(KeyboardInterrupt):
            unpack(archive, home=there.home)
    assert outcomes(archive, there) == {"r": "advanced"}
    assert open_questions(there.home)[0].agent == "coder"
