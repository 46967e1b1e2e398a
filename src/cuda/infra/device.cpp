// The device cuda-emulated.
#include "core/device.h"

#include <cstring>

#include "cuda/host/memory.h"
#include "cuda/infra/scratch.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {

namespace {

using emulated::Memory;

const Backend& backend() {
  static const ElementwiseTable elementwise = elementwise_table();
  static const ReduceTable reduce = reduce_table();
  static const Backend all = [] {
    Backend tables;
    tables.name = "cuda-emulated";
    tables.instruction_set = "CUDA on the host";
    tables.elementwise = &elementwise;
    tables.reduce = &reduce;
    tables.arrange = &arrange_table;
    tables.attention = &attention_table;
    tables.batch_norm = &batch_norm_table;
    tables.cast = &cast_table;
    tables.conv = &conv_table;
    tables.creation = &creation_table;
    tables.cross_entropy = &cross_entropy_table;
    tables.ctc = &ctc_table;
    tables.embedding = &embedding_table;
    tables.fold = &fold_table;
    tables.gather = &gather_table;
    tables.histogram = &histogram_table;
    tables.join = &join_table;
    tables.layer_norm = &layer_norm_table;
    tables.losses = &losses_table;
    tables.masks = &masks_table;
    tables.matmul = &matmul_table;
    tables.optim = &optim_table;
    tables.pool = &pool_table;
    tables.random = &random_table;
    tables.recurrent = &recurrent_table;
    tables.resample = &resample_table;
    tables.scan = &scan_table;
    tables.search = &search_table;
    tables.softmax = &softmax_table;
    tables.sort = &sort_table;
    tables.unique = &unique_table;
    tables.vectors = &vectors_table;
    return tables;
  }();
  return all;
}

void copy(void* to, const void* from, size_t bytes) {
  Memory::instance().begin();
  if (bytes) std::memcpy(to, from, bytes);
  Memory::instance().end();
}

const Device* make(const Device&) {
  static const Device device{
      "cuda-emulated",
      &backend(),
      [](size_t bytes) { return Memory::instance().allocate(bytes); },
      [](void* block, size_t bytes) { Memory::instance().release(block, bytes); },
      copy,
      copy,
      copy,
      [] { Memory::instance().begin(); },
      [] { Memory::instance().end(); }};
  return &device;
}

}  // namespace

void* allocate_scratch(size_t bytes) { return Memory::instance().allocate(bytes); }
void release_scratch(void* block, size_t bytes) { Memory::instance().release(block, bytes); }
// Kernels have ended when launch() returns, and during a call the host reaches the memory.
void copy_to_host(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
void copy_to_device(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

}  // namespace tt::cuda

TT_DEVICE(tt::cuda::make);
