// CUDA's kernels, by family.
#pragma once
#include "core/devices/tables.h"

namespace tt::cuda {

extern const ArrangeTable arrange_table;
extern const AttentionTable attention_table;
extern const BatchNormTable batch_norm_table;
extern const CastTable cast_table;
extern const ConvTable conv_table;
extern const CreationTable creation_table;
extern const CrossEntropyTable cross_entropy_table;
extern const CtcTable ctc_table;
extern const EmbeddingTable embedding_table;
extern const FoldTable fold_table;
extern const ForeachTable foreach_table;  // of optim_table
extern const GatherTable gather_table;
extern const HistogramTable histogram_table;
extern const JoinTable join_table;
extern const LayerNormTable layer_norm_table;
extern const LossesTable losses_table;
extern const MasksTable masks_table;
extern const MatmulTable matmul_table;
extern const OptimTable optim_table;
extern const PoolTable pool_table;
extern const RandomTable random_table;
extern const RecurrentTable recurrent_table;
extern const ResampleTable resample_table;
extern const ScanTable scan_table;
extern const SearchTable search_table;
extern const SoftmaxTable softmax_table;
extern const SortTable sort_table;
extern const UniqueTable unique_table;
extern const VectorsTable vectors_table;
ReduceTable reduce_table();
void fill_extremes(ReduceTable& table);  // argmax, argmin, logsumexp, variance
ElementwiseTable elementwise_table();
void fill_samplers(RandomTable& table);
void fill_unary(ElementwiseTable& table);  // the part of it that has one input

}  // namespace tt::cuda
