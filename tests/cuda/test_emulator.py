"""The emulator of CUDA (src/cuda/host): kernels compute what they say, and faults are reported.

kernels.cu has the kernels; each fault names the kernel, block and thread, and the line.
"""

from __future__ import annotations

import re
import subprocess

import pytest
from conftest import SOURCES, compiler

KERNELS = SOURCES.parent / "tests" / "cuda" / "kernels.cu"
INSTRUMENTED = (
    *("-O1", "-g1", "-fsanitize=thread", "-fsanitize=bounds"),
    *("--param", "tsan-instrument-func-entry-exit=0", "-Wno-unused-function"),
)


def build(source, folder, *files):
    """The program of a file of kernels, and of other files, over the emulator."""
    common, program, objects = compiler(), str(folder / "kernels"), []
    for file in (source, *files):
        if not str(file).endswith(".cu"):
            objects.append(str(file))
            continue
        objects.append(str(folder / f"{len(objects)}.o"))
        compiled = [*common, *INSTRUMENTED, "-x", "c++", "-c", file, "-o", objects[-1]]
        subprocess.run(compiled, check=True)
    host = map(str, (SOURCES / "cuda" / "host").glob("*.cpp"))
    subprocess.run([*common, "-O1", "-o", program, *objects, *host, "-ldl"], check=True)
    return program


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """start(kernel): what it wrote, or the text of its error."""
    program = build(KERNELS, tmp_path_factory.mktemp("kernels"))

    def run(name, environment=None):
        command = [program, name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == 0, done
        return done.stdout.strip()

    return run


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "32640"),
        (
            "    __syncthreads();\n  }",
            "  }",
            "(1, 0, 0): a race: writes 4 bytes of shared memory that several",
        ),
        (
            "half = 128",
            "half = 256",
            "thread (0, 0, 0): index 256 is out of bounds of 'float [256]'",
        ),
    ],
)
def test_the_example_of_the_page(tmp_path, old, new, said):
    page = (SOURCES.parent / "docs" / "cuda.md").read_text()
    source = tmp_path / "mine.cu"
    source.write_text(page.partition("```cuda\n")[2].partition("```")[0].replace(old, new, 1))
    done = subprocess.run([build(source, tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and said in done.stdout, done


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("sum", [sum(range(64))]),
        ("transpose", [16 * (i % 4) + i // 4 for i in range(64)]),
        ("histogram", [4] * 16),
        ("warp_turns", [(i + 2) % 32 for i in range(32)]),
        ("votes", [-1, 116] * 16),
        ("mma_halves", [4] * 32),
        ("mma_bfloats", [4] * 32),
        ("mma_tf32", [4] * 32),
        ("mma_transposed", [4] * 32),
        ("tf32_rounds", [0, 0x2000, 0x2000]),
        ("copies", [0, 0, 0, *range(60, -1, -1)]),
    ],
)
def test_a_kernel_writes(start, kernel, expected):
    written = [float(number) for number in start(kernel).split()]
    assert written[: len(expected)] == expected
    assert set(written[len(expected) :]) <= {-1}


@pytest.mark.parametrize(
    ("kernel", "thread", "fault"),
    [
        ("reads_behind", (0, 1), "reads 4 bytes of global memory 0 bytes behind a block of 256"),
        ("writes_before", (0, 0), "writes 4 bytes of global memory"),
        (
            "missing_barrier",
            (32, 0),
            "a race: reads 4 bytes of shared memory that thread number 31",
        ),
        ("write_race", (1, 0), "a race: writes 4 bytes of shared memory that thread number 0 has"),
        ("late_race", (32, 0), "a race: reads 4 bytes of shared memory that thread number 31 has"),
        ("never_written", (63, 0), "reads 4 bytes of shared memory that no thread of the block"),
        ("shared_off_by_one", (7, 0), "index 8 is out of bounds of 'float [8]'"),
        ("dynamic_off_by_one", (63, 0), "writes 4 bytes outside of the 256 bytes of dynamic"),
        ("divergent_barrier", (39, 0), "waits in __syncthreads"),
        ("wrong_mask", (0, 0), "waits in __shfl_down_sync"),
        ("mask_without_caller", (16, 0), "__shfl_sync with a mask, 0xffff, that lacks the calling"),
        ("lane_outside_of_mask", (15, 0), "__shfl_sync reads lane 20, which its mask lacks"),
        ("misaligned", (0, 0), "writes 4 bytes at a misaligned address"),
        ("host_memory", (0, 0), "writes 4 bytes that are not the device's memory"),
        ("endless_wait", (0, 0), "waits in __syncwarp"),
        ("different_calls", (1, 0), "__shfl_sync where another lane of the mask calls __ballot"),
        ("copies_not_waited_for", (12, 0), "reads 4 bytes of shared memory that no thread of"),
        ("copies_without_barrier", (1, 0), "a race: reads 4 bytes of shared memory that thread"),
        ("copies_behind", (16, 0), "reads 1 bytes of global memory 0 bytes behind a block of 256"),
        ("ends_before_its_copies", (0, 0), "ends with a cp.async that it has not waited for"),
        ("misaligned_copy", (0, 0), "cp.async reads at a misaligned address"),
        ("mma_of_few", (0, 0), "waits in mma.sync"),
        ("matrices_misaligned", (1, 0), "reads 16 bytes at a misaligned address"),
    ],
)
def test_a_fault_is_reported(start, kernel, thread, fault):
    x, block = thread
    said = start(kernel)
    assert said.startswith(f"CUDA error in kernel {kernel}, block ({block}, 0, 0)"), said
    assert f"thread ({x}, 0, 0)" in said and fault in said, said
    assert said.count("(at kernels.cu:") == (2 if "a race" in fault else 1), said
    line = int(re.search(r"\(at kernels\.cu:(\d+)\)", said)[1])
    source = KERNELS.read_text().splitlines()
    first = next(k for k, text in enumerate(source, 1) if f" {kernel}(" in text)
    last = next(k for k, text in enumerate(source[first - 1 :], first) if text.endswith("}"))
    assert first <= line <= last + 6, (line, first, last)


KIB_99, KIB_163 = "has at most 101376", "has at most 166912"


@pytest.mark.parametrize(
    ("case", "said", "shared"),
    [
        ("threads", "1025 threads in a block, where this GPU has at most 1024", ""),
        ("threads_z", "65 threads along z, where this GPU has at most 64", ""),
        ("no_threads", "a grid of no threads", ""),
        ("blocks_x", "2147483648 blocks along x, where this GPU has at most 2147483647", ""),
        ("blocks_x_of_64_bits", "4294967297 blocks along x, where this GPU has at most", ""),
        ("blocks_y", "65536 blocks along y, where this GPU has at most 65535", ""),
        ("blocks_z", "65536 blocks along z", ""),
        ("parameters", "4100 bytes of parameters, where this GPU has at most 4096", ""),
        ("shared", f"101377 bytes of shared memory, where this GPU {KIB_99}", ""),
        ("shared", "-1", "163"),
        ("shared_unasked", "where cudaFuncSetAttribute has allowed the kernel 49152", ""),
        ("shared_in_all", "has more than 101376 bytes of shared memory, 61440 of them dyn", ""),
        ("shared_in_all", "10239", "100"),
        ("shared_of_statics", "writes more than the 49152 bytes that __shared__ variables", "163"),
    ],
)
def test_a_launch_is_refused_as_by_a_gpu(start, case, said, shared):
    told = start(case, {"TINY_TORCH_EMULATED_SHARED": shared})
    assert said in told and ("CUDA error in kernel" in told) != said.lstrip("-").isdigit(), told


@pytest.mark.parametrize("order", ["", "reverse", "random"])
def test_blocks_run_in_any_order(start, order):
    said = start("order_of_blocks", {"TINY_TORCH_EMULATED_ORDER": order})
    blocks = [int(number) for number in said.split()][:8]
    in_order = [0, 1, 2, 3, 10, 11, 12, 13]
    assert sorted(blocks) == in_order
    assert {"": blocks == in_order, "reverse": blocks == in_order[::-1]}.get(
        order, blocks not in (in_order, in_order[::-1])
    )


def test_a_place_is_told_by_its_address_without_addr2line(start):
    said = start("missing_barrier", {"PATH": ""})
    assert len(re.findall(r"\(at \S*/kernels\+0x[0-9a-f]+\)", said)) == 2, said
