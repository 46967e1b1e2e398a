// The time steps of a recurrent layer: products with the state's weights, and the rest.
#pragma once
#include <cstdint>

namespace tt {

// `rows` sequences of `hidden` units. Arrays are contiguous, (rows, hidden) unless told otherwise,
// of float32 or float64. A layer has `gates` units per hidden unit: 1, an LSTM 4, a GRU 3.
//
//   RNN   h = tanh(a) or relu(a)
//   LSTM  i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of a;  c = f c + i g;  h = o tanh(c)
//   GRU   r, z = sigmoid of a + b;  n = tanh(a + r b);  h = (1 - z) n + z h
struct RecurrentStep {
  int64_t rows, hidden;
  // (rows, gates, hidden). Forward reads the sums a that are activated, and writes the activations;
  // a GRU's a comes from the inputs alone, as b is in `recurrent`. Backward writes the gradients of
  // a.
  void* gates;
  const void* activations;  // backward: what forward left in `gates`; not of RNN
  // GRU. Forward: b (rows, 3, hidden). Backward: out, the gradients of b.
  void* recurrent;
  // GRU (rows, hidden): the third of b, which backward needs.
  void* candidate;
  void* state;         // h: before the step in, after it out; backward: its gradient, out then in
  void* cell;          // LSTM: the same of c
  void* cells;         // LSTM: the step's c
  const void* before;  // backward: GRU the h, LSTM the c before the step; RNN the h after it
  void* output;        // the step's h, also to be kept; backward: its gradient, or null
};

enum class Recurrent : int { Tanh, Relu, Lstm, Gru };
constexpr int kRecurrents = 4;

// c (rows, n) = or += a (rows, k) @ weight (+ bias), a and c contiguous.
struct RecurrentProduct {
  int64_t rows;
  const void* a;
  void* c;
};

// What follows the phase before: products, then a step; of either there may be none (no rows).
struct RecurrentPhase {
  RecurrentProduct products[2];
  RecurrentStep step;
};

struct RecurrentSequence {
  const RecurrentPhase* phases;
  int64_t count;
  // (k, n = groups * hidden), or null: the products have been made.
  const void* weight;
  int64_t k, groups, hidden, weight_row, weight_col;
  bool accumulate;
  const void* bias;  // (n) contiguous, or null
};

using RecurrentKernel = void (*)(const RecurrentSequence&);

struct RecurrentTable {
  // Of float32; of float64; of float32 in sequences that have weights, for products of a and weight
  // rounded to bfloat16, if there are such.
  static constexpr int kColumns = 3;
  RecurrentKernel forward[kRecurrents][kColumns], backward[kRecurrents][kColumns];
};

}  // namespace tt
