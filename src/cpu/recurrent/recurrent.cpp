// The time steps of RNN, LSTM and GRU: each is products with the state's weights (in
// product.h), and one pass over its units. Built once per instruction set.

#include "cpu/recurrent/product.h"
#include "cpu/vec/vec_machine.h"
#include "cpu/vec/vec_math.h"

namespace tt::cpu {
namespace {

// A row's arrays, by gate, seen from one vector of units; at the end of a row some lanes are idle.
template <class T>
struct Units {
  int64_t at, count;  // the first unit; how many

  Vec<T> load(const T* row) const {
    return count == lanes<T> ? cpu::load(row + at) : load_partial(row + at, count);
  }
  void store(T* row, Vec<T> value) const {
    count == lanes<T> ? cpu::store(row + at, value) : store_partial(row + at, value, count);
  }
};

template <class T>
struct Row {
  int64_t row, hidden, begin, end;  // of the units, those that are asked for

  // The start of a gate in an array of so many, or null.
  template <class Pointer>
  T* of(Pointer data, int64_t gates = 1, int64_t gate = 0) const {
    T* const start = static_cast<T*>(const_cast<void*>(static_cast<const void*>(data)));
    return start ? start + (row * gates + gate) * hidden : nullptr;
  }

  template <class Body>
  void for_each_unit(const Body& body) const {
    for (int64_t at = begin; at < end; at += lanes<T>)
      body(Units<T>{at, end - at < lanes<T> ? end - at : lanes<T>});
  }
};

template <class T, class Body>
void for_each_row(const RecurrentStep& s, int64_t begin, int64_t end, const Body& body) {
  for (int64_t row = 0; row < s.rows; ++row) body(Row<T>{row, s.hidden, begin, end});
}

// ------------------------------------------------------------------------------------------ RNN

template <class T, bool kRelu>
void rnn_forward(const RecurrentStep& s, int64_t begin, int64_t end) {
  for_each_row<T>(s, begin, end, [&](Row<T> row) {
    T *gates = row.of(s.gates), *state = row.of(s.state), *output = row.of(s.output);
    row.for_each_unit([&](Units<T> u) {
      const Vec<T> a = u.load(gates);
      const Vec<T> h = kRelu ? select(a < 0, Vec<T>{}, a) : tanh(a);
      u.store(state, h);
      u.store(output, h);
    });
  });
}

template <class T, bool kRelu>
void rnn_backward(const RecurrentStep& s, int64_t begin, int64_t end) {
  for_each_row<T>(s, begin, end, [&](Row<T> row) {
    T *gates = row.of(s.gates), *state = row.of(s.state);
    const T *h_row = row.of(s.before), *output = row.of(s.output);
    row.for_each_unit([&](Units<T> u) {
      const Vec<T> h = u.load(h_row);
      Vec<T> dh = u.load(state);
      if (output) dh += u.load(output);
      u.store(gates, kRelu ? select(h > 0, dh, Vec<T>{}) : dh * (1 - h * h));
    });
  });
}

// ----------------------------------------------------------------------------------------- LSTM

template <class T>
void lstm_forward(const RecurrentStep& s, int64_t begin, int64_t end) {
  for_each_row<T>(s, begin, end, [&](Row<T> row) {
    T* gate[4];
    for (int k = 0; k < 4; ++k) gate[k] = row.of(s.gates, 4, k);
    T *state = row.of(s.state), *cell = row.of(s.cell);
    T *cells = row.of(s.cells), *output = row.of(s.output);
    row.for_each_unit([&](Units<T> u) {
      const Vec<T> i = sigmoid(u.load(gate[0])), f = sigmoid(u.load(gate[1]));
      const Vec<T> g = tanh(u.load(gate[2])), o = sigmoid(u.load(gate[3]));
      const Vec<T> c = f * u.load(cell) + i * g, h = o * tanh(c);
      u.store(gate[0], i);
      u.store(gate[1], f);
      u.store(gate[2], g);
      u.store(gate[3], o);
      u.store(cell, c);
      u.store(cells, c);
      u.store(state, h);
      u.store(output, h);
    });
  });
}

template <class T>
void lstm_backward(const RecurrentStep& s, int64_t begin, int64_t end) {
  for_each_row<T>(s, begin, end, [&](Row<T> row) {
    T *gate[4], *active[4];
    for (int k = 0; k < 4; ++k) {
      gate[k] = row.of(s.gates, 4, k);
      active[k] = row.of(s.activations, 4, k);
    }
    T *state = row.of(s.state), *cell = row.of(s.cell);
    const T *cells = row.of(s.cells), *before = row.of(s.before), *output = row.of(s.output);
    row.for_each_unit([&](Units<T> u) {
      const Vec<T> i = u.load(active[0]), f = u.load(active[1]);
      const Vec<T> g = u.load(active[2]), o = u.load(active[3]);
      const Vec<T> t = tanh(u.load(cells));
      Vec<T> dh = u.load(state);
      if (output) dh += u.load(output);
      const Vec<T> dc = u.load(cell) + dh * o * (1 - t * t);
      u.store(gate[0], dc * g * i * (1 - i));
      u.store(gate[1], dc * u.load(before) * f * (1 - f));
      u.store(gate[2], dc * i * (1 - g * g));
      u.store(gate[3], dh * t * o * (1 - o));
      u.store(cell, dc * f);
    });
  });
}

// ------------------------------------------------------------------------------------------ GRU

template <class T>
void gru_forward(const RecurrentStep& s, int64_t begin, int64_t end) {
  for_each_row<T>(s, begin, end, [&](Row<T> row) {
    T *gate[3], *recurrent[3];
    for (int k = 0; k < 3; ++k) {
      gate[k] = row.of(s.gates, 3, k);
      recurrent[k] = row.of(s.recurrent, 3, k);
    }
    T *state = row.of(s.state), *output = row.of(s.output), *candidate = row.of(s.candidate);
    row.for_each_unit([&](Units<T> u) {
      const Vec<T> r = sigmoid(u.load(gate[0]) + u.load(recurrent[0]));
      const Vec<T> z = sigmoid(u.load(gate[1]) + u.load(recurrent[1]));
      const Vec<T> b = u.load(recurrent[2]), n = tanh(u.load(gate[2]) + r * b);
      const Vec<T> h = n + z * (u.load(state) - n);
      u.store(gate[0], r);
      u.store(gate[1], z);
      u.store(gate[2], n);
      u.store(candidate, b);
      u.store(state, h);
      u.store(output, h);
    });
  });
}

template <class T>
void gru_backward(const RecurrentStep& s, int64_t begin, int64_t end) {
  for_each_row<T>(s, begin, end, [&](Row<T> row) {
    T *gate[3], *recurrent[3], *active[3];
    for (int k = 0; k < 3; ++k) {
      gate[k] = row.of(s.gates, 3, k);
      active[k] = row.of(s.activations, 3, k);
      recurrent[k] = row.of(s.recurrent, 3, k);
    }
    T* state = row.of(s.state);
    const T *candidate = row.of(s.candidate), *before = row.of(s.before),
            *output = row.of(s.output);
    row.for_each_unit([&](Units<T> u) {
      const Vec<T> r = u.load(active[0]), z = u.load(active[1]), n = u.load(active[2]);
      Vec<T> dh = u.load(state);
      if (output) dh += u.load(output);
      const Vec<T> dn = dh * (1 - z) * (1 - n * n);
      const Vec<T> dr = dn * u.load(candidate) * r * (1 - r);
      const Vec<T> dz = dh * (u.load(before) - n) * z * (1 - z);
      u.store(gate[0], dr);
      u.store(gate[1], dz);
      u.store(gate[2], dn);
      u.store(recurrent[0], dr);
      u.store(recurrent[1], dz);
      u.store(recurrent[2], dn * r);
      u.store(state, dh * z);
    });
  });
}

}  // namespace

namespace TT_ISA {
extern const RecurrentTable recurrent_table = {
    {{run<float, rnn_forward<float, false>>, run<double, rnn_forward<double, false>>},
     {run<float, rnn_forward<float, true>>, run<double, rnn_forward<double, true>>},
     {run<float, lstm_forward<float>>, run<double, lstm_forward<double>>},
     {run<float, gru_forward<float>>, run<double, gru_forward<double>>}},
    {{run<float, rnn_backward<float, false>>, run<double, rnn_backward<double, false>>},
     {run<float, rnn_backward<float, true>>, run<double, rnn_backward<double, true>>},
     {run<float, lstm_backward<float>>, run<double, lstm_backward<double>>},
     {run<float, gru_backward<float>>, run<double, gru_backward<double>>}},
};
}  // namespace TT_ISA

}  // namespace tt::cpu
