// The records of ops.def for the tests, so that no op can exist without a test case.
#include "bindings/types.h"

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

}  // namespace

void add_records(pybind11::module_& module) { module.def("op_records", op_records); }

}  // namespace tt::py
