// Copies of a device's tables in which every kernel is replaced: how a device comes to kernels that
// do nothing (meta), or that say what is missing.
#pragma once
#include "core/tables.h"

namespace tt {

// Calls change(kernel) for each entry of a table. `fields` are all of its fields: a
// structured binding that names too few of them does not compile.
template <class Change, class Result, class... Args>
void change_entry(Change& change, Result (*&kernel)(Args...)) {
  change(kernel);
}
template <class Change, class Entry, size_t count>
void change_entry(Change& change, Entry (&entries)[count]) {
  for (Entry& entry : entries) change_entry(change, entry);
}
template <class Change, class Args>
void change_entry(Change& change, Steps<Args>& steps) {
  change_entry(change, steps.f32);
  change_entry(change, steps.f64);
}
template <class Change>
void change_entry(Change&, const ForeachTable*&) {}  // which has its own copy

#define TT_CHANGED(Table, from, ...)                                      \
  [&] {                                                                   \
    static Table table = *(from);                                         \
    auto& [__VA_ARGS__] = table;                                          \
    const auto all = [&](auto&... f) { (change_entry(change, f), ...); }; \
    all(__VA_ARGS__);                                                     \
    return &table;                                                        \
  }()

// `from` with each kernel as `change` leaves it. There is one such copy for each type Change.
template <class Change>
Backend changed(const Backend& from, Change change) {
  Backend all = from;
#define TT_FAMILY(family, Table, ...) all.family = TT_CHANGED(Table, from.family, __VA_ARGS__);
  TT_FAMILY(arrange, ArrangeTable, a, b, c, d)
  TT_FAMILY(attention, AttentionTable, a, b)
  TT_FAMILY(batch_norm, BatchNormTable, a, b, c, d)
  TT_FAMILY(cast, CastTable, a)
  TT_FAMILY(conv, ConvTable, a, b, c, d, e, f)
  TT_FAMILY(creation, CreationTable, a, b, c, d)
  TT_FAMILY(cross_entropy, CrossEntropyTable, a, b, c, d, e, f)
  TT_FAMILY(ctc, CtcTable, a, b, c)
  TT_FAMILY(elementwise, ElementwiseTable, a, b, c, d, e, f)
  TT_FAMILY(embedding, EmbeddingTable, a, b, c)
  TT_FAMILY(fold, FoldTable, a, b)
  TT_FAMILY(gather, GatherTable, a, b, c, d)
  TT_FAMILY(histogram, HistogramTable, a, b)
  TT_FAMILY(join, JoinTable, a)
  TT_FAMILY(layer_norm, LayerNormTable, a, b)
  TT_FAMILY(losses, LossesTable, a, b)
  TT_FAMILY(masks, MasksTable, a, b, c, d)
  TT_FAMILY(matmul, MatmulTable, a, b)
  TT_FAMILY(pool, PoolTable, a, b, c)
  TT_FAMILY(random, RandomTable, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  TT_FAMILY(recurrent, RecurrentTable, a, b)
  TT_FAMILY(reduce, ReduceTable, a, b, c, d)
  TT_FAMILY(resample, ResampleTable, a)
  TT_FAMILY(scan, ScanTable, a, b, c, d, e, f)
  TT_FAMILY(search, SearchTable, a, b)
  TT_FAMILY(softmax, SoftmaxTable, a, b)
  TT_FAMILY(sort, SortTable, a, b, c, d, e)
  TT_FAMILY(unique, UniqueTable, a, b)
  TT_FAMILY(vectors, VectorsTable, a)
#undef TT_FAMILY
  OptimTable* const optim = TT_CHANGED(OptimTable, from.optim, a, b, c, d, e, f, g, h, i, j, k);
  optim->foreach = TT_CHANGED(ForeachTable, from.optim->foreach, a, b, c, d);
  all.optim = optim;
  return all;
}

#undef TT_CHANGED

}  // namespace tt
