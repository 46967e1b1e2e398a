#include "cuda/device/faults.h"

#include <atomic>
#include <cstring>

#include "core/devices/gil.h"
#include "cuda/device/errors.h"
#include "cuda/infra/blocking.h"
#include "cuda/infra/scratch.h"

namespace tt::cuda {

namespace {

const char* const names[kChecks] = {"gather, index_select, take or embedding",
                                    "scatter, index_add, index_copy or put",
                                    "indexing",
                                    "a loss of classes",
                                    "ctc_loss",
                                    "embedding_bag"};

// Of all streams: a graph is recorded on one and replayed on others. Null before the first check.
std::atomic<Fault*> all{nullptr};

Fault* faults() {
  if (Fault* const known = all.load(std::memory_order_acquire)) return known;
  const WithoutGil released(true);  // before the lock of what is static
  static Fault* const memory = [] {
    void* block;
    check(cudaHostAlloc(&block, kChecks * sizeof(Fault), cudaHostAllocMapped));
    std::memset(block, 0, kChecks * sizeof(Fault));
    all = static_cast<Fault*>(block);
    return all.load();
  }();
  return memory;
}

bool take(Fault& fault) {
  return __atomic_load_n(&fault.is_there, __ATOMIC_RELAXED) &&
         __atomic_exchange_n(&fault.is_there, 0, __ATOMIC_ACQUIRE);
}

}  // namespace

Faults::Faults(Check check) : found_(faults() + static_cast<int>(check)) {}

bool Faults::none() const {
  if (!are_launches_blocking() || is_recording()) return true;
  const WithoutGil released(true);
  check(cudaStreamSynchronize(current_stream));
  return !take(*found_);
}

// One of them: others may follow from it.
void tell_faults() {
  Fault* const fault = all.load(std::memory_order_acquire);
  int told = -1;
  for (int k = kChecks - 1; fault && k >= 0; --k)
    if (take(fault[k])) told = k;
  if (told < 0) return;
  throw RuntimeError(
      "CUDA error: device-side assert triggered\nindex ", fault[told].index,
      " is out of bounds for a size of ", fault[told].size, ", in an earlier call of ", names[told],
      "\nCUDA kernel errors might be asynchronously reported at some other API call, "
      "so the stacktrace below might be incorrect.\n"
      "For debugging consider passing CUDA_LAUNCH_BLOCKING=1");
}

}  // namespace tt::cuda
