"""Streams, memory and graphs of a GPU (src/cuda/device), over the emulator's streams.

Each case of runtime.cu and graphs.cu says what happened. Python's tiny_torch.cuda is built on the
same functions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SOURCES
from test_emulator import build

import tiny_torch as torch
from tiny_torch import _core

CASES = SOURCES.parent / "tests" / "cuda"
CACHES = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "0"}
LOST = "CUDA error in kernel put: unspecified launch failure"
FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
    "use the 'spawn' start method"
)
FAULT = (
    "CUDA error in kernel read_behind, block (0, 0, 0), thread (0, 0, 0): reads 4 bytes of global "
    "memory 0 bytes behind a block of 4 bytes (at runtime.cu:N)"
)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """said(case, environment): its lines."""
    files = (SOURCES / "cuda" / "device").glob("*.cpp")
    layer = [str(file) for file in files if file.name != "device.cpp"]  # that is the kernels'
    folder = tmp_path_factory.mktemp("runtime")
    program = build(CASES / "runtime.cu", folder, CASES / "graphs.cu", *layer)

    def run(case, environment):
        switches = "PYTORCH_NO_CUDA_MEMORY_CACHING", "CUDA_LAUNCH_BLOCKING"
        ours = {name: value for name, value in os.environ.items() if name not in switches}
        done = subprocess.run(
            [program, case], capture_output=True, text=True, timeout=60, env={**ours, **environment}
        )
        assert done.returncode == 0, done
        about_errors = re.compile(r"CUDA kernel errors might|For debugging consider|The context is")
        lines = [line for line in done.stdout.splitlines() if not about_errors.match(line)]
        return [re.sub(r"\.(cu|h):\d+", r".\1:N", line) for line in lines]

    return run


@pytest.mark.parametrize(
    ("case", "environment", "lines"),
    [
        ("a_stream_is_late", {}, ["without a wait 0", "after it 7"]),
        ("a_stream_is_late", {"CUDA_LAUNCH_BLOCKING": "1"}, ["without a wait 7", "after it 7"]),
        ("an_event_orders_streams", {}, ["in order 17"]),
        ("a_query_makes_progress", {}, ["at first 0", "then 1"] * 2),
        (
            "a_fault_is_told_by_who_waits",
            {},
            ["no error", FAULT, LOST, LOST.replace(" in kernel put", "")],
        ),
        (
            "a_fault_is_told_by_who_waits",
            {"CUDA_LAUNCH_BLOCKING": "1"},
            [FAULT, LOST.replace(" in kernel put", ""), LOST, LOST.replace(" in kernel put", "")],
        ),
        (
            "blocks_in_use_at_a_fault",
            {},
            [FAULT, *[LOST.replace(" in kernel put", "")] * 4],
        ),
        ("copies_of_pinned_memory_are_late", {}, ["pinned 6", "pageable 3"]),
        ("a_forked_process_may_not", {}, [FORKED, FORKED, "its parent 0"]),
        ("released_memory_serves_its_stream", CACHES, ["another stream's 0", "its own 1"]),
        ("a_user_holds_memory_back", CACHES, ["active 2", "reused 0", "active 1"]),
        (
            "segments_are_split_and_merged",
            CACHES,
            [
                "1 byte: 512 allocated, 1 requested, 2097152 reserved in 1",
                "and 513: 1536 allocated, 514 requested, 2097152 reserved in 1",
                "and 1 MiB + 1: 1050624 allocated, 1049091 requested, 23068672 reserved in 2",
                "and 10 MiB + 1: 11536896 allocated, 11534852 requested, 23068672 reserved in 2",
                "none: 0 allocated, 0 requested, 23068672 reserved in 2",
                "the first again 1",
                "emptied: 1048576 allocated, 1048576 requested, 2097152 reserved in 1",
                "peak 11536896",
                "allocated 12585472",
                "freed 11536896",
            ],
        ),
        (
            "segments_are_split_and_merged",
            {},
            [
                "1 byte: 512 allocated, 1 requested, 512 reserved in 1",
                "and 513: 1536 allocated, 514 requested, 1536 reserved in 2",
                "and 1 MiB + 1: 1050624 allocated, 1049091 requested, 1050624 reserved in 3",
                "and 10 MiB + 1: 11536896 allocated, 11534852 requested, 11536896 reserved in 4",
                "none: 0 allocated, 0 requested, 0 reserved in 0",
                "the first again 0",
                "emptied: 1048576 allocated, 1048576 requested, 1048576 reserved in 1",
                "peak 11536896",
                "allocated 12585472",
                "freed 11536896",
            ],
        ),
        (
            "blocks_never_overlap",
            CACHES,
            ["overlaps 0", "emptied: 0 allocated, 0 requested, 0 reserved in 0"],
        ),
        ("out_of_memory_empties_the_cache", CACHES, ["2.00 MiB", "retries 2", "failures 1"]),
        ("out_of_memory_empties_the_cache", {}, ["1024.00 KiB", "retries 1", "failures 1"]),
        (
            "a_user_that_nobody_told",
            {},
            ["so far 0", FAULT.replace(" 0 bytes behind a", " 256 bytes behind a")],
        ),
        ("a_user_that_was_told", {}, ["so far 0", "later 9", "no error"]),
        (
            "a_graph_does_it_again",
            {},
            ["is capturing 1", "captured 0", "replayed 4", "copied 5"],
        ),
        (
            "a_graph_keeps_its_memory",
            CACHES,
            ["in the capture 1", "after it 0", "given back 0", "given back 1"],
        ),
        (
            "a_capture_takes_in_other_streams",
            {},
            ["replayed 7", "no error", "CUDA error: capturing stream has unjoined work"],
        ),
        (
            "a_capture_may_not_wait",
            {},
            [
                "CUDA graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)",
                "CUDA error: operation not permitted when stream is capturing",
                "CUDA error: operation failed due to a previous error during capture",
                "another one 3",
            ],
        ),
        (
            "the_oldest_use_is_asked_for",
            CACHES,
            ["active 100", "questions 2", "active 0", "events at most 1"],
        ),
        ("a_kernel_asks_for_shared_memory", {}, ["put 64", "asked 2"]),
        ("pinned_memory_serves_again", {}, ["blocks more 0", "events more 0", "given back 1"]),
        (
            "pinned_memory_is_released_in_a_capture",
            {},
            ["no error", "given to others 0", "no error", "after it 1"],
        ),
        ("a_graph_ends_in_a_capture", {}, ["no error", "no error"]),
        (
            "a_graph_holds_what_it_copies",
            {},
            ["replayed 6", "read back 6", "given to others 2"],
        ),
        (
            "a_replay_finds_nothing_in_free_memory",
            {},
            ["of a graph before 5", "of nobody -1"],
        ),
        (
            "kernels_write_nothing_that_the_host_writes",
            {},
            [
                "no error",
                "CUDA error in kernel increase, block (0, 0, 0), thread (0, 0, 0): writes 4 bytes "
                "of global memory that the host writes to (at runtime.h:N)",
            ],
        ),
        ("a_stream_waits_for_all_but_captures", {}, ["of the others 7", "no error"]),
        (
            "a_capture_takes_in_no_replay",
            {},
            ["CUDA error: operation not permitted when stream is capturing", "both 3"],
        ),
        (
            "a_capture_that_cannot_begin",
            {},
            ["CUDA error: operation not permitted when stream is capturing", "another one 3"],
        ),
        ("releases_while_captures_begin", {}, ["no error", "no error"]),
        ("releases_while_captures_begin", CACHES, ["no error", "no error"]),
    ],
)
def test_the_device_layer(said, case, environment, lines):
    found = said(case, environment)
    if case == "out_of_memory_empties_the_cache":
        text = found[0]
        assert re.fullmatch(
            r"CUDA out of memory\. Tried to allocate (.*)\. GPU 0 has a total capacity of "
            r".* GiB of which .* GiB is free\. 0 bytes allowed; Of the allocated memory 0 bytes is "
            r"allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated\.",
            text,
        ), text
        found[0] = re.search(r"allocate (.*?)\. GPU", text)[1]
    assert found == lines


def test_out_of_memory_is_pytorchs_error():
    with pytest.raises(torch.OutOfMemoryError, match=r"Tried to allocate 16384\.00 GiB\. GPU 0"):
        torch.empty(1 << 42, device="cuda-emulated")
    assert torch.ones(2, device="cuda-emulated").tolist() == [1, 1]


def loading(library, name, then="", **environment):
    """What a process says that loads a device under a name, and then does something."""
    path = Path(_core.__file__).parent / "lib" / library
    if not path.exists():
        pytest.skip(f"this build has no {library}")
    program = (
        "from tiny_torch import _core\n"
        f"try: _core.load_device({name!r}, {str(path)!r}); print('loaded')\n"
        "except RuntimeError as error: print(str(error).partition('has ')[2])\n" + then
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "environment", "said"),
    [
        ("cuda-emulated", {}, "loaded"),
        ("cuda", {}, "a device 'cuda-emulated', not 'cuda'"),
        ("cuda", {"TINY_TORCH_CUDA": "emulated"}, "loaded"),
    ],
)
def test_the_emulated_device_can_be_called_cuda(name, environment, said):
    assert loading("cuda_emulated.so", name, **{"TINY_TORCH_CUDA": "", **environment}) == [said]


def test_the_library_for_a_gpu_loads_without_one():
    make = (
        "import tiny_torch\n"
        "try: _core.empty((2,), tiny_torch.float32, 'cuda')\n"
        "except RuntimeError as error: print(error)"
    )
    loaded, error = loading("cuda.so", "cuda", make, CUDA_VISIBLE_DEVICES="")
    assert loaded == "loaded"
    assert error.startswith(("Found no NVIDIA driver on your system.", "No CUDA GPUs are"))
