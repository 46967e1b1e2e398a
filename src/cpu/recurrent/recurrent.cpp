// The time steps of RNN, LSTM and GRU: each is products with the state's weights (in
// product.h), and one pass over its units (core/formulas/recurrent_cells.h). Built once per
// instruction set, and for its tiles by tiles.cpp.
#include "cpu/recurrent/product.h"
#include "cpu/vec/vec_machine.h"
#include "cpu/vec/vec_math.h"

namespace tt::cpu {
namespace {

#include "core/formulas/recurrent_cells.h"

// A vector of units; at the end of a row some lanes are idle.
template <class T>
struct Units {
  using V = Vec<T>;
  int64_t at, count;  // the first unit; how many

  V load(const T* row) const {
    return count == lanes<T> ? cpu::load(row + at) : load_partial(row + at, count);
  }
  void store(T* row, V value) const {
    count == lanes<T> ? cpu::store(row + at, value) : store_partial(row + at, value, count);
  }
};

template <class T, class Cell>
void step(const RecurrentStep& s, int64_t begin, int64_t end) {
  for (int64_t row = 0; row < s.rows; ++row) {
    const Cell cell(s, Row<T>{row, s.hidden});
    for (int64_t at = begin; at < end; at += lanes<T>)
      cell(Units<T>{at, end - at < lanes<T> ? end - at : lanes<T>});
  }
}

#ifdef TT_TILES
template <class>
using PanelsOf = TilePanels;
#else
template <class T>
using PanelsOf = UnitPanels<T>;
#endif

template <class T, class Cell>
void run(const RecurrentSequence& s) {
  run_phases<PanelsOf<T>>(s, step<T, Cell>);
}

}  // namespace

namespace TT_ISA {
#ifdef TT_TILES
extern const RecurrentTable recurrent_tiles = [] {
  RecurrentTable table{};
  add_kernels<float>(table, 2);
  return table;
}();
#else
extern const RecurrentTable recurrent_table = make_recurrent_table();
#endif
}  // namespace TT_ISA

}  // namespace tt::cpu
