// Devices: where the memory of arrays is, and which kernels work on it. A Storage belongs to one;
// all that is computed from an array stays on its device.
#pragma once
#include <cstddef>
#include <vector>

namespace tt {

struct Accelerator;
struct Backend;

// What a device provides; it lives as long as the process.
struct Device {
  const char* name;  // "cpu", "cuda"
  const Backend* backend;
  // 64-byte aligned memory; throws RuntimeError with the sizes where there is no more. `release`
  // takes the size that was asked for.
  void* (*allocate)(size_t bytes);
  void (*release)(void* block, size_t bytes);
  // Bytes from the host's memory, to it, and from one block of the device to another.
  void (*from_host)(void* to, const void* from, size_t bytes);
  void (*to_host)(void* to, const void* from, size_t bytes);
  void (*copy)(void* to, const void* from, size_t bytes);
  // Called around each launch of a kernel; null where nothing is to be done.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
  bool on_host = false;  // whether other code, too, may read and write the memory where it is
  bool has_data = true;  // false of `meta`, whose arrays have shapes only
  const Accelerator* accelerator = nullptr;  // its streams, events and graphs, if it has such
};

const Device& cpu_device();   // device.cpp
const Device& meta_device();  // meta.cpp

// The devices by their names; null where there is none of this name.
const Device* find_device(const char* name);
// From now on there is this one, too. RuntimeError where its name is taken.
void add_device(const Device& device);
std::vector<const Device*> all_devices();

}  // namespace tt

// A device of one's own: a shared library that ends with TT_DEVICE(make), where make(cpu) answers
// it, for `devices.register` in Python. Built with these headers:
// g++ -std=c++17 -shared -fPIC -I src mine.cpp -o mine.so
#define TT_DEVICE(make)                                                                     \
  extern "C" __attribute__((visibility("default"))) const tt::Device* tiny_torch_device(    \
      const tt::Device& cpu) {                                                              \
    return make(cpu);                                                                       \
  }                                                                                         \
  extern "C" __attribute__((visibility("default"))) const size_t tiny_torch_device_layout = \
      sizeof(tt::Device)
