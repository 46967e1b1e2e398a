// Runs CUDA kernels on the host: every thread of a block is a fiber, blocks come one after the
// other, and a launch is over when it returns.
//
// Kernel files include cuda/host/cuda.h, which makes their CUDA C++ into C++ over this. They are
// compiled with -fsanitize=thread and -fsanitize=bounds, whose calls before each access arrive in
// hooks.cpp instead of the compiler's own libraries. What is found is thrown by launch() as
// RuntimeError; it says which kernel, block and thread did it and where.
#pragma once
#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)  // kernels of other libraries may call it
namespace tt::emulated {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
struct Extent {
  unsigned x, y, z;

  constexpr Extent(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// What the running thread sees, as CUDA's threadIdx, blockIdx, blockDim and gridDim.
struct Position {
  Index thread, block;
  Extent block_size, grid_size;
};
extern Position position;

// What the kernels of this process have done, for those who ask for less, or for a way to do it.
struct Counts {
  uint64_t global_bytes_read = 0, products = 0;  // products: mma.sync, per lane
  uint64_t bytes_of_a_thread = 0;  // of global and shared memory, by the thread that took most
  double sum_of_products = 0;      // of all that mma.sync has added
};
extern Counts counts;

// A kernel and its arguments; they lie in the host's memory, where the kernel may read them.
struct Launch {
  const char* name;  // a text that names it, as __PRETTY_FUNCTION__ does
  struct {
    int64_t x, y, z;
  } grid;
  Extent block;
  size_t shared_bytes;  // of dynamic shared memory
  void (*call)(const void* arguments);
  const void* arguments;
  size_t argument_bytes;
  const void* kernel;  // the function, as cudaFuncSetAttribute names it
};
void launch(const Launch& what);

void* dynamic_shared();

// Waits for every thread of the block.
void wait_for_block();

// Waits for the lanes of `mask` in the warp and lays what each passed (at most kLaneBytes) side by
// side into `all`, by lane. `what`: the function that a kernel called.
constexpr int kWarp = 32;
constexpr size_t kLaneBytes = 64;
void exchange(const char* what, unsigned mask, const void* own, size_t bytes, void* all);
// `place`: where the kernel called.
void exchange(const char* what, unsigned mask, const void* own, size_t bytes, void* all,
              void* place);

// cp.async: 16 bytes to shared memory, those from `bytes` on 0. They are copied when the thread
// waits for their group; until then nobody has written them.
void copy_async(void* shared, const void* global, int bytes);
void commit_copies();
void wait_for_copies(int open);  // for all groups but the last `open`

// Memory of the host that kernels may read and write from now on.
void map(const void* block, size_t bytes);

// The index of the thread in its warp.
int lane();

// Checks an access that no hook sees, as that of an atomic function.
void check_atomic(const void* address, size_t bytes);

// Ends the running kernel, which has read another lane's value although its mask lacks that lane.
[[noreturn]] void fail_on_lane(const char* what, int lane);

}  // namespace tt::emulated
#pragma GCC visibility pop
