"""Files of the profiler: Chrome traces as Perfetto reads them, stacks, what cannot be written."""

from __future__ import annotations

import gzip
import json
import os

import pytest
from tiny_torch.profiler import profile, record_function, schedule, tensorboard_trace_handler

import tiny_torch as torch
from tiny_torch import nn


def profiled(**options):
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    with profile(**options) as prof, record_function("step"):
        net(torch.ones(2, 3)).sum().backward()
    return prof


def trace(prof, path):
    prof.export_chrome_trace(str(path))
    return json.loads(path.read_text())


def spans_of(events):
    return [event for event in events if event["ph"] == "X"]


def test_spans_nest(tmp_path):
    """Viewers draw a span within that which lies around it; none may overlap in part."""
    prof = profiled(with_modules=True)
    spans = spans_of(trace(prof, tmp_path / "t.json")["traceEvents"])
    assert [(span["name"], span["cat"]) for span in spans][:4] == [
        ("step", "user_annotation"), ("nn.Module: Sequential_0", "python_function"),
        ("nn.Module: Linear_0", "python_function"), ("aten::linear", "cpu_op"),
    ]  # fmt: skip
    assert all(span["pid"] == os.getpid() and span["tid"] for span in spans)
    for a in spans:
        for b in spans:
            a0, b0, a1, b1 = a["ts"], b["ts"], a["ts"] + a["dur"], b["ts"] + b["dur"]
            slack = 0.002  # written to a thousandth of a microsecond
            assert a1 <= b0 + slack or b1 <= a0 + slack or (
                (a0 <= b0 + slack and b1 <= a1 + slack) or (b0 <= a0 + slack and a1 <= b1 + slack)
            )  # fmt: skip


def test_arrows_lead_from_forward_to_backward(tmp_path):
    events = trace(profiled(), tmp_path / "t.json")["traceEvents"]
    spans = spans_of(events)
    starts = {event["id"]: event["ts"] for event in events if event["ph"] == "s"}
    ends = {event["id"]: event["ts"] for event in events if event["ph"] == "f"}
    assert starts.keys() == ends.keys() and len(starts) == 3
    pairs = set()
    for number, start in starts.items():
        (forward,) = [s["name"] for s in spans if s["ts"] == start and s["cat"] == "cpu_op"]
        (backward,) = [s["name"] for s in spans if s["ts"] == ends[number]]
        pairs.add((forward, backward))
    assert pairs == {
        ("aten::linear", "AddmmBackward0"), ("aten::relu", "ReluBackward0"),
        ("aten::sum", "SumBackward0"),
    }  # fmt: skip


def test_memory_is_a_counter(tmp_path):
    events = trace(profiled(profile_memory=True), tmp_path / "t.json")["traceEvents"]
    counted = [event["args"]["allocated"] for event in events if event["ph"] == "C"]
    assert len(counted) > 3 and min(counted) > 0
    assert not [e for e in trace(profiled(), tmp_path / "u.json")["traceEvents"] if e["ph"] == "C"]


def test_details_and_metadata(tmp_path):
    prof = profiled(record_shapes=True, with_stack=True, with_flops=True)
    prof.add_metadata("note", 'a "quoted" text')
    prof.add_metadata_json("numbers", "[1, 2]")
    written = trace(prof, tmp_path / "t.json")
    assert written["note"] == 'a "quoted" text' and written["numbers"] == [1, 2]
    assert written["with_stack"] == written["record_shapes"] == written["with_flops"] == 1
    assert written["trace_id"] == prof.get_trace_id()
    linear = next(s for s in spans_of(written["traceEvents"]) if s["name"] == "aten::linear")
    assert linear["args"]["Input Dims"] == [[2, 3], [4, 3], [4]]
    assert linear["args"]["flops"] == 48 and __file__ in linear["args"]["Call stack"]
    with pytest.raises(ValueError):
        prof.add_metadata_json("broken", "[")


def test_a_trace_is_written_once_and_may_be_zipped(tmp_path):
    prof = profiled()
    path = tmp_path / "t.json.gz"
    prof.export_chrome_trace(str(path))
    assert json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    with pytest.raises(RuntimeError, match=r"Trace is already saved\."):
        prof.export_chrome_trace(str(tmp_path / "again.json"))


def test_the_events_alone(tmp_path):
    prof = profiled()
    prof.events().export_chrome_trace(str(tmp_path / "t.json"))
    spans = json.loads((tmp_path / "t.json").read_text())
    assert [span["name"] for span in spans] == [event.name for event in prof.events()]


def test_stacks(tmp_path):
    path = tmp_path / "stacks.txt"
    prof = profiled(with_stack=True)
    prof.export_stacks(str(path), "self_cpu_time_total")
    lines = path.read_text().splitlines()
    assert lines and all(line.rpartition(" ")[2].isdigit() for line in lines)
    assert any("test_profiler_traces.py" in line and ";" in line for line in lines)
    prof.export_stacks(str(path), "self_cuda_time_total")  # nothing is measured there
    assert path.read_text() == ""


def write_trace(prof, path):
    prof.export_chrome_trace(path)


def write_stacks(prof, path):
    prof.export_stacks(path)


@pytest.mark.parametrize("write", [write_trace, write_stacks])
def test_what_cannot_be_written_leaves_nothing(tmp_path, write, monkeypatch):
    prof = profiled(with_stack=True)
    with pytest.raises(FileNotFoundError, match="No such file"):
        write(prof, str(tmp_path / "no" / "t.json"))
    with pytest.raises(OSError):
        write(prof, str(tmp_path))
    before = tmp_path / "t.json"
    before.write_text("before")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(prof, str(before))
    monkeypatch.undo()
    assert before.read_text() == "before" and os.listdir(tmp_path) == ["t.json"]
    write(prof, str(before))  # which a failure does not prevent
    assert before.read_text() != "before"


def test_a_folder_for_tensorboard(tmp_path):
    folder = tmp_path / "log"
    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    for zipped, end in ((False, ".pt.trace.json"), (True, ".pt.trace.json.gz")):
        handler = tensorboard_trace_handler(str(folder), f"worker{zipped}", use_gzip=zipped)
        with profile(schedule=plan, on_trace_ready=handler) as prof:
            for _ in range(4):
                torch.ones(2) * 2
                prof.step()
        names = [name for name in os.listdir(folder) if name.startswith(f"worker{zipped}")]
        assert len(names) == 2 and all(name.endswith(end) for name in names)
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="Can't create directory"):
        tensorboard_trace_handler(str(tmp_path / "file" / "log"))(prof)
