"""SummaryWriter's events, read back."""

import re
import sys
from importlib import import_module

import pytest

import tiny_torch as torch
from tiny_torch.utils.event_writer import SummaryWriter


@pytest.fixture(params=["tensorboardX", "tensorboard.compat"])
def events(request, monkeypatch):
    """What reads an event that one of the two packages wrote, the other being absent."""
    pytest.importorskip(request.param)
    if request.param != "tensorboardX":
        monkeypatch.setitem(sys.modules, "tensorboardX", None)
    return import_module(f"{request.param}.proto.event_pb2").Event


def test_without_a_package_there_is_no_module(monkeypatch):
    for name in ("tensorboardX", "tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "tiny_torch.utils.tensorboard", raising=False)
    with pytest.raises(
        ModuleNotFoundError, match=r"pip install 'tiny_torch\[tensorboard\]'"
    ) as error:
        import_module("tiny_torch.utils.tensorboard")
    assert error.value.name == "tensorboard"


def test_events_are_written(events, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", torch.tensor(0.5, requires_grad=True), 3)
        writer.add_scalars("both", {"a": torch.tensor(1.0), "b": 2.0}, 3)
        writer.add_histogram("weights", torch.randn(10), 3)
        writer.add_image("picture", torch.rand(3, 4, 4), 3)
        writer.add_text("words", "hello", 3)
        writer.add_scalar("half", torch.tensor(1.5, dtype=torch.bfloat16), 3)
        writer.add_hparams({"lr": 0.1}, {"accuracy": torch.tensor(0.5)}, run_name="first")
    assert list((tmp_path / "first").glob("events*"))
    assert writer.get_logdir() == str(tmp_path)
    data = next(tmp_path.glob("events*")).read_bytes()
    found = []
    while data:
        size = int.from_bytes(data[:8], "little")
        found.append(events.FromString(data[12 : 12 + size]))
        data = data[16 + size :]
    values = {v.tag: v for event in found for v in event.summary.value}
    assert values["loss"].simple_value == 0.5 and values["half"].simple_value == 1.5
    assert {event.step for event in found[1:]} == {3}
    assert {"weights", "picture", "words/text_summary"} <= set(values)


def test_what_is_not_there_says_so(events, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(NotImplementedError, match="add_graph"):
            writer.add_graph(torch.nn.Linear(1, 1))
        with pytest.raises(NotImplementedError, match="hparam_domain_discrete"):
            writer.add_hparams({"lr": 0.1}, {"loss": 1.0}, {"lr": [0.1, 0.2]})
        with pytest.raises(AttributeError, match="add_thing"):
            writer.add_thing(1)


@pytest.mark.slow  # needs the package tensorboard, which no extra of ours installs
def test_tensorboard_alone_writes_what_pytorch_writes(oracle, tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    pytest.importorskip("PIL")
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    theirs = import_module("torch.utils.tensorboard")
    event = import_module("tensorboard.compat.proto.event_pb2").Event

    def values(module, writer, folder):
        x = module.arange(24.0).reshape(2, 3, 2, 2) / 24
        with writer(str(folder), purge_step=2, filename_suffix=".end") as to:
            to.add_scalar("loss", x[0, 0, 0, 1], 3, walltime=5.0)
            to.add_scalar("plain", 2)
            to.add_scalars("both", {"a": 1.0, "b": 2.0}, 3)
            to.add_histogram("weights", x - 0.5, 3)
            to.add_histogram("ten", x, 3, bins=10)
            to.add_histogram("few", x, 3, max_bins=5)
            to.add_image("picture", x[0], 3)
            to.add_image("bytes", (x[0] * 255).byte().permute(1, 2, 0), dataformats="HWC")
            to.add_image("grey", x[0, 0], dataformats="HW")
            to.add_images("pictures", x, 1)
            to.add_text("words", "hello", 3)
            to.add_pr_curve("curve", (x > 0.4).flatten().int(), x.flatten(), 3, num_thresholds=20)
            to.add_hparams({"lr": 0.1, "on": True, "name": "x"}, {"acc": 0.5}, run_name="first")
        found = []
        for file in sorted(folder.rglob("events*")):
            data, place = file.read_bytes(), file.parent.relative_to(folder)
            while data:
                size = int.from_bytes(data[:8], "little")
                read = event.FromString(data[12 : 12 + size])
                data = data[16 + size :]
                assert read.wall_time
                if read.file_version:
                    continue
                for value in read.summary.value:
                    if value.metadata.plugin_data.plugin_name == "hparams":
                        value.metadata.ClearField("plugin_data")  # a time and a folder
                        value.ClearField("tensor")  # of no elements
                    if value.metadata.plugin_data.plugin_name == "text":
                        value.metadata.plugin_data.ClearField("content")
                    value.tag = value.tag.lstrip("/")
                text = re.sub(r"[\d.e+-]{9,}", lambda m: f"{float(m[0]):.12g}", str(read.summary))
                found.append((str(place), read.step, read.session_log.status, text))
        return sorted(found)

    ours = values(torch, SummaryWriter, tmp_path / "ours")
    for mine, other in zip(
        ours, values(oracle, theirs.SummaryWriter, tmp_path / "theirs"), strict=True
    ):
        assert mine == other
