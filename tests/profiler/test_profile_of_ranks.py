"""A profile's page of a rank: communication beside compute, what was hidden, and what was idle."""

import re
import subprocess
import sys

from tiny_torch.distributed.spans import BESIDE, WAIT, WITHIN, Span
from tiny_torch.tools.profiler.processes import overlap, processes_part, union
from tiny_torch.tools.profiler.report import table

MS = 1_000_000
SCRIPT = """
import torch
torch.distributed.init_process_group("gloo")
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
net = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1e-4)
net(torch.ones(2, 4)).sum().backward()
torch.distributed.destroy_process_group()
"""


def test_times_that_overlap():
    assert union([(5, 7), (0, 2), (1, 3)]) == [(0, 3), (5, 7)]
    assert overlap([(0, 3), (5, 9)], [(2, 6), (8, 20)]) == 1 + 1 + 1
    assert overlap([(0, 3)], []) == 0


def test_what_was_hidden_and_what_was_idle():
    """A collective of 10 ms, for whose last 4 ms the script waits; one of 3 ms in the script."""
    spans = [
        Span("all_reduce(SUM) float32 [9]", BESIDE, 0, 10 * MS, 2),
        Span("all_reduce(SUM) float32 [9]", WAIT, 6 * MS, 10 * MS, 1),
        Span("barrier", WITHIN, 20 * MS, 23 * MS, 1),
        Span("recv <0>", WAIT, 30 * MS, 31 * MS, 3),  # another thread's
    ]
    text = re.sub("<[^>]+>", " ", processes_part(spans, 1, 0, 50 * MS, table))
    assert "went on for 13.000ms, of which 6.000ms were hidden behind compute" in text
    assert "idle, waiting for others, for 7.000ms of 50.000ms" in text
    assert "compute: 74.0%" in text and "communication hidden: 12.0%" in text
    assert re.search(r"\[9\] +8\.0% +4\.000ms +10\.000ms +6\.000ms +1 ", text)
    assert re.search(r"barrier +6\.0% +3\.000ms +3\.000ms +0\.000us +1 ", text)
    assert "recv &lt;0&gt;" in text and "<0>" not in text
    assert processes_part([], 1, 0, MS, table) == ""


def test_each_rank_leaves_a_page(tmp_path):
    script, page = tmp_path / "train.py", tmp_path / "page.html"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "tiny_torch.distributed.run", "--nproc-per-node", "2"]
    command += ["-m", "tiny_torch", "profile", "-o", str(page), str(script)]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    assert not page.exists()
    for rank in range(2):
        text = (tmp_path / f"page.rank{rank}.html").read_text()
        assert "Other processes" in text and "hidden behind compute" in text
        assert "all_reduce(SUM) float32" in text and '<rect class="sent"' in text
