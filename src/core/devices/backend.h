// What a device provides: a table of functions per family. Each family's table, and the structs
// that its kernels take, stand in core/tables/<family>.h; a missing entry is nullptr.
#pragma once

// The list of families. Those whose kernels are built for each instruction set of the CPU, and the
// others. A device defines for each a constant, <family>_table.
// clang-format off
#define TT_FAMILIES_PER_ISA(X)                                                                    \
  X(attention, AttentionTable) X(batch_norm, BatchNormTable) X(conv, ConvTable)                   \
  X(creation, CreationTable) X(cross_entropy, CrossEntropyTable)                                  \
  X(elementwise, ElementwiseTable) X(fold, FoldTable) X(layer_norm, LayerNormTable)               \
  X(matmul, MatmulTable) X(optim, OptimTable) X(pool, PoolTable) X(recurrent, RecurrentTable)     \
  X(reduce, ReduceTable) X(resample, ResampleTable) X(softmax, SoftmaxTable)
#define TT_FAMILIES_ONCE(X)                                                                       \
  X(arrange, ArrangeTable) X(cast, CastTable) X(ctc, CtcTable) X(embedding, EmbeddingTable)       \
  X(gather, GatherTable) X(histogram, HistogramTable) X(join, JoinTable) X(losses, LossesTable)   \
  X(masks, MasksTable) X(random, RandomTable) X(scan, ScanTable) X(search, SearchTable)           \
  X(sort, SortTable) X(unique, UniqueTable) X(vectors, VectorsTable)
// clang-format on
#define TT_FAMILIES(X) TT_FAMILIES_PER_ISA(X) TT_FAMILIES_ONCE(X)

namespace tt {

struct Iter;
using Kernel = void (*)(const Iter&);

struct Backend {
  const char* name = nullptr;
  const char* instruction_set = nullptr;
#define TT_FIELD(family, Table) const struct Table* family = nullptr;
  TT_FAMILIES(TT_FIELD)
#undef TT_FIELD
};

// The CPU's, for the instruction set that cpuid or TINY_TORCH_ISA names.
const Backend& cpu_backend();
// Whether the CPU has tiles (AMX) that the system does not let a process have.
bool refuses_tiles();

}  // namespace tt
