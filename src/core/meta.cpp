// The device `meta`: arrays of a shape, strides and a dtype without memory. Its kernels do nothing,
// so that whatever is computed of it ends in the shape that the other devices' results have.
#include <type_traits>

#include "core/backend.h"
#include "core/device.h"
#include "core/entries.h"
#include "core/error.h"

namespace tt {

namespace {

// Leaves a kernel that does nothing; one that checks answers that all is well. What the CPU has
// not, meta has not.
struct Silence {
  template <class Result, class... Args>
  void operator()(Result (*&kernel)(Args...)) const {
    if (!kernel) return;
    kernel = [](Args...) -> Result {
      if constexpr (!std::is_void_v<Result>) return Result(1);
    };
  }
};

// A kernel whose answer decides the shape of the result.
template <class Result, class... Args>
void refuse(Result (*&kernel)(Args...)) {
  kernel = [](Args...) -> Result {
    throw NotImplementedError(
        "the shape of the result depends on the elements, which a tensor on meta does not have");
  };
}

const Backend& meta_backend() {
  static const Backend backend = [] {
    Backend meta = changed(cpu_backend(), Silence{});
    meta.name = "meta";
    static ArrangeTable arrange = *meta.arrange;
    static MasksTable masks = *meta.masks;
    static UniqueTable unique = *meta.unique;
    refuse(arrange.total_count);
    refuse(masks.mask_count);
    refuse(unique.unique);
    refuse(unique.unique_rows);
    meta.arrange = &arrange;
    meta.masks = &masks;
    meta.unique = &unique;
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
