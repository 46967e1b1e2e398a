// The table of elementwise kernels, filled with entry<F, Set, T, kInputs, kMask>(): a kernel, or
// nullptr where the table has none. Templates over the table, or a file would compile the kernels
// of both.
//
// Included inside a kernel file's own anonymous namespace (Note [No weak symbols]), after
// core/dtypes/dtype_sets.h, core/tables/elementwise.h, core/formulas/functors.h and entry.

template <class F, class Set, int kInputs, bool kMask = false>
constexpr void fill(Kernel (&entries)[kDTypes]) {
#define X(name, type, text, category) \
  entries[static_cast<int>(DType::name)] = entry<F, Set, type, kInputs, kMask>();
  TT_FOR_EACH_DTYPE(X)
#undef X
}

// The ops of one input.
template <class Table>
constexpr void fill_of_one(Table& table) {
  int op = 0;
#define UNARY(name, result, set, ...) fill<name##_op, set, 1>(table.unary[op++]);
#define TEST(name, set, ...) fill<name##_op, set, 1, true>(table.unary[op++]);
#include "core/ops.def"
}

template <class Table>
constexpr void fill_of_more(Table& table) {
  int binary = 0, ternary = 0, quaternary = 0;
#define BINARY(name, result, set, ...) fill<name##_op, set, 2>(table.binary[binary++]);
#define COMPARE(name, set, ...) fill<name##_op, set, 2, true>(table.binary[binary++]);
#define TERNARY(name, result, set, ...) fill<name##_op, set, 3>(table.ternary[ternary++]);
#define QUATERNARY(name, result, set, ...) fill<name##_op, set, 4>(table.quaternary[quaternary++]);
#include "core/ops.def"
  fill<where_op, All, 3>(table.where);
  fill<nan_to_num_op, All, 4>(table.nan_to_num);
}
