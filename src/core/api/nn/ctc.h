// Connectionist temporal classification.
#pragma once
#include <vector>

#include "core/ndarray.h"

namespace tt {

// Connectionist temporal classification of log-probabilities (T, N, C): (loss (N), alpha, which
// backward needs). Targets (N, S), or all behind each other; of each of the N the lengths.
std::vector<NDArray> ctc_loss(const NDArray& log_probs, const NDArray& targets,
                              const std::vector<int64_t>& input_lengths,
                              const std::vector<int64_t>& target_lengths, int64_t blank);
// The gradient takes the log-probabilities for outputs of log_softmax, as PyTorch does: its sum
// over classes is 0.
NDArray ctc_loss_backward(const NDArray& grad, const NDArray& log_probs, const NDArray& targets,
                          const std::vector<int64_t>& input_lengths,
                          const std::vector<int64_t>& target_lengths, int64_t blank,
                          const NDArray& loss, const NDArray& alpha, bool zero_infinity);

}  // namespace tt
