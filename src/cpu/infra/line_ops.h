// Runs an op that is written over the views of line_views.h, with Op::Args and Op::apply(view,
// args, position), for all lines. Built once per instruction set.
#pragma once
#include "cpu/infra/line_views.h"
#include "cpu/infra/lines.h"

namespace tt::cpu {
namespace {

constexpr int64_t kGrainOfExp = 8192;  // elements whose exp is worth a second thread

constexpr int kMany = 512 / kVectorBytes;

template <class T, class Op>
void rows(const void* args, char* const* data, const int64_t* steps, int64_t position,
          int64_t count) {
  const auto& a = *static_cast<const typename Op::Args*>(args);
  Op::apply(Rows<T>{data, steps, a.lines.size, count}, a, position);
}
// The output goes through scratch memory: where lines are a multiple of 4096 bytes apart, loads
// that follow a store would have to wait for it, because they look like loads of the same address.
template <class T, class Op, int kVectors>
void columns(const void* args, char* const* data, const int64_t* steps, int64_t position,
             char* scratch) {
  const auto& a = *static_cast<const typename Op::Args*>(args);
  constexpr int64_t kBytes = kVectors * kVectorBytes;
  const Lines& lines = a.lines;
  char* seen[Lines::kMaxStreams];
  int64_t seen_steps[Lines::kMaxStreams];
  for (int s = 0; s < lines.streams; ++s) seen[s] = data[s], seen_steps[s] = steps[s];
  const int out = lines.streams - 1;
  if (lines.has_output) seen[out] = scratch, seen_steps[out] = kBytes;
  Op::apply(Columns<T, kVectors>{seen, seen_steps, lines.size}, a, position);
  if (!lines.has_output) return;
  char* to = data[out];
  for (int64_t i = 0; i < lines.size; ++i, to += steps[out], scratch += kBytes)
    __builtin_memcpy(to, scratch, kBytes);
}
template <class T, class Op>
void run(const typename Op::Args& args) {
  run_lines(args.lines,
            {rows<T, Op>,
             Rows<T>::kMost,
             {columns<T, Op, kMany>, columns<T, Op, 1>},
             {kMany * lanes<T>, lanes<T>}},
            &args, kGrainOfExp);
}

}  // namespace
}  // namespace tt::cpu
