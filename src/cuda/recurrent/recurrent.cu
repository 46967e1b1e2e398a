// The time steps of RNN, LSTM and GRU. A step is two kinds of launches, one after the other, for it
// needs all units of the step before: the products with the state's weights (matmul's tiles), and a
// thread per unit of each row.
#include "core/tables/matmul.h"
#include "core/tables/recurrent.h"
#include "cuda/elementwise/math.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

// The thread's unit, and where its gates begin in an array of `gates` of them.
struct Unit {
  int64_t row, unit, hidden, at;

  __device__ explicit Unit(const RecurrentStep& s)
      : row(thread_index() / s.hidden),
        unit(thread_index() % s.hidden),
        hidden(s.hidden),
        at(thread_index()) {}
  template <class T>
  __device__ T* gate(void* data, int gates, int gate) const {
    return static_cast<T*>(data) + (row * gates + gate) * hidden + unit;
  }
  template <class T>
  __device__ const T* gate(const void* data, int gates, int gate) const {
    return static_cast<const T*>(data) + (row * gates + gate) * hidden + unit;
  }
  // Its element of an array (rows, hidden).
  template <class T>
  __device__ T& own(void* data) const {
    return static_cast<T*>(data)[at];
  }
  template <class T>
  __device__ T own(const void* data) const {
    return static_cast<const T*>(data)[at];
  }
};

// What has come back to h: from the step behind, and from what took the output.
template <class T>
__device__ T gradient_of_state(const RecurrentStep& s, const Unit& u) {
  const T later = u.own<T>(s.state);
  return s.output ? later + u.own<T>(s.output) : later;
}

// ---- RNN ----------------------------------------------------------------------------------------

template <class T, bool kRelu>
struct RnnForward {
  __device__ static void step(const RecurrentStep& s, const Unit& u) {
    const T a = u.own<T>(s.gates);
    const T h = kRelu ? (a < 0 ? T(0) : a) : tanh(a);
    u.own<T>(s.state) = h;
    u.own<T>(s.output) = h;
  }
};

template <class T, bool kRelu>
struct RnnBackward {
  __device__ static void step(const RecurrentStep& s, const Unit& u) {
    const T h = u.own<T>(s.before), dh = gradient_of_state<T>(s, u);
    u.own<T>(s.gates) = kRelu ? (h > 0 ? dh : T(0)) : dh * (1 - h * h);
  }
};

// ---- LSTM ---------------------------------------------------------------------------------------

template <class T>
struct LstmForward {
  __device__ static void step(const RecurrentStep& s, const Unit& u) {
    T* gate[4];
    for (int k = 0; k < 4; ++k) gate[k] = u.gate<T>(s.gates, 4, k);
    const T i = sigmoid(*gate[0]), f = sigmoid(*gate[1]), g = tanh(*gate[2]), o = sigmoid(*gate[3]);
    const T c = f * u.own<T>(s.cell) + i * g, h = o * tanh(c);
    *gate[0] = i;
    *gate[1] = f;
    *gate[2] = g;
    *gate[3] = o;
    u.own<T>(s.cell) = c;
    u.own<T>(s.cells) = c;
    u.own<T>(s.state) = h;
    u.own<T>(s.output) = h;
  }
};

template <class T>
struct LstmBackward {
  __device__ static void step(const RecurrentStep& s, const Unit& u) {
    T active[4];
    for (int k = 0; k < 4; ++k) active[k] = *u.gate<T>(s.activations, 4, k);
    const T i = active[0], f = active[1], g = active[2], o = active[3];
    const T t = tanh(u.own<T>(s.cells)), dh = gradient_of_state<T>(s, u);
    const T dc = u.own<T>(s.cell) + dh * o * (1 - t * t);
    *u.gate<T>(s.gates, 4, 0) = dc * g * i * (1 - i);
    *u.gate<T>(s.gates, 4, 1) = dc * u.own<T>(s.before) * f * (1 - f);
    *u.gate<T>(s.gates, 4, 2) = dc * i * (1 - g * g);
    *u.gate<T>(s.gates, 4, 3) = dh * t * o * (1 - o);
    u.own<T>(s.cell) = dc * f;
  }
};

