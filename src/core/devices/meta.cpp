// The device `meta`: arrays of a shape, strides and a dtype without memory. Its table is the CPU's,
// of which a launch calls no kernel (launch.h), so that whatever is computed ends in the shape that
// the CPU's results have.
#include <atomic>
#include <cstdint>

#include "core/devices/backend.h"
#include "core/devices/device.h"

namespace tt {

namespace {

const Backend& meta_backend() {
  static const Backend backend = [] {
    Backend meta = cpu_backend();
    meta.name = "meta";
    return meta;
  }();
  return backend;
}

// Addresses that no process has, each given once, so that a plan tells buffers apart: of 64 bits,
// those from 47 to 55 are neither all 0 nor all 1.
void* reserve(size_t bytes) {
  constexpr uint64_t kFirst = uint64_t{1} << 54, kAlign = 64;
  static std::atomic<uint64_t> given{0};
  const uint64_t whole = (static_cast<uint64_t>(bytes) / kAlign + 1) * kAlign;
  return reinterpret_cast<void*>(kFirst + given.fetch_add(whole) % kFirst);
}

}  // namespace

const Device& meta_device() {
  static const Device device{"meta",
                             &meta_backend(),
                             reserve,
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
