// The cells of RNN, LSTM and GRU, forward and backward: what is done to the units of a row.
//
// A cell takes the row's parts of arrays once; then Units reads and writes there a V, a vector of
// elements T or one.
//
// Included inside a kernel file's own anonymous namespace (Note [No weak symbols]), after
// core/tables/recurrent.h and a header that defines select(mask, x, y), sigmoid and tanh.

template <class T>
struct Row {
  int64_t row, hidden;

  // The start of a gate in an array of so many, or null.
  template <class Pointer>
  TT_HOST_DEVICE T* of(Pointer data, int64_t gates = 1, int64_t gate = 0) const {
    T* const start = static_cast<T*>(const_cast<void*>(static_cast<const void*>(data)));
    return start ? start + (row * gates + gate) * hidden : nullptr;
  }
};

// The starts of each of N gates.
template <class T, int N>
struct Gates {
  T* start[N];

  template <class Pointer>
  TT_HOST_DEVICE Gates(const Row<T>& row, Pointer data) {
    for (int k = 0; k < N; ++k) start[k] = row.of(data, N, k);
  }
  TT_HOST_DEVICE T* operator[](int k) const { return start[k]; }
};

// What has come back to h: from the step behind, and from what took the output.
template <class Units, class T>
TT_HOST_DEVICE auto gradient_of_state(const Units& u, const T* state, const T* output) {
  auto dh = u.load(state);
  if (output) dh += u.load(output);
  return dh;
}

// ---- RNN ----------------------------------------------------------------------------------------

template <class T, bool kRelu>
struct RnnForward {
  T *gates, *state, *output;

  TT_HOST_DEVICE RnnForward(const RecurrentStep& s, const Row<T>& row)
      : gates(row.of(s.gates)), state(row.of(s.state)), output(row.of(s.output)) {}

  template <class Units, class V = typename Units::V>
  TT_HOST_DEVICE void operator()(const Units& u) const {
    const V a = u.load(gates), h = kRelu ? select(a < 0, V{}, a) : tanh(a);
    u.store(state, h);
    u.store(output, h);
  }
};

template <class T, bool kRelu>
struct RnnBackward {
  T *gates, *state;
  const T *before, *output;

  TT_HOST_DEVICE RnnBackward(const RecurrentStep& s, const Row<T>& row)
      : gates(row.of(s.gates)),
        state(row.of(s.state)),
        before(row.of(s.before)),
        output(row.of(s.output)) {}

  template <class Units, class V = typename Units::V>
  TT_HOST_DEVICE void operator()(const Units& u) const {
    const V h = u.load(before), dh = gradient_of_state(u, state, output);
    u.store(gates, kRelu ? select(h > 0, dh, V{}) : dh * (1 - h * h));
  }
};

// ---- LSTM ---------------------------------------------------------------------------------------

template <class T>
struct LstmForward {
  Gates<T, 4> gate;
  T *state, *cell, *cells, *output;

  TT_HOST_DEVICE LstmForward(const RecurrentStep& s, const Row<T>& row)
      : gate(row, s.gates),
        state(row.of(s.state)),
        cell(row.of(s.cell)),
        cells(row.of(s.cells)),
        output(row.of(s.output)) {}

  template <class Units, class V = typename Units::V>
  TT_HOST_DEVICE void operator()(const Units& u) const {
    const V i = sigmoid(u.load(gate[0])), f = sigmoid(u.load(gate[1]));
    const V g = tanh(u.load(gate[2])), o = sigmoid(u.load(gate[3]));
    const V c = f * u.load(cell) + i * g, h = o * tanh(c);
    u.store(gate[0], i);
    u.store(gate[1], f);
    u.store(gate[2], g);
    u.store(gate[3], o);
    u.store(cell, c);
    u.store(cells, c);
    u.store(state, h);
    u.store(output, h);
  }
};

template <class T>
struct LstmBackward {
  Gates<T, 4> gate, active;
  T *state, *cell;
  const T *cells, *before, *output;

  TT_HOST_DEVICE LstmBackward(const RecurrentStep& s, const Row<T>& row)
      : gate(row, s.gates),
        active(row, s.activations),
        state(row.of(s.state)),
        cell(row.of(s.cell)),
        cells(row.of(s.cells)),
        before(row.of(s.before)),
        output(row.of(s.output)) {}

