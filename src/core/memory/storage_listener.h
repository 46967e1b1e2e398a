// Who is told of each storage's memory as it is taken and given back: nobody, unless memory is
// recorded (tiny_torch/utils/memory). Then a storage costs one load more than without.
// Not told: memory of others (NumPy, DLPack, files), nor scratch memory of kernels.
#pragma once
#include <atomic>
#include <cstddef>

namespace tt {

struct Storage;

struct StorageListener {
  void (*made)(const Storage& storage, size_t bytes);
  void (*freed)(const Storage& storage);
};

extern std::atomic<const StorageListener*> storage_listener;

}  // namespace tt
