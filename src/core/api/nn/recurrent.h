// Layers of RNN, LSTM and GRU: all time steps of one direction in one call.
#pragma once
#include <vector>

#include "core/ndarray.h"
#include "core/tables/recurrent.h"

namespace tt {

// x (rows, inputs) holds the time steps one after another; step t has `sizes[t]` rows,
// those of the sequences that are not over, which never grow in number. `reverse` starts at the
// last step. h0 and (LSTM) c0 are (sizes[0], hidden); w_ih (gates hidden, inputs), w_hh (gates
// hidden, hidden); biases (gates hidden) or null. `kind` is a Recurrent.
// Answers [y (rows, hidden), h of each sequence's last step, c of it (LSTM), then what backward
// needs beside y: LSTM the gates' activations and the cells, GRU those and b's third].
std::vector<NDArray> recurrent_forward(int64_t kind, const NDArray& x,
                                       const std::vector<int64_t>& sizes, const NDArray& h0,
                                       const NDArray* c0, const NDArray& w_ih, const NDArray& w_hh,
                                       const NDArray* b_ih, const NDArray* b_hh, bool reverse);

// The gradients of h0, c0 (LSTM), and of x, w_ih, w_hh, of the two biases, which `needs` has in
// this order, from those of y and of the last h and c, which may be null. `active` are the gates,
// null for RNN, and `kept` the rest of forward's answer without its last h and c. With `overwrite`
// the gates' gradients are written over them.
std::vector<NDArray> recurrent_backward(int64_t kind, const NDArray& x,
                                        const std::vector<int64_t>& sizes, const NDArray& h0,
                                        const NDArray* c0, const NDArray& w_ih, const NDArray& w_hh,
                                        const std::vector<bool>& needs, bool reverse,
                                        const NDArray* active, bool overwrite,
                                        const std::vector<const NDArray*>& kept,
                                        const std::vector<const NDArray*>& grads);

}  // namespace tt