  template <class Units, class V = typename Units::V>
  TT_HOST_DEVICE void operator()(const Units& u) const {
    const V i = u.load(active[0]), f = u.load(active[1]);
    const V g = u.load(active[2]), o = u.load(active[3]);
    const V t = tanh(u.load(cells)), dh = gradient_of_state(u, state, output);
    const V dc = u.load(cell) + dh * o * (1 - t * t);
    u.store(gate[0], dc * g * i * (1 - i));
    u.store(gate[1], dc * u.load(before) * f * (1 - f));
    u.store(gate[2], dc * i * (1 - g * g));
    u.store(gate[3], dh * t * o * (1 - o));
    u.store(cell, dc * f);
  }
};

// ---- GRU ----------------------------------------------------------------------------------------

template <class T>
struct GruForward {
  Gates<T, 3> gate, recurrent;
  T *state, *candidate, *output;

  TT_HOST_DEVICE GruForward(const RecurrentStep& s, const Row<T>& row)
      : gate(row, s.gates),
        recurrent(row, s.recurrent),
        state(row.of(s.state)),
        candidate(row.of(s.candidate)),
        output(row.of(s.output)) {}

  template <class Units, class V = typename Units::V>
  TT_HOST_DEVICE void operator()(const Units& u) const {
    const V r = sigmoid(u.load(gate[0]) + u.load(recurrent[0]));
    const V z = sigmoid(u.load(gate[1]) + u.load(recurrent[1]));
    const V b = u.load(recurrent[2]), n = tanh(u.load(gate[2]) + r * b);
    const V h = n + z * (u.load(state) - n);
    u.store(gate[0], r);
    u.store(gate[1], z);
    u.store(gate[2], n);
    u.store(candidate, b);
    u.store(state, h);
    u.store(output, h);
  }
};

template <class T>
struct GruBackward {
  Gates<T, 3> gate, recurrent, active;
  T* state;
  const T *candidate, *before, *output;

  TT_HOST_DEVICE GruBackward(const RecurrentStep& s, const Row<T>& row)
      : gate(row, s.gates),
        recurrent(row, s.recurrent),
        active(row, s.activations),
        state(row.of(s.state)),
        candidate(row.of(s.candidate)),
        before(row.of(s.before)),
        output(row.of(s.output)) {}

  template <class Units, class V = typename Units::V>
  TT_HOST_DEVICE void operator()(const Units& u) const {
    const V r = u.load(active[0]), z = u.load(active[1]), n = u.load(active[2]);
    const V dh = gradient_of_state(u, state, output);
    const V dn = dh * (1 - z) * (1 - n * n);
    const V dr = dn * u.load(candidate) * r * (1 - r);
    const V dz = dh * (u.load(before) - n) * z * (1 - z);
    u.store(gate[0], dr);
    u.store(gate[1], dz);
    u.store(gate[2], dn);
    u.store(recurrent[0], dr);
    u.store(recurrent[1], dz);
    u.store(recurrent[2], dn * r);
    u.store(state, dh * z);
  }
};

// ---- the table ----------------------------------------------------------------------------------

// A device's own.
template <class T, class Cell>
void run(const RecurrentSequence& s);

template <class T>
constexpr void add_kernels(RecurrentTable& table, int column) {
  const RecurrentKernel forward[] = {run<T, RnnForward<T, false>>, run<T, RnnForward<T, true>>,
                                     run<T, LstmForward<T>>, run<T, GruForward<T>>};
  const RecurrentKernel backward[] = {run<T, RnnBackward<T, false>>, run<T, RnnBackward<T, true>>,
                                      run<T, LstmBackward<T>>, run<T, GruBackward<T>>};
  for (int kind = 0; kind < kRecurrents; ++kind) {
    table.forward[kind][column] = forward[kind];
    table.backward[kind][column] = backward[kind];
  }
}

constexpr RecurrentTable make_recurrent_table() {
  RecurrentTable table{};
  add_kernels<float>(table, 0);
  add_kernels<double>(table, 1);
  return table;
}
