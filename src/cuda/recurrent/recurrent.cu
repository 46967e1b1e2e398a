// The time steps of RNN, LSTM and GRU. A step is two kinds of launches, one after the other, for it
// needs all units of the step before: the products with the state's weights (matmul's tiles), and a
// thread per unit of each row (core/formulas/recurrent_cells.h).
#include "core/tables/matmul.h"
#include "core/tables/recurrent.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

#include "core/formulas/recurrent_cells.h"

// The thread's unit.
template <class T>
struct Unit {
  using V = T;
  int64_t at;  // in its row

  __device__ T load(const T* row) const { return row[at]; }
  __device__ void store(T* row, T value) const { row[at] = value; }
};

template <class T, class Cell>
__global__ void step_of_unit(const RecurrentStep s) {
  const int64_t i = thread_index();
  if (i >= s.rows * s.hidden) return;
  const Cell cell(s, Row<T>{i / s.hidden, s.hidden});
  cell(Unit<T>{i % s.hidden});
}

// c (rows, n) = or += a (rows, k) @ weight (+ bias).
MatmulArgs product_of(const RecurrentSequence& s, const RecurrentProduct& p) {
  const int64_t n = s.groups * s.hidden;
  return {p.rows,       n, s.k, p.a, s.weight, p.c,     s.k,     1,       s.weight_row,
          s.weight_col, n, 1,   0,   nullptr,  nullptr, nullptr, nullptr, s.accumulate,
          s.bias,       1};
}

template <class T, class Cell>
void run(const RecurrentSequence& s) {
  const MatmulKernel multiply = matmul_table.product[static_cast<int>(dtype_of<T>())];
  for (int64_t i = 0; i < s.count; ++i) {
    const RecurrentPhase& phase = s.phases[i];
    for (const RecurrentProduct& p : phase.products)
      if (s.weight && p.rows > 0) multiply(product_of(s, p));
    launch<step_of_unit<T, Cell>>(grid_of(phase.step.rows * phase.step.hidden), phase.step);
  }
}

}  // namespace

const RecurrentTable recurrent_table = make_recurrent_table();

}  // namespace tt::cuda
