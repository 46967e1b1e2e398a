#!/usr/bin/env bash
# On a machine with a GPU and nvcc: builds for this GPU, checks, and measures next to PyTorch. It needs Python with NumPy,
# pybind11, cmake and ninja, and no network; what else is missing is said, and left out.
#
#   benchmarks/gpu.sh                # everything, at most 25 minutes
#   benchmarks/gpu.sh quick          # a minute's worth of each, at most 6
#   benchmarks/gpu.sh build 1        # some of the steps; a build that is there is kept
#   PATIENCE=2 benchmarks/gpu.sh     # twice the limits, on a machine with few cores
#
# Each step has a limit, a file under $OUT (else build/gpu/out) and a line of verdict, all written as they come: a cut
# leaves what was seen. benchmarks/gpu/session.py says what the steps are.
#
#   GPU=emulated benchmarks/gpu.sh   # the same on the emulator, at tiny sizes, next to PyTorch on the CPU
set -euo pipefail
export PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
exec python3 "$(dirname "${BASH_SOURCE[0]}")/gpu/session.py" "$@"
