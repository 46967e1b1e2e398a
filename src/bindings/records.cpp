// The records of ops.def for the tests, so that no op can exist without a test case.

#include <pybind11/stl.h>

#include <set>

#include "bindings/bind.h"
#include "bindings/pybind.h"
#include "core/devices/override.h"

namespace tt::py {

namespace {

// [(kind, name, result rule, dtypes, domain), ...] as ops.def spells them.
pybind11::list op_records() {
  pybind11::list records;
  auto add = [&](const char* kind, const char* name, const char* result, const char* dtypes,
                 const char* domain) {
    records.append(pybind11::make_tuple(kind, name, result, dtypes, domain));
  };
#define UNARY(name, result, dtypes, domain, expr) add("unary", #name, #result, #dtypes, #domain);
#define TEST(name, dtypes, expr) add("test", #name, "Bool", #dtypes, "real");
#define BINARY(name, result, dtypes, domain, expr) add("binary", #name, #result, #dtypes, #domain);
#define COMPARE(name, dtypes, expr) add("compare", #name, "Bool", #dtypes, "real");
#define TERNARY(name, result, dtypes, domain, expr) \
  add("ternary", #name, #result, #dtypes, #domain);
#define QUATERNARY(name, result, dtypes, domain, expr) \
  add("quaternary", #name, #result, #dtypes, #domain);
#define REDUCE(name, result, dtypes, ...) add("reduce", #name, #result, #dtypes, "real");
#include "core/ops.def"
  return records;
}

// {name: (dtypes)} of the kernels that can be replaced; (None,) where one serves all dtypes.
pybind11::dict kernels() {
  pybind11::dict names;
  for (const KernelSlot& slot : kernel_slots(cpu_backend())) {
    if (!slot.replaceable) continue;
    pybind11::list dtypes;
    if (slot.dtypes.empty()) dtypes.append(pybind11::none());
    for (size_t i = 0; i < slot.dtypes.size(); ++i)
      if (slot.entries[i]) dtypes.append(pybind11::handle(dtype_object(slot.dtypes[i])));
    names[slot.name.c_str()] = pybind11::tuple(dtypes);
  }
  return names;
}

// Puts the function at `address` in the place of a kernel, of all dtypes or this one; answers the
// address of that.
uintptr_t replace_kernel(const std::string& name, pybind11::object dtype, uintptr_t address) {
  for (const KernelSlot& slot : kernel_slots(cpu_backend())) {
    if (slot.name != name || !slot.replaceable) continue;
    for (size_t i = 0; i < std::max<size_t>(slot.dtypes.size(), 1); ++i) {
      if (slot.dtypes.empty() ? !dtype.is_none() : dtype_from(dtype.ptr()) != slot.dtypes[i])
        continue;
      const auto before = slot.entries[i];
      slot.entries[i] = reinterpret_cast<void (*)()>(address);
      return reinterpret_cast<uintptr_t>(before);
    }
  }
  throw RuntimeError("no kernel ", name, " of this dtype");
}

// Kernels of these families and names, but not of these other names, raise RuntimeError(why) from
// now on. Families are those of Backend.
void refuse_named(const std::set<std::string>& families, const std::set<std::string>& names,
                  const std::set<std::string>& kept, const std::string& why) {
  refuse_kernels(
      [&](const KernelSlot& slot) {
        return (families.count(slot.family) || names.count(slot.name)) && !kept.count(slot.name);
      },
      why);
}

}  // namespace

void add_records(PyObject* object) {
  pybind11::module_ module = module_from(object);
  module.def("op_records", op_records);
  module.def("kernels", kernels);
  module.def("replace_kernel", replace_kernel);
  module.def("refuse_kernels", refuse_named);
}

}  // namespace tt::py
