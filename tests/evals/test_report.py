"""Reports: whole, self-contained, escaped, the same from their data; and no estimate that is not called one."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from cudamaster.benchmark.contract import Precision
from cudamaster.benchmark.scoring import geometric_mean
from cudamaster.benchmark.task import Unit
from cudamaster.evals.report.command import write_report
from cudamaster.evals.report.data import ReportData, gather, with_libraries, write_data
from cudamaster.evals.report.export import suite_markdown
from cudamaster.evals.report.suite_page import suite_page
from cudamaster.evals.suite import open_suite
from cudamaster.evals.unit import run_unit
from cudamaster.graph.errors import RunError
from cudamaster.nodes.context import Options

from ..graph.conftest import Bench
from ..graph.fakes import fence, plan, replies, source
from .samples import suite_of

UNIT = Unit(task="dot_product", precision=Precision.FP32)
VOID = {"meta", "link", "input", "br", "line", "rect", "circle", "path"}


class Reader(HTMLParser):
    """Checks that every element is closed, collects what is fetched, and the words in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.fetched += [given[name] or "" for name in ("src", "data") if name in given]
        if tag == "link":
            self.fetched.append(given["href"] or "")
        if given.get("id"):
            self.ids.append(given["id"] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self.words)


def read(page: str) -> Reader:
    reader = Reader(page)
    assert reader.open == []
    return reader


@pytest.fixture
def done(bench: Bench) -> Bench:
    """A suite of one unit: a wrong first version, its repair, and a second round that is not better."""
    bench.script = replies(
        coder=[fence(source("wrong", 1.0, "one")), fence(source("pass", 1.5, "three"))],
        debugger=[f"Diagnosis: a race\n\n{fence(source('pass', 3.0, 'two <b>'))}"],
        planner=[plan("sum over the block"), plan("vectorize")],
    )
    suite = open_suite("s", [UNIT], Options(rounds=2), bench.home)
    assert run_unit(suite, UNIT, bench.home).gain == 3.0
    return bench


def test_a_unit_tells_its_rounds_as_a_story(done: Bench) -> None:
    data = gather("s", done.home)
    (story,) = data.stories
    first, second = story.rounds
    assert (first.strategy, first.bottleneck, [f.name for f in first.findings]) == (
        "sum over the block",
        "memory_latency_bound",
        ["same_address_atomics"],
    )
    assert [(turn.status, turn.gain) for turn in first.turns] == [("wrong", None), ("pass", 3.0)]
    assert "+// one" in first.turns[0].diff
    for words in ("-// one", "+// two <b>"):
        assert words in first.turns[1].diff, "a repair is shown against what it repairs"
    for words in ("-// two <b>", "+// three"):
        assert words in second.turns[0].diff, "a round is shown against the best before it"
    assert "two <b>" in story.kernel
    assert story.build_command.startswith("nvcc -arch=sm_90 ")
    assert story.seconds["run"] >= 0

    page = suite_page(data, "A title")
    text = read(page).text
    assert "two <b>" in text
    assert "two <b>" not in page, "sources are escaped"
    told = ["Round 1: sum over the block", "Every thread adds to one word.", "at most 20x", "First version: wrong"]
    told += ["Repair 1: pass , 3x (estimate)", "Round 2: vectorize", "First version: pass , 1.5x (estimate)"]
    places = [text.index(words) for words in told]
    assert places == sorted(places)


def test_a_page_fetches_nothing_and_links_lead_somewhere() -> None:
    page = suite_page(suite_of(40), "Forty units")
    reader = read(page)
    assert [address for address in reader.fetched if not address.startswith("data:")] == []
    assert "@import" not in page
    assert "url(" not in page
    links = re.findall(r'href="#([^"]+)"', page)
    assert len(links) == 40
    assert set(links) - set(reader.ids) == set()
    assert len(set(reader.ids)) == len(reader.ids)
    assert "its process died <twice>" in reader.text


def test_estimates_are_called_estimates_and_measurements_are_not() -> None:
    estimated = read(suite_page(suite_of(12, measured=False), "A suite")).text
    measured = read(suite_page(suite_of(12), "A suite")).text
    assert "estimate" not in measured.replace("tokens are estimated", "")
    assert "every speedup, time and efficiency on this page is an estimate" in estimated
    for words in ("Estimated speedup of every unit", "estimated speedup, geometric mean", "time (us), estimated"):
        assert words in estimated
    assert estimated.count("(estimate)") >= 12
    assert re.search(r"(?<!estimated )speedup, geometric mean", estimated) is None


def test_a_page_is_made_from_its_data_alone(done: Bench, tmp_path: Path) -> None:
    data = gather("s", done.home)
    write_data(data, tmp_path / "data.json")
    again = gather(str(tmp_path / "data.json"))
    assert again == data == ReportData.model_validate_json(data.model_dump_json())
    assert suite_page(again, "A title") == suite_page(data, "A title")


def test_a_run_alone_has_a_report_be_it_finished_or_not(done: Bench, tmp_path: Path) -> None:
    assert write_report(["s.dot_product-fp32"], out=tmp_path / "run.html", data=None, title="", home=done.home) == [
        f"{tmp_path / 'run.html'}: 1 unit"
    ]
    assert "Repair 1" in read((tmp_path / "run.html").read_text()).text
    done.script = lambda prompt: plan("half way") if "Planner" in prompt else 1 / 0  # type: ignore[return-value]
    with pytest.raises(ZeroDivisionError):
        done.start(run_id="broken", rounds=2)
    write_report(["broken"], out=tmp_path / "broken.html", data=None, title="", home=done.home)
    assert "interrupted" in read((tmp_path / "broken.html").read_text()).text


