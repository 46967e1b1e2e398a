// CUDA's kernels, by family: names only. A file that fills a table in includes that table.
#pragma once
#include "core/devices/backend.h"

namespace tt {
struct ChainArgs;
struct ForeachTable;
}  // namespace tt

namespace tt::cuda {

#define TT_DECLARE(family, Table) extern const Table family##_table;
TT_FAMILIES(TT_DECLARE)
#undef TT_DECLARE
extern const ForeachTable foreach_table;  // of optim_table
void fill_extremes(ReduceTable& table);   // argmax, argmin, logsumexp, variance
void fill_samplers(RandomTable& table);
void chain(const ChainArgs& args);         // of elementwise_table
void fill_unary(ElementwiseTable& table);  // the part of it that has one input

}  // namespace tt::cuda
