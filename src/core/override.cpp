#include "core/override.h"

#include "core/backend.h"
#include "core/tables.h"

namespace tt {

namespace {

using Entry = void (*)();

class Slots {
 public:
  std::vector<KernelSlot> found;

  template <class Kernel>
  void add(const char* name, const Kernel& entry) {
    found.push_back({name, writable(&entry), {}});
  }
  template <class Kernel>
  void add(const char* name, const Kernel (&entries)[kDTypes]) {
    std::vector<DType> dtypes;
    for (int i = 0; i < kDTypes; ++i) dtypes.push_back(static_cast<DType>(i));
    found.push_back({name, writable(entries), dtypes});
  }
  template <class Kernel>
  void add(const char* name, const Kernel (&entries)[2]) {
    found.push_back({name, writable(entries), {DType::Float32, DType::Float64}});
  }

 private:
  // The tables are the process's own (cpu/infra/backend.cpp); only who asks for slots may write
  // them.
  template <class Kernel>
  static Entry* writable(const Kernel* entries) {
    static_assert(std::is_function_v<std::remove_pointer_t<Kernel>>);
    return reinterpret_cast<Entry*>(const_cast<Kernel*>(entries));
  }
};

}  // namespace

std::vector<KernelSlot> kernel_slots() {
  const Backend& cpu = cpu_backend();
  Slots slots;
#define SLOTS(table, Kind, name) slots.add(#name, (table)[static_cast<int>(Kind::name)]);
#define UNARY(name, ...) SLOTS(cpu.elementwise->unary, Unary, name)
#define TEST UNARY
#define BINARY(name, ...) SLOTS(cpu.elementwise->binary, Binary, name)
#define COMPARE BINARY
#define TERNARY(name, ...) SLOTS(cpu.elementwise->ternary, Ternary, name)
#define QUATERNARY(name, ...) SLOTS(cpu.elementwise->quaternary, Quaternary, name)
#define REDUCE(name, ...) SLOTS(cpu.reduce->kernels, Reduce, name)
#include "core/ops.def"
#define SLOT(table, name) slots.add(#name, (table).name);
  SLOT(*cpu.elementwise, where)
  SLOT(*cpu.elementwise, nan_to_num)
  SLOT(*cpu.reduce, argmax)
  SLOT(*cpu.reduce, argmin)
  slots.add("matmul", cpu.matmul->product);
  SLOT(*cpu.cast, copy)
  SLOT(*cpu.softmax, softmax)
  SLOT(*cpu.softmax, softmax_backward)
  SLOT(*cpu.reduce, logsumexp)
  SLOT(*cpu.cross_entropy, cross_entropy)
  SLOT(*cpu.cross_entropy, cross_entropy_backward)
  SLOT(*cpu.layer_norm, layer_norm)
  SLOT(*cpu.layer_norm, layer_norm_backward)
  SLOT(*cpu.batch_norm, batch_norm)
  SLOT(*cpu.batch_norm, batch_norm_backward)
  SLOT(*cpu.sort, sort)
  SLOT(*cpu.sort, topk)
  SLOT(*cpu.sort, kthvalue)
  SLOT(*cpu.sort, median)
  SLOT(*cpu.sort, mode)
  SLOT(*cpu.search, searchsorted)
  SLOT(*cpu.search, isin)
#undef SLOT
#undef SLOTS
  return slots.found;
}

}  // namespace tt