// ---- GRU ----------------------------------------------------------------------------------------

template <class T>
struct GruForward {
  __device__ static void step(const RecurrentStep& s, const Unit& u) {
    T *gate[3], recurrent[3];
    for (int k = 0; k < 3; ++k) {
      gate[k] = u.gate<T>(s.gates, 3, k);
      recurrent[k] = *u.gate<T>(s.recurrent, 3, k);
    }
    const T r = sigmoid(*gate[0] + recurrent[0]), z = sigmoid(*gate[1] + recurrent[1]);
    const T n = tanh(*gate[2] + r * recurrent[2]);
    const T h = n + z * (u.own<T>(s.state) - n);
    *gate[0] = r;
    *gate[1] = z;
    *gate[2] = n;
    u.own<T>(s.candidate) = recurrent[2];
    u.own<T>(s.state) = h;
    u.own<T>(s.output) = h;
  }
};

template <class T>
struct GruBackward {
  __device__ static void step(const RecurrentStep& s, const Unit& u) {
    T active[3];
    for (int k = 0; k < 3; ++k) active[k] = *u.gate<T>(s.activations, 3, k);
    const T r = active[0], z = active[1], n = active[2], dh = gradient_of_state<T>(s, u);
    const T dn = dh * (1 - z) * (1 - n * n);
    const T dr = dn * u.own<T>(s.candidate) * r * (1 - r);
    const T dz = dh * (u.own<T>(s.before) - n) * z * (1 - z);
    *u.gate<T>(s.gates, 3, 0) = *u.gate<T>(s.recurrent, 3, 0) = dr;
    *u.gate<T>(s.gates, 3, 1) = *u.gate<T>(s.recurrent, 3, 1) = dz;
    *u.gate<T>(s.gates, 3, 2) = dn;
    *u.gate<T>(s.recurrent, 3, 2) = dn * r;
    u.own<T>(s.state) = dh * z;
  }
};

// ---- phases -------------------------------------------------------------------------------------

template <class Kind>
__global__ void step_of_unit(const RecurrentStep s) {
  if (thread_index() < s.rows * s.hidden) Kind::step(s, Unit(s));
}

// c (rows, n) = or += a (rows, k) @ weight (+ bias).
MatmulArgs product_of(const RecurrentSequence& s, const RecurrentProduct& p) {
  const int64_t n = s.groups * s.hidden;
  return {p.rows,       n, s.k, p.a, s.weight, p.c,     s.k,     1,       s.weight_row,
          s.weight_col, n, 1,   0,   nullptr,  nullptr, nullptr, nullptr, s.accumulate,
          s.bias,       1};
}

template <class T, class Kind>
void run(const RecurrentSequence& s) {
  const MatmulKernel multiply = matmul_table.product[static_cast<int>(dtype_of<T>())];
  for (int64_t i = 0; i < s.count; ++i) {
    const RecurrentPhase& phase = s.phases[i];
    for (const RecurrentProduct& p : phase.products)
      if (s.weight && p.rows > 0) multiply(product_of(s, p));
    launch<step_of_unit<Kind>>(grid_of(phase.step.rows * phase.step.hidden), phase.step);
  }
}

}  // namespace

const RecurrentTable recurrent_table = {
    {{run<float, RnnForward<float, false>>, run<double, RnnForward<double, false>>},
     {run<float, RnnForward<float, true>>, run<double, RnnForward<double, true>>},
     {run<float, LstmForward<float>>, run<double, LstmForward<double>>},
     {run<float, GruForward<float>>, run<double, GruForward<double>>}},
    {{run<float, RnnBackward<float, false>>, run<double, RnnBackward<double, false>>},
     {run<float, RnnBackward<float, true>>, run<double, RnnBackward<double, true>>},
     {run<float, LstmBackward<float>>, run<double, LstmBackward<double>>},
     {run<float, GruBackward<float>>, run<double, GruBackward<double>>}},
};

}  // namespace tt::cuda
