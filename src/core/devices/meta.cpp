// The device `meta`: arrays of a shape, strides and a dtype without memory. Its kernels do nothing,
// so that whatever is computed of it ends in the shape that the other devices' results have.
#include <type_traits>

#include "core/devices/backend.h"
#include "core/devices/device.h"
#include "core/devices/tables.h"
#include "core/error.h"

namespace tt {

namespace {

// A kernel that does nothing; one that checks answers that all is well.
template <class Result, class... Args>
void silence(Result (*&kernel)(Args...)) {
  if (!kernel) return;  // what the CPU has not, meta has not
  kernel = [](Args...) -> Result {
    if constexpr (!std::is_void_v<Result>) return Result(1);
  };
}
template <class Entry, size_t count>
void silence(Entry (&entries)[count]) {
  for (Entry& entry : entries) silence(entry);
}

// A kernel whose answer decides the shape of the result.
template <class Result, class... Args>
void refuse(Result (*&kernel)(Args...)) {
  kernel = [](Args...) -> Result {
    throw NotImplementedError(
        "the shape of the result depends on the elements, which a tensor on meta does not have");
  };
}

template <class Args>
void silence(Steps<Args>& steps) {
  silence(steps.f32);
  silence(steps.f64);
}

void silence(ConvPairs& pairs) {
  silence(pairs.sum);
  silence(pairs.weight);
  silence(pairs.interleave);
}

void silence(const ForeachTable*&) {}  // which has its own copy

// A copy of the CPU's table without its kernels. `fields` are all of its fields: a structured
// binding that names too few of them does not compile.
#define TT_SILENT(Table, from, ...)                         \
  [&] {                                                     \
    static Table table = *(from);                           \
    auto& [__VA_ARGS__] = table;                            \
    const auto all = [](auto&... f) { (silence(f), ...); }; \
    all(__VA_ARGS__);                                       \
    return &table;                                          \
  }()

const Backend& meta_backend() {
  static const Backend backend = [] {
    const Backend& cpu = cpu_backend();
    Backend meta = cpu;
    meta.name = "meta";
    auto* const arrange = TT_SILENT(ArrangeTable, cpu.arrange, a, b, c, d);
    refuse(arrange->total_count);
    meta.arrange = arrange;
    meta.attention = TT_SILENT(AttentionTable, cpu.attention, a, b);
    meta.batch_norm = TT_SILENT(BatchNormTable, cpu.batch_norm, a, b, c, d);
    meta.cast = TT_SILENT(CastTable, cpu.cast, a);
    meta.conv = TT_SILENT(ConvTable, cpu.conv, a, b, c, d, e, f, g);
    meta.creation = TT_SILENT(CreationTable, cpu.creation, a, b, c, d);
    meta.cross_entropy = TT_SILENT(CrossEntropyTable, cpu.cross_entropy, a, b, c, d, e, f);
    meta.ctc = TT_SILENT(CtcTable, cpu.ctc, a, b, c);
    meta.elementwise = TT_SILENT(ElementwiseTable, cpu.elementwise, a, b, c, d, e, f);
    meta.embedding = TT_SILENT(EmbeddingTable, cpu.embedding, a, b, c);
    meta.fold = TT_SILENT(FoldTable, cpu.fold, a, b);
    meta.gather = TT_SILENT(GatherTable, cpu.gather, a, b, c, d);
    meta.histogram = TT_SILENT(HistogramTable, cpu.histogram, a, b);
    meta.join = TT_SILENT(JoinTable, cpu.join, a);
    meta.layer_norm = TT_SILENT(LayerNormTable, cpu.layer_norm, a, b);
    meta.losses = TT_SILENT(LossesTable, cpu.losses, a, b);
    auto* const masks = TT_SILENT(MasksTable, cpu.masks, a, b, c, d);
    refuse(masks->mask_count);
    meta.masks = masks;
    meta.matmul = TT_SILENT(MatmulTable, cpu.matmul, a, b);
    meta.pool = TT_SILENT(PoolTable, cpu.pool, a, b, c);
    meta.random = TT_SILENT(RandomTable, cpu.random, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p,
                            q, r, s, t);
    meta.recurrent = TT_SILENT(RecurrentTable, cpu.recurrent, a, b);
    meta.reduce = TT_SILENT(ReduceTable, cpu.reduce, a, b, c, d, e);
    meta.resample = TT_SILENT(ResampleTable, cpu.resample, a);
    meta.scan = TT_SILENT(ScanTable, cpu.scan, a, b, c, d, e, f);
    meta.search = TT_SILENT(SearchTable, cpu.search, a, b);
    meta.softmax = TT_SILENT(SoftmaxTable, cpu.softmax, a, b);
    meta.sort = TT_SILENT(SortTable, cpu.sort, a, b, c, d, e);
    auto* const unique = TT_SILENT(UniqueTable, cpu.unique, a, b);
    refuse(unique->unique);
    refuse(unique->unique_rows);
    meta.unique = unique;
    meta.vectors = TT_SILENT(VectorsTable, cpu.vectors, a);
    auto* const optim = TT_SILENT(OptimTable, cpu.optim, a, b, c, d, e, f, g, h, i, j, k);
    optim->foreach = TT_SILENT(ForeachTable, cpu.optim->foreach, a, b, c, d);
    meta.optim = optim;
    return meta;
  }();
  return backend;
}

// What every array of meta points to; nobody reads there.
alignas(64) char nowhere[64];

}  // namespace

const Device& meta_device() {
  static const Device device{"meta",
                             &meta_backend(),
                             [](size_t) -> void* { return nowhere; },
                             [](void*, size_t) {},
                             [](void*, const void*, size_t) {},
                             [](void*, const void*, size_t) {},
                             [](void*, const void*, size_t) {},
                             nullptr,
                             nullptr,
                             /*on_host=*/false,
                             /*has_data=*/false};
  return device;
}

}  // namespace tt
