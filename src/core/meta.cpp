// The device `meta`: arrays of a shape, strides and a dtype without memory. Its kernels do nothing,
// so that whatever is computed of it ends in the shape that the other devices' results have.
#include <type_traits>

#include "core/backend.h"
#include "core/device.h"
#include "core/error.h"
#include "core/tables/attention.h"
#include "core/tables/conv.h"
#include "core/tables/creation.h"
#include "core/tables/elementwise.h"
#include "core/tables/gather.h"
#include "core/tables/histogram.h"
#include "core/tables/losses.h"
#include "core/tables/matmul.h"
#include "core/tables/norm.h"
#include "core/tables/optim.h"
#include "core/tables/pool.h"
#include "core/tables/random.h"
#include "core/tables/recurrent.h"
#include "core/tables/reduce.h"
#include "core/tables/scan.h"
#include "core/tables/sort.h"

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

// A copy of the CPU's table without its kernels. `fields` are all of its fields: a structured
// binding that names too few of them does not compile.
#define TT_SILENT(Table, from, ...)                         \
  [] {                                                      \
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
    silence(meta.copy);
    meta.attention = TT_SILENT(AttentionTable, cpu_backend().attention, a, b, c, d, e);
    meta.conv = TT_SILENT(ConvTable, cpu_backend().conv, a, b, c, d, e, f);
    meta.elementwise = TT_SILENT(ElementwiseTable, cpu_backend().elementwise, a, b, c, d, e, f);
    meta.histogram = TT_SILENT(HistogramTable, cpu_backend().histogram, a, b);
    auto* const index =
        TT_SILENT(IndexTable, cpu_backend().index, a, b, c, d, e, f, g, h, i, j, k, l, m);
    refuse(index->mask_count);
    refuse(index->total_count);
    meta.index = index;
    meta.loss = TT_SILENT(LossTable, cpu_backend().loss, a, b, c, d, e, f, g, h, i);
    meta.matmul = TT_SILENT(MatmulTable, cpu_backend().matmul, a, b);
    meta.norm = TT_SILENT(NormTable, cpu_backend().norm, a, b, c, d, e, f, g, h, i, j, k);
    auto* const order = TT_SILENT(OrderTable, cpu_backend().order, a, b, c, d, e, f, g, h, i);
    refuse(order->unique);
    refuse(order->unique_rows);
    meta.order = order;
    meta.pool = TT_SILENT(PoolTable, cpu_backend().pool, a, b, c, d, e, f);
    meta.random = TT_SILENT(RandomTable, cpu_backend().random, a, b, c, d, e, f, g, h, i, j, k, l,
                            m, n, o, p, q, r, s, t);
    meta.range = TT_SILENT(RangeTable, cpu_backend().range, a, b, c, d);
    meta.recurrent = TT_SILENT(RecurrentTable, cpu_backend().recurrent, a, b);
    meta.reduce = TT_SILENT(ReduceTable, cpu_backend().reduce, a, b, c);
    meta.scan = TT_SILENT(ScanTable, cpu_backend().scan, a, b, c, d, e, f, g);
    static OptimTable optim = *cpu.optim;
    static ForeachTable foreach = *optim.foreach;
    {
      auto& [a, b, c, d] = foreach;
      silence(a), silence(b), silence(c), silence(d);
    }
    {
      auto& [a, b, c, d, e, f, g, h, i, j, lists] = optim;
      silence(a), silence(b), silence(c), silence(d), silence(e), silence(f), silence(g);
      silence(h), silence(i), silence(j);
      lists = &foreach;
    }
    meta.optim = &optim;
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
