// Kernels with one fault each, and one without: what test_emulator.py starts by name.
#include <cstdio>
#include <exception>

#include "cuda/cuda.h"
#include "cuda/infra/mma.h"

namespace {

using namespace tt::cuda;

constexpr unsigned kAll = ~0u;

// ---- right ones ---------------------------------------------------------------------------------
// out[0] = the sum of x: within threads, warps, the block. 256 threads.
__global__ void sum(const float* x, float* out, int n) {
  __shared__ float of_warps[8];
  float mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine += x[i];
  for (int d = 16; d > 0; d /= 2) mine += __shfl_down_sync(kAll, mine, d);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) mine += of_warps[w];
    out[0] = mine;
  }
}

// out = x turned by 90 degrees, by tiles of 16 rows: a block of (16, 16).
__global__ void transpose(const float* x, float* out, int rows, int columns) {
  __shared__ float tile[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  __syncthreads();
  row = blockIdx.x * 16 + threadIdx.y, column = blockIdx.y * 16 + threadIdx.x;
  if (row < columns && column < rows) out[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

__global__ void histogram(const float* x, float* out, int n) {
  __shared__ int counts[16];
  if (threadIdx.x < 16) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&counts[int(x[i]) % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = counts[threadIdx.x];
}

// Lanes of a warp write and read in turns, which __syncwarp keeps apart.
__global__ void warp_turns(const float* x, float* out, int) {
  __shared__ float mine[32];
  mine[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  const float next = mine[(threadIdx.x + 1) % 32];
  __syncwarp();
  mine[threadIdx.x] = next;
  __syncwarp();
  out[threadIdx.x] = mine[(threadIdx.x + 1) % 32];
}

__global__ void votes(const float* x, float* out, int) {
  const bool is_odd = int(x[threadIdx.x]) % 2;
  const unsigned odd = __ballot_sync(kAll, is_odd);
  if (!is_odd) return;
  out[threadIdx.x] = __popc(odd) + (__any_sync(odd, threadIdx.x == 1) ? 100 : 0);
}

// A warp's product of A (16, 8 words) and B (8 words, 8), both from shared memory, where lines of
// `a` and `b` run along the depth, or (`transposed`, of halves) across it. out: of each lane, how
// many of its 4 results are those of the definition.
template <class T>
__device__ void multiply(float* out, bool transposed) {
  constexpr int kDepth = 32 / sizeof(T);
  __shared__ __align__(16) char memory[2][16 * 32];
  T* const a = reinterpret_cast<T*>(memory[0]);
  T* const b = reinterpret_cast<T*>(memory[1]);
  const int lane = threadIdx.x;
  for (int i = lane; i < 16 * kDepth; i += 32) {
    a[i] = T(static_cast<float>(i * 7 % 13 - 6));
    b[i] = T(static_cast<float>(i * 5 % 11 - 5));
  }
  __syncthreads();
  const auto at = [&](const T* m, int line, int k) -> const T& {
    return m[transposed ? k * 16 + line : line * kDepth + k];
  };
  unsigned words[4], columns[4];
  const int row = lane % 8 + lane / 8 % 2 * 8, k = lane / 16 * (kDepth / 2);
  if (transposed) {
    const int turned_row = lane % 8 + lane / 16 * 8, column = lane / 8 % 2 * 8;
    load_transposed(words, &a[turned_row * 16 + column]);
    load_transposed(columns, &b[turned_row * 16 + column]);
  } else {
    load_matrices(words, &at(a, row, k));
    load_matrices(columns, &at(b, row, k));
  }
  int right = 0;
  const unsigned first_columns[2] = {columns[0], columns[2]};
  float sums[4] = {1, 2, 3, 4};
  mma<T>(sums, words, first_columns);
  for (int r = 0; r < 4; ++r) {
    const int i = lane / 4 + r / 2 * 8, j = lane % 4 * 2 + r % 2;
    float expected = r + 1;
    for (int p = 0; p < kDepth; ++p)
      expected += static_cast<float>(at(a, i, p)) * static_cast<float>(at(b, j, p));
    right += sums[r] == expected;
  }
  out[lane] = right;
}
__global__ void mma_halves(const float*, float* out, int) { multiply<tt::Half>(out, false); }
__global__ void mma_bfloats(const float*, float* out, int) { multiply<tt::BFloat16>(out, false); }
__global__ void mma_tf32(const float*, float* out, int) { multiply<float>(out, false); }
__global__ void mma_transposed(const float*, float* out, int) { multiply<tt::Half>(out, true); }

// 0x3f801000 lies in the middle between two numbers of TF32.
__global__ void tf32_rounds(const float*, float* out, int) {
  for (int i = 0; i < 3; ++i) out[i] = tf32_of(__uint_as_float(0x3f800fff + i)) - 0x3f800000;
}

// Each thread copies 4 numbers, the last thread 1 of them and zeros.
__global__ void copies(const float* x, float* out, int) {
  __shared__ __align__(16) float tile[64];
  const int i = threadIdx.x * 4;
  copy_async(&tile[i], &x[i], i == 60 ? 4 : 16);
  commit_copies();
  wait_for_copies<0>();
  __syncthreads();
  for (int k = 0; k < 4; ++k) out[i + k] = tile[63 - i - k];
}

// ---- each with a fault --------------------------------------------------------------------------
__global__ void reads_behind(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[0] = x[i];
}
__global__ void writes_before(const float*, float* out, int) { out[int(threadIdx.x) - 1] = 1; }
__global__ void missing_barrier(const float* x, float* out, int) {
  __shared__ float tile[64];
  tile[63 - threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x > 31) out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void write_race(const float* x, float* out, int) {
  __shared__ float last;
  last = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = last;
}
__global__ void late_race(const float* x, float* out, int) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
  tile[threadIdx.x] = 0;
}
__global__ void never_written(const float* x, float* out, int) {
  __shared__ float tile[64];
  if (threadIdx.x != 63) tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void shared_off_by_one(const float* x, float* out, int) {
  __shared__ float tile[8][8];
  tile[threadIdx.x / 8][threadIdx.x % 8] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x / 8][threadIdx.x % 8 + 1];
}
__global__ void dynamic_off_by_one(const float* x, float* out, int) {
  float* const tile = dynamic_shared<float>();
  tile[threadIdx.x + 1] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1];
}
__global__ void divergent_barrier(const float*, float* out, int) {
  if (threadIdx.x < 40) __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void wrong_mask(const float* x, float* out, int) {
  float mine = x[threadIdx.x];
  if (threadIdx.x < 16) mine += __shfl_down_sync(kAll, mine, 1);
  out[threadIdx.x] = mine;
}
__global__ void mask_without_caller(const float* x, float* out, int) {
  out[threadIdx.x] = __shfl_sync(0xffff, x[threadIdx.x], 0);
}
__global__ void lane_outside_of_mask(const float* x, float* out, int) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0xffff, x[threadIdx.x], 20);
}
__global__ void misaligned(const float*, float* out, int) {
  *reinterpret_cast<float*>(reinterpret_cast<char*>(out) + 2) = 1;
}
__global__ void host_memory(const float*, float* out, int) { out[0] = 1; }
__global__ void endless_wait(const float*, float*, int) {
  if (threadIdx.x % 2)
    __syncwarp(0xaaaaaaaa);
  else
    __syncwarp();
}
__global__ void different_calls(const float* x, float* out, int) {
  if (threadIdx.x % 2)
    out[0] = __shfl_sync(kAll, x[0], 0);
  else
    out[0] = __ballot_sync(kAll, 1);
}

__global__ void copies_not_waited_for(const float* x, float* out, int) {
  __shared__ __align__(16) float tile[64];
  const int i = threadIdx.x * 4;
  for (int first = 0; first < 32; first += 16) {
    if (threadIdx.x < 4) copy_async(&tile[first + i], &x[first + i]);
    commit_copies();
  }
  wait_for_copies<1>();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 4];
  __syncthreads();
  wait_for_copies<0>();
}
__global__ void copies_without_barrier(const float* x, float* out, int) {
  __shared__ __align__(16) float tile[64];
  copy_async(&tile[threadIdx.x * 4], &x[threadIdx.x * 4]);
  commit_copies();
  wait_for_copies<0>();
  out[threadIdx.x] = tile[threadIdx.x + 1];
}
__global__ void copies_behind(const float* x, float*, int) {
  __shared__ __align__(16) float tile[68];
  copy_async(&tile[threadIdx.x * 4], &x[threadIdx.x * 4]);
  commit_copies();
  wait_for_copies<0>();
}
__global__ void misaligned_copy(const float* x, float*, int) {
  __shared__ __align__(16) float tile[4];
  copy_async(tile, &x[2]);
}
__global__ void ends_before_its_copies(const float* x, float*, int) {
  __shared__ __align__(16) float tile[64];
  copy_async(&tile[threadIdx.x * 4], &x[threadIdx.x * 4]);
  commit_copies();
}
template <int floats>
__device__ void use_shared(float* out) {
  __shared__ float tile[floats];
  for (int i = threadIdx.x; i < floats; i += 256) tile[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = tile[int(out[0]) + floats];
}
__global__ void statics_of_50_kib(const float*, float* out, int) { use_shared<50 << 8>(out); }
__global__ void statics_of_40_kib(const float*, float* out, int) { use_shared<40 << 8>(out); }
__global__ void mma_of_few(const float*, float* out, int) {
  float sums[4] = {};
  const unsigned words[4] = {}, columns[2] = {};
  if (threadIdx.x < 16) mma<tt::Half>(sums, words, columns);
  out[threadIdx.x] = sums[0];
}
__global__ void matrices_misaligned(const float*, float* out, int) {
  __shared__ __align__(16) unsigned tile[128];
  for (int i = threadIdx.x; i < 128; i += 32) tile[i] = 0;
  __syncthreads();
  unsigned words[4];
  load_matrices(words, &tile[threadIdx.x * 2]);
  out[threadIdx.x] = words[0];
}

// ---- launches that no GPU, or not every one, takes ----------------------------------------------
__global__ void idle(const float*, float*, int) {}
struct Large {
  char of[4096];
};
__global__ void idle_of_large(const Large, int) {}
// out[k] = the number of the block that is the k-th to run.
__global__ void order_of_blocks(const float*, float* out, int) {
  float k = 0;
  while (out[int(k)] >= 0) ++k;
  out[int(k)] = blockIdx.x + 10 * blockIdx.y;
}

struct Case {
  const char* name;
  void (*start)(const float* x, float* out);
};
constexpr int kSize = 64;

#define CASE(kernel, blocks, threads)                                         \
  {#kernel, [](const float* x, float* out) {                                  \
     launch<kernel>({blocks, threads, kSize * sizeof(float)}, x, out, kSize); \
   }}
#define LAUNCH(name, kernel, ...) \
  {name, [](const float* x, float* out) { launch<kernel>(__VA_ARGS__, x, out, 0); }}
const Case kCases[] = {
    LAUNCH("threads", idle, {1, 1025}),
    LAUNCH("threads_z", idle, {1, dim3(1, 1, 65)}),
    LAUNCH("no_threads", idle, {1, 0}),
    LAUNCH("blocks_x", idle, {int64_t{1} << 31, 1}),
    LAUNCH("blocks_x_of_64_bits", idle, {(int64_t{1} << 32) + 1, 1}),
    LAUNCH("blocks_y", idle, {Blocks(1, 65536), 1}),
    LAUNCH("blocks_z", idle, {Blocks(1, 1, 65536), 1}),
    LAUNCH("shared", idle, {1, 1, (99 << 10) + 1}),
    LAUNCH("shared_in_all", statics_of_40_kib, {1, 256, 60 << 10}),
    LAUNCH("shared_of_statics", statics_of_50_kib, {1, 256}),
    {"shared_unasked",
     [](const float*, float*) {
       tt::emulated::launch(
           {"kernel = idle]", {1, 1, 1}, 1, 49 << 10, nullptr, nullptr, 0, nullptr}, nullptr);
     }},
    {"parameters", [](const float*, float*) { launch<idle_of_large>({1, 1}, Large{}, 0); }},
    LAUNCH("order_of_blocks", order_of_blocks, {Blocks(4, 2), 1}),
    CASE(ends_before_its_copies, 1, 16),
    CASE(sum, 1, 256),
    CASE(histogram, 1, 64),
    CASE(warp_turns, 1, 32),
    CASE(votes, 1, 32),
    {"transpose",
     [](const float* x, float* out) { launch<transpose>({1, dim3(16, 16)}, x, out, 4, 16); }},
    CASE(reads_behind, 2, 64),
    CASE(writes_before, 1, 64),
    CASE(missing_barrier, 1, 64),
    CASE(write_race, 1, 64),
    CASE(late_race, 1, 64),
    CASE(never_written, 1, 64),
    CASE(shared_off_by_one, 1, 64),
    CASE(dynamic_off_by_one, 1, 64),
    CASE(divergent_barrier, 1, 64),
    CASE(wrong_mask, 1, 32),
    CASE(mask_without_caller, 1, 32),
    CASE(lane_outside_of_mask, 1, 32),
    CASE(misaligned, 1, 1),
    CASE(host_memory, 1, 1),
    CASE(endless_wait, 1, 32),
    CASE(different_calls, 1, 32),
    CASE(mma_halves, 1, 32),
    CASE(mma_bfloats, 1, 32),
    CASE(mma_tf32, 1, 32),
    CASE(mma_transposed, 1, 32),
    CASE(tf32_rounds, 1, 1),
    CASE(copies, 1, 16),
    CASE(copies_not_waited_for, 1, 16),
    CASE(copies_without_barrier, 1, 16),
    CASE(copies_behind, 1, 17),
    CASE(misaligned_copy, 1, 1),
    CASE(mma_of_few, 1, 32),
    CASE(matrices_misaligned, 1, 32)};

}  // namespace

// kernels NAME: starts a kernel with x = 0, 1, 2, ... and prints what it wrote, or the error.
int main(int, char** arguments) {
  constexpr size_t bytes = kSize * sizeof(float);
  float x[kSize], out[kSize], *x_there, *out_there;
  for (int i = 0; i < kSize; ++i) x[i] = i, out[i] = -1;
  cudaMalloc(&x_there, bytes);
  cudaMalloc(&out_there, bytes);
  cudaMemcpy(x_there, x, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(out_there, out, bytes, cudaMemcpyHostToDevice);
  const bool to_host = std::strcmp(arguments[1], "host_memory") == 0;
  for (const Case& it : kCases) {
    if (std::strcmp(it.name, arguments[1]) != 0) continue;
    try {
      it.start(x_there, to_host ? out : out_there);
      cudaMemcpy(out, out_there, bytes, cudaMemcpyDeviceToHost);
      for (int i = 0; i < kSize; ++i) std::printf("%g ", out[i]);
    } catch (const std::exception& error) {
      std::puts(error.what());
    }
    return 0;
  }
  return 1;
}
