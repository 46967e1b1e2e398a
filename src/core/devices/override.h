// Kernels replaced by name while the library runs, by functions of a shared object that a user has
// compiled from a file by itself:
//
//   #include "core/tables/softmax.h"
//   #include "core/devices/override.h"
//   static void my_softmax(const tt::SoftmaxArgs& args) { ... }
//   TT_OVERRIDE(SoftmaxTable, softmax, my_softmax)
//
//   g++ -std=c++17 -shared -fPIC -I src -o mine.so mine.cpp
//
// and in Python `torch.backends.cpu.override("softmax", "mine.so")`. The compiler checks the type.
// A record of ops.def has no field of its own in a table: TT_OVERRIDE_AS(tt::Kernel, exp, my_exp).
// TT_REPLACED(tt::Kernel, exp) defines tt_replaced_exp, which is ours once my_exp is in its place:
// my_exp may hand calls over to it.
#pragma once
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/devices/backend.h"
#include "core/dtypes/dtype.h"

#define TT_OVERRIDE(Table, name, function) \
  TT_OVERRIDE_AS(std::remove_all_extents_t<decltype(tt::Table::name)>, name, function)
#define TT_OVERRIDE_AS(Type, name, function)                                 \
  extern "C" {                                                               \
  __attribute__((visibility("default"))) Type tt_override_##name = function; \
  }
#define TT_REPLACED(Type, name)                                   \
  extern "C" {                                                    \
  __attribute__((visibility("default"))) Type tt_replaced_##name; \
  }

namespace tt {

// Where a device's table holds a kernel: one entry, or one for each of `dtypes` in their order, or
// `count` that differ in another way.
struct KernelSlot {
  std::string family, name;
  void (**entries)();
  int count;
  std::vector<DType> dtypes;
  bool replaceable;  // by that name alone
};

std::vector<KernelSlot> kernel_slots(const Backend& backend);

// Whoever calls one of these kernels of the CPU's from now on gets `why` as RuntimeError.
void refuse_kernels(const std::function<bool(const KernelSlot&)>& refused, const std::string& why);

// Whether this kernel of the CPU's was built for the baseline alone (cpu/infra/backend.cpp).
bool is_built_once(const std::string& family, void (*kernel)());

}  // namespace tt
