"""SummaryWriter's events, read back."""

import pytest

import tiny_torch as torch
from tiny_torch.utils.tensorboard import SummaryWriter


def test_events_are_written(tmp_path):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

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
    events = []
    while data:
        size = int.from_bytes(data[:8], "little")
        events.append(Event.FromString(data[12 : 12 + size]))
        data = data[16 + size :]
    values = {v.tag: v for event in events for v in event.summary.value}
    assert values["loss"].simple_value == 0.5 and values["half"].simple_value == 1.5
    assert {event.step for event in events[1:]} == {3}
    assert {"weights", "picture", "words/text_summary"} <= set(values)


def test_what_is_not_there_says_so(tmp_path):
    pytest.importorskip("tensorboardX")
    with SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(NotImplementedError, match="add_graph"):
            writer.add_graph(torch.nn.Linear(1, 1))
        with pytest.raises(NotImplementedError, match="hparam_domain_discrete"):
            writer.add_hparams({"lr": 0.1}, {"loss": 1.0}, {"lr": [0.1, 0.2]})
        with pytest.raises(AttributeError, match="add_thing"):
            writer.add_thing(1)
