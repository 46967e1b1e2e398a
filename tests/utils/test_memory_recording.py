"""A recording of memory: each block, what made it, who saved it, until when; and its page."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tiny_torch as torch
from tiny_torch import _core, nn
from tiny_torch.nn import functional as F
from tiny_torch.utils import memory
from tiny_torch.utils.pages import script_json


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        return x + self.out(F.gelu(self.fc(x)))


def trained(steps=3):
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block(), nn.Linear(32, 10))
    opt = torch.optim.Adam(model.parameters())
    with memory.record() as recording:
        for _ in range(steps):
            x, y = torch.randn(16, 32), torch.arange(16) % 10
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()
            recording.step()
    return recording


LINES = Path(__file__).read_text().splitlines()
LINE_OF_STEP = 1 + LINES.index("            opt.step()")


@pytest.fixture(scope="module")
def recording():
    return trained()


def of(recording, **wanted):
    """The blocks of sites with these fields."""
    return [
        block
        for block in recording.blocks
        if all(getattr(block.site, name) == value for name, value in wanted.items())
    ]


def test_forward_backward_and_optimizer_are_told_apart(recording):
    phases = {block.site.phase for block in recording.blocks}
    assert phases == {"before", "forward", "backward", "optimizer", "other"}
    assert {b.site.op for b in of(recording, phase="optimizer")} == {"Adam"}
    assert {b.site.op for b in of(recording, phase="other")} == {""}


def test_a_block_knows_its_op_module_line_and_size(recording):
    (first, *rest) = of(recording, op="Gelu", module="Sequential.1")
    assert len(rest) == 2 and first.bytes == 16 * 64 * 4
    file, line = first.site.line.rsplit(":", 1)
    assert file == __file__
    assert "F.gelu" in LINES[int(line) - 1]
    assert (first.step, rest[0].step, rest[1].step) == (0, 1, 2)


def test_gradients_have_the_module_and_line_of_their_forward(recording):
    blocks = of(recording, op="LinearBackward", module="Sequential.0.fc")
    assert {block.bytes for block in blocks} >= {32 * 64 * 4, 64 * 4}
    assert "F.gelu" in LINES[int(blocks[0].site.line.rsplit(":", 1)[1]) - 1]


def test_what_is_saved_for_backward_says_by_what_and_is_freed_there(recording):
    saved = of(recording, module="Sequential.0.fc", op="Linear")
    assert saved and all("Gelu in Sequential.0" in " ".join(block.saved_by) for block in saved)
    assert all(block.freed and "ackward" in block.freed_by for block in saved)


def test_what_was_there_before_counts(recording):
    before = of(recording, phase="before")
    assert sum(b.bytes for b in before) >= sum(
        p.nbytes for p in nn.Sequential(Block(), Block(), nn.Linear(32, 10)).parameters()
    )
    assert all(block.made == 0 for block in before)


def test_roles_of_what_is_alive_at_the_end(recording):
    told = {text for block in recording.blocks for text in block.holders}
    assert "parameter Sequential.0.fc.weight" in told
    assert "gradient of Sequential.0.fc.weight" in told
    assert "state of Adam: exp_avg of Sequential.0.fc.weight" in told


def test_live_bytes_are_the_allocators():
    base = _core.memory_statistics()["allocated"]
    _core.reset_peak_memory()
    with memory.record() as recording:
        x = torch.ones(1 << 18, requires_grad=True)
        y = (x * 2).exp()
        y.sum().backward()
        del y
    peak = _core.memory_statistics()["peak_allocated"] - base
    before = recording.changes()[0]
    assert recording.peak[0] - before == pytest.approx(peak, rel=0.02)
    assert sum(recording.changes()) - before == pytest.approx(2 << 20, abs=64)
    at = recording.alive_at(recording.peak[1])
    assert sum(block.bytes for block in at) == recording.peak[0]


def test_the_summary_tells_the_peak_by_site(recording):
    lines = recording.summary(rows=100).splitlines()
    assert lines[0].startswith("Peak: ") and "blocks; made by" in lines[0]
    sums = dict(line.strip().split("  ", 1)[::-1] for line in lines[1:])
    assert {"there before", f"Adam {__file__}:{LINE_OF_STEP}"} <= set(sums)
    few = recording.summary(rows=2).splitlines()
    assert len(few) == 4 and few[-1].endswith(f"{len(sums) - 2} others")


def test_memory_of_others_is_not_recorded():
    lent = np.ones(100_000)
    with memory.record() as recording:
        x = torch.from_numpy(lent)
        y = torch.empty(100, device="meta")
    assert recording.events == 0 and len(x) and len(y)


def test_blocks_that_grow_and_die_in_other_threads():
    with memory.record() as recording:
        x = torch.ones(10)
        x.resize_(1000)
        thread = threading.Thread(target=torch.add, args=(x, 1))
        thread.start()
        thread.join()
        del x, thread
    assert {b.bytes for b in recording.blocks if b.site.phase == "other"} >= {40, 4000}
    assert all(b.freed for b in recording.blocks if b.site.phase == "other")


def test_results_are_the_same_bits_under_a_recording():
    def train():
        torch.manual_seed(3)
        model = nn.Sequential(Block(), nn.Linear(32, 4))
        model(torch.randn(8, 32)).square().mean().backward()
        return [p.grad.numpy().tobytes() for p in model.parameters()]

    plain = train()
    with memory.record():
        assert train() == plain


def test_a_recording_that_fails_ends():
    with pytest.raises(ZeroDivisionError), memory.record() as recording:
        1 / 0  # noqa: B018
    assert recording.leaks() == []
    with memory.record():
        pass


def test_refusals():
    with memory.record() as recording:
        with pytest.raises(RuntimeError, match="recorded already"), memory.record():
            pass
        with pytest.raises(RuntimeError, match="has not ended"):
            recording.leaks()
    with pytest.raises(RuntimeError, match="runs once"), recording:
        pass


# ---- the page ------------------------------------------------------------------------------------


def test_the_page_holds_all_of_it_and_needs_no_other_file(recording, tmp_path):
    path = tmp_path / "memory.html"
    recording.save(path)
    text = path.read_text()
    assert not re.search(r"(src|href)=|https?:|@import|url\(", text)
    data = json.loads(re.search(r"const DATA = (\{.*\});", text)[1])
    assert len(data["blocks"]) == len(recording.blocks) and data["left_out"] == 0
    assert data["peak"] == list(recording.peak) and len(data["marks"]) == 3
    assert ["forward", "Gelu", "Sequential.1"] in [site[:3] for site in data["sites"]]
    assert list(tmp_path.iterdir()) == [path]


def test_a_text_in_the_page_cannot_end_its_script(recording, tmp_path):
    assert "</" not in script_json({"line": "</script><b>.py:1"})
    assert json.loads(script_json({"line": "</script>"})) == {"line": "</script>"}


def test_a_step_of_gpt_is_a_small_page(tmp_path):
    width = 64
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
    model = nn.TransformerEncoder(layer, 4)
    opt = torch.optim.AdamW(model.parameters())
    with memory.record() as recording:
        model(torch.randn(4, 32, width)).square().mean().backward()
        opt.step()
    recording.save(tmp_path / "gpt.html")
    assert (tmp_path / "gpt.html").stat().st_size < 500_000


def test_without_holders_there_is_a_peak_and_no_page(tmp_path):
    with memory.record(holders=False) as recording:
        x = torch.ones(256)
    assert recording.peak[0] >= 1024 and x.sum() == 256
    with pytest.raises(RuntimeError, match="holders=False"):
        recording.save(tmp_path / "page.html")
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_leaves_nothing(recording, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    for path in (tmp_path / "nowhere" / "memory.html", tmp_path / "taken"):
        with pytest.raises(OSError):
            recording.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_process_may_end_while_it_records():
    code = (
        "import tiny_torch as torch; from tiny_torch.utils import memory\n"
        "memory.record().__enter__(); x = torch.ones(5)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_views_without_a_history():
    x = torch.ones(4, 4, requires_grad=True)
    with memory.record() as recording, torch.no_grad():
        views = x[0], x.view(2, 8), *x.unbind(0), x.t(), x.detach()
        (x * 2)[0]
    assert len(views) == 8 and of(recording, op="Mul")
