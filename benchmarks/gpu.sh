#!/usr/bin/env bash
# On a machine with a GPU, nvcc and PyTorch for it: builds for this GPU, runs the tests of the device on it, runs the op
# table under compute-sanitizer, and measures next to PyTorch. Nothing comes from the network; some ten minutes.
#
#   benchmarks/gpu.sh NAME "the GPU, in words"     # writes benchmarks/results/NAME.md
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-gpu} machine=${2:-$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)}

capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
[[ $capability == 90 ]] && capability=90a # with the instructions that only Hopper has
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
python3 -m pip install --quiet --no-index --no-deps --no-build-isolation . \
  -C cmake.define.TINY_TORCH_CUDA=ON -C cmake.define.TINY_TORCH_CUDA_ARCHITECTURES="$capability"

failed=0
export TINY_TORCH_CUDA=on TINY_TORCH_TEST_DEVICE=cuda
python3 -m pytest -q -n 4 tests/cuda || failed=1
# One process, each block of memory CUDA's own: so that what lies behind a block is not another one.
PYTORCH_NO_CUDA_MEMORY_CACHING=1 timeout 240 compute-sanitizer --error-exitcode 1 --target-processes all \
  python3 -m pytest -q -x tests/cuda/test_emulated_device.py -k "0" || failed=1

python3 -m benchmarks.gpu
python3 -m benchmarks --suite gpu --rounds 3 --load "$(nproc)" --machine "$machine" --out "$name"
exit $failed
