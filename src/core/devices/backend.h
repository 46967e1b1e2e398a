// What a device provides: a table of functions per family. Each family's table, and the structs
// that its kernels take, stand in core/tables/<family>.h; a missing entry is nullptr.
#pragma once

namespace tt {

struct Iter;
using Kernel = void (*)(const Iter&);

struct Backend {
  const char* name = nullptr;
  const char* instruction_set = nullptr;
  const struct ArrangeTable* arrange = nullptr;
  const struct AttentionTable* attention = nullptr;
  const struct BatchNormTable* batch_norm = nullptr;
  const struct CastTable* cast = nullptr;
  const struct ConvTable* conv = nullptr;
  const struct CreationTable* creation = nullptr;
  const struct CrossEntropyTable* cross_entropy = nullptr;
  const struct CtcTable* ctc = nullptr;
  const struct ElementwiseTable* elementwise = nullptr;
  const struct EmbeddingTable* embedding = nullptr;
  const struct FoldTable* fold = nullptr;
  const struct GatherTable* gather = nullptr;
  const struct HistogramTable* histogram = nullptr;
  const struct JoinTable* join = nullptr;
  const struct LayerNormTable* layer_norm = nullptr;
  const struct LossesTable* losses = nullptr;
  const struct MasksTable* masks = nullptr;
  const struct MatmulTable* matmul = nullptr;
  const struct OptimTable* optim = nullptr;
  const struct PoolTable* pool = nullptr;
  const struct RandomTable* random = nullptr;
  const struct RecurrentTable* recurrent = nullptr;
  const struct ReduceTable* reduce = nullptr;
  const struct ResampleTable* resample = nullptr;
  const struct ScanTable* scan = nullptr;
  const struct SearchTable* search = nullptr;
  const struct SoftmaxTable* softmax = nullptr;
  const struct SortTable* sort = nullptr;
  const struct UniqueTable* unique = nullptr;
  const struct VectorsTable* vectors = nullptr;
};

// The CPU's, for the instruction set that cpuid or TINY_TORCH_ISA names.
const Backend& cpu_backend();

}  // namespace tt