def test_a_suite_as_csv_parquet_and_markdown(tmp_path: Path) -> None:
    write_data(suite_of(40), tmp_path / "d.json")
    for kind in ("csv", "parquet", "md"):
        write_report([str(tmp_path / "d.json")], out=tmp_path / f"t.{kind}", data=None, title="T", home=tmp_path)
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert len(rows) == 40
    assert rows[19]["status"] == "failed"
    assert rows[19]["gain"] == ""
    assert {row["estimated"] for row in rows} == {"False"}
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet is in the extra `report`")
    table = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["unit"] for row in table] == [row["unit"] for row in rows]
    assert table[19]["gain"] is None
    assert table[0]["gain"] == pytest.approx(float(rows[0]["gain"]))
    text = (tmp_path / "t.md").read_text()
    assert "| unit | status | speedup |" in text
    assert f"- {rows[19]['unit']}: its process died" in text
    first = suite_of(40).measurements[0].gain.cases
    assert f"| {rows[0]['unit']} | {geometric_mean([c.baseline_us for c in first]):,.1f} |" in text
    assert "NVIDIA H200" in text


def test_data_tell_nothing_of_the_machine_that_they_come_from(done: Bench, tmp_path: Path) -> None:
    write_report(["s"], out=tmp_path / "a.html", data=tmp_path / "d.json", home=done.home)
    text = (tmp_path / "d.json").read_text()
    assert str(done.home) not in text
    assert '"kernel.cu"' in text


def test_markdown_tells_what_libraries_make_of_a_unit(tmp_path: Path) -> None:
    data = suite_of(2)
    m = data.measurements[0]
    with_one = with_libraries(data, {(m.unit, case.case): case.baseline_us / 3 for case in m.gain.cases})
    assert "| 3x |" in suite_markdown(with_one, "T")
    assert "| 3x |" not in suite_markdown(data, "T")
    assert "## Failures" not in suite_markdown(data, "T")


def test_a_suite_counts_what_is_efficient_and_what_beats_libraries() -> None:
    data = suite_of(20)
    slow, quick = data.results[:2]
    assert slow.gain
    assert quick.gain
    data = data.model_copy(
        update={"libraries": {slow.unit.name: slow.gain * 2, quick.unit.name: quick.gain / 2, "another-fp32": 1.0}}
    )
    assert data.over_libraries == [0.5, 2.0]
    text, page = suite_markdown(data, "T"), read(suite_page(data, "T")).text
    assert "1 of the 2 winners that have one are at least as fast as it" in text
    assert "1 of 2 winners as fast as a vendor library, or faster" in page
    left = data.results[2].model_copy(update={"summary": None, "status": "failed"})
    data = data.model_copy(update={"results": (slow, quick, left), "libraries": {}})
    assert "2 units reach an efficiency of 0.5 or more" in suite_markdown(data, "T")
    assert "2 of 20 reach an efficiency of 0.5 or more" in read(suite_page(data, "T")).text
    assert "ibrary" not in suite_markdown(data, "T")
    assert "reach an estimated efficiency of 0.5" in suite_markdown(suite_of(3, measured=False), "T")


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    write_data(suite_of(2), tmp_path / "d.json")
    what, out = [str(tmp_path / "d.json")], tmp_path / "t.md"
    with pytest.raises(RunError, match=r"gone\.jsonl: no such file"):
        write_report(what, out=out, libraries=tmp_path / "gone.jsonl", home=tmp_path)
    with pytest.raises(RunError, match=r"no/d2\.json cannot be written"):
        write_report(what, out=out, data=tmp_path / "no/d2.json", home=tmp_path)
    assert not out.exists()


def test_the_kernels_that_astra_shares_have_a_table(tmp_path: Path) -> None:
    data = suite_of()
    text = read(suite_page(data, "All")).text
    assert "rms_norm 1.78x 2.44x" in text
    write_data(data, tmp_path / "d.json")
    write_report([str(tmp_path / "d.json")], out=tmp_path / "t.md", data=None, title="T", home=tmp_path)
    assert "| silu_and_mul | 3.58x | 3.67x |" in (tmp_path / "t.md").read_text()
    assert "Astra" not in read(suite_page(suite_of(10), "Ten")).text


@pytest.mark.parametrize(
    ("what", "out", "words"),
    [
        (["nothing"], "a.html", "no suite, ablation or run 'nothing'"),
        (["data.json"], "a.html", "no data of a report: suite"),
        (["gone.json"], "a.html", "cannot be read"),
        (["good.json"], "a.pdf", "written as .html"),
        (["good.json", "good.json"], "a.csv", "a comparison is written as"),
        (["good.json"], "no/such/folder/a.html", "no/such/folder/a.html cannot be written"),
    ],
)
def test_what_cannot_be_reported_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: list[str], out: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.json").write_text("{}")
    write_data(suite_of(2), Path("good.json"))
    with pytest.raises(RunError, match=words):
        write_report(what, out=Path(out), data=None, title="", home=tmp_path)
