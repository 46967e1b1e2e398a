// What a device provides: a table of functions per family. Each family's table, and the structs
// that its kernels take, stand in core/tables/<family>.h; a missing entry is nullptr.
#pragma once

namespace tt {

struct Iter;
using Kernel = void (*)(const Iter&);

struct AttentionTable;
struct ConvTable;
struct ElementwiseTable;
struct HistogramTable;
struct IndexTable;
struct LossTable;
struct MatmulTable;
struct NormTable;
struct OptimTable;
struct OrderTable;
struct PoolTable;
struct RandomTable;
struct RangeTable;
struct RecurrentTable;
struct ReduceTable;
struct ScanTable;

struct Backend {
  const char* name = nullptr;
  const char* instruction_set = nullptr;
  Kernel copy = nullptr;  // out = input, from iter.compute to iter.result: any two dtypes
  const AttentionTable* attention = nullptr;
  const ConvTable* conv = nullptr;
  const ElementwiseTable* elementwise = nullptr;
  const HistogramTable* histogram = nullptr;
  const IndexTable* index = nullptr;
  const LossTable* loss = nullptr;
  const MatmulTable* matmul = nullptr;
  const NormTable* norm = nullptr;
  const OptimTable* optim = nullptr;
  const OrderTable* order = nullptr;
  const PoolTable* pool = nullptr;
  const RandomTable* random = nullptr;
  const RangeTable* range = nullptr;
  const RecurrentTable* recurrent = nullptr;
  const ReduceTable* reduce = nullptr;
  const ScanTable* scan = nullptr;
};

// The CPU's, for the instruction set that cpuid or TINY_TORCH_ISA names.
const Backend& cpu_backend();

}  // namespace tt
