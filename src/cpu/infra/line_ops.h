// Runs an op that is written over the views of line_views.h, with Op::Args and Op::apply(view,
// args, position), for all lines. Built once per instruction set.
#pragma once
#include "cpu/infra/line_views.h"
#include "cpu/infra/lines.h"

namespace tt::cpu {
namespace {

constexpr int64_t kGrainOfExp = 8192;  // elements whose exp is worth a second thread

constexpr int kMany = 512 / kVectorBytes;

template <class S, class Op>
void rows(const void* args, char* const* data, const int64_t* steps, int64_t position,
          int64_t count) {
  const auto& a = *static_cast<const typename Op::Args*>(args);
  Op::apply(Rows<S>{data, steps, a.lines.size, count}, a, position);
}
template <class T, class Op, int kVectors>
void columns(const void* args, char* const* data, const int64_t* steps, int64_t position) {
  const auto& a = *static_cast<const typename Op::Args*>(args);
  Op::apply(Columns<T, kVectors>{data, steps, a.lines.size}, a, position);
}
// kAsTheyLie: halves need no scratch memory, because Op reads nothing that it has stored.
template <class T, class Op, bool kAsTheyLie = false>
void run(const typename Op::Args& args) {
  LineKernels kernels = {rows<T, Op>,
                         Rows<T>::kMost,
                         {columns<T, Op, kMany>, columns<T, Op, 1>},
                         {kMany * lanes<T>, lanes<T>}};
  if constexpr (kAsTheyLie && std::is_same_v<T, float>)
    kernels.halves[0] = rows<Half, Op>, kernels.halves[1] = rows<BFloat16, Op>;
  run_lines(args.lines, kernels, &args, kGrainOfExp);
}

}  // namespace
}  // namespace tt::cpu
