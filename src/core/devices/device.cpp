#include "core/devices/device.h"

#include <cstring>
#include <mutex>

#include "core/devices/backend.h"
#include "core/devices/launch_listener.h"
#include "core/error.h"
#include "core/memory/allocator.h"

namespace tt {

std::atomic<const LaunchListener*> launch_listener{nullptr};

namespace {

void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
}

struct Registry {
  std::mutex mutex;
  std::vector<const Device*> devices{&cpu_device(), &meta_device()};

  const Device* find(const char* name) const {
    for (const Device* device : devices)
      if (std::strcmp(device->name, name) == 0) return device;
    return nullptr;
  }
};

Registry& registry() {
  static Registry all;
  return all;
}

}  // namespace

const Device& cpu_device() {
  static const Device device{
      "cpu",
      &cpu_backend(),
      [](size_t bytes) { return Allocator::instance().allocate(bytes); },
      [](void* block, size_t bytes) { Allocator::instance().release(block, bytes); },
      copy_bytes,
      copy_bytes,
      copy_bytes,
      nullptr,
      nullptr,
      /*on_host=*/true};
  return device;
}

const Device* find_device(const char* name) {
  const std::lock_guard lock(registry().mutex);
  return registry().find(name);
}

void add_device(const Device& device) {
  const std::lock_guard lock(registry().mutex);
  if (registry().find(device.name))
    throw RuntimeError("a device '", device.name, "' is there already");
  registry().devices.push_back(&device);
}

std::vector<const Device*> all_devices() {
  const std::lock_guard lock(registry().mutex);
  return registry().devices;
}

}  // namespace tt
