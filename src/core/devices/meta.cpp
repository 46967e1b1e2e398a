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

void silence(ConvTiles& tiles) {
  silence(tiles.sum);
  silence(tiles.weight);
}

// A copy of a table without its kernels, in its place. After it stand names for all of its fields:
// a structured binding that names too few of them does not compile.
#define TT_SILENCE(from, ...)                               \
  [&] {                                                     \
    static auto table = *from;                              \
    auto& [__VA_ARGS__] = table;                            \
    const auto all = [](auto&... f) { (silence(f), ...); }; \
    all(__VA_ARGS__);                                       \
    from = &table;                                          \
    return &table;                                          \
  }()

void silence(const ForeachTable*& foreach) { TT_SILENCE(foreach, a, b, c, d); }

const Backend& meta_backend() {
  static const Backend backend = [] {
    Backend meta = cpu_backend();
    meta.name = "meta";
    auto* const arrange = TT_SILENCE(meta.arrange, a, b, c, d);
    refuse(arrange->total_count);
    TT_SILENCE(meta.attention, a, b);
    TT_SILENCE(meta.batch_norm, a, b, c, d);
    TT_SILENCE(meta.cast, a);
    TT_SILENCE(meta.conv, a, b, c, d, e, f, g, h);
    TT_SILENCE(meta.creation, a, b, c, d);
    TT_SILENCE(meta.cross_entropy, a, b, c, d, e, f);
    TT_SILENCE(meta.ctc, a, b, c);
    TT_SILENCE(meta.elementwise, a, b, c, d, e, f);
    TT_SILENCE(meta.embedding, a, b, c);
    TT_SILENCE(meta.fold, a, b);
    TT_SILENCE(meta.gather, a, b, c, d);
    TT_SILENCE(meta.histogram, a, b);
    TT_SILENCE(meta.join, a);
    TT_SILENCE(meta.layer_norm, a, b);
    TT_SILENCE(meta.losses, a, b);
    auto* const masks = TT_SILENCE(meta.masks, a, b, c, d);
    refuse(masks->mask_count);
    TT_SILENCE(meta.matmul, a, b);
    TT_SILENCE(meta.pool, a, b, c);
    TT_SILENCE(meta.random, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
    TT_SILENCE(meta.recurrent, a, b);
    TT_SILENCE(meta.reduce, a, b, c, d, e);
    TT_SILENCE(meta.resample, a);
    TT_SILENCE(meta.scan, a, b, c, d, e, f);
    TT_SILENCE(meta.search, a, b);
    TT_SILENCE(meta.softmax, a, b);
    TT_SILENCE(meta.sort, a, b, c, d, e);
    auto* const unique = TT_SILENCE(meta.unique, a, b);
    refuse(unique->unique);
    refuse(unique->unique_rows);
    TT_SILENCE(meta.vectors, a);
    TT_SILENCE(meta.optim, a, b, c, d, e, f, g, h, i, j, k);
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
