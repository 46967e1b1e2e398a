// Where the pointers are in what kernels take: to elements of arrays, which lie elsewhere in every
// run of a program, and to tables of the host, which a recorded launch must keep for itself.
//
// One visit() per struct of core/tables; a kernel's argument without one does not compile.
#pragma once
#include <type_traits>

#include "core/iter.h"
#include "core/lines.h"
#include "core/reduce_args.h"
#include "core/tables/attention.h"
#include "core/tables/batch_norm.h"
#include "core/tables/conv.h"
#include "core/tables/cross_entropy.h"
#include "core/tables/ctc.h"
#include "core/tables/embedding.h"
#include "core/tables/fold.h"
#include "core/tables/gather.h"
#include "core/tables/histogram.h"
#include "core/tables/join.h"
#include "core/tables/layer_norm.h"
#include "core/tables/losses.h"
#include "core/tables/masks.h"
#include "core/tables/matmul.h"
#include "core/tables/optim.h"
#include "core/tables/pool.h"
#include "core/tables/recurrent.h"
#include "core/tables/resample.h"
#include "core/tables/scan.h"
#include "core/tables/search.h"
#include "core/tables/softmax.h"
#include "core/tables/unique.h"

namespace tt {

class Generator;

// What a kernel does behind a pointer. What it writes it does not read through the same pointer.
enum class Access { kReads, kWrites, kEither };

class PointerVisitor {
 public:
  // A pointer to elements, or null.
  template <class T>
  void data(T*& pointer, Access access = std::is_const_v<T> ? Access::kReads : Access::kEither) {
    if (pointer)
      elements(reinterpret_cast<char**>(const_cast<std::remove_const_t<T>**>(&pointer)), access);
  }
  template <class... T>
  void reads(T*&... pointers) {
    (data(pointers, Access::kReads), ...);
  }
  template <class... T>
  void writes(T*&... pointers) {
    (data(pointers, Access::kWrites), ...);
  }
  // `count` values of the host, or null: afterwards those of a copy.
  template <class T>
  void host(const T*& values, int64_t count) {
    if (values) values = static_cast<const T*>(copy(values, count * int64_t{sizeof(T)}));
  }
  void host(const void*& values, int64_t bytes) {
    if (values) values = copy(values, bytes);
  }
  // The same of structs, whose own pointers are visited in the copy.
  template <class T>
  void structs(const T*& values, int64_t count) {
    host(values, count);
    for (int64_t i = 0; values && i < count; ++i) visit(*this, const_cast<T&>(values[i]));
  }
  // Arguments that hold what no recording can keep.
  virtual void refuse(const char* why) = 0;
  // A kernel draws from the generator.
  virtual void draw(const Generator& generator) = 0;
  // Where a number that is followed has been written as an element, and how it was rounded before.
  virtual void number(void* /*element*/, DType, int /*number*/, DType /*rounded*/) {}

 protected:
  ~PointerVisitor() = default;
  virtual void elements(char** pointer, Access access) = 0;
  virtual const void* copy(const void* values, int64_t bytes) = 0;
};

template <class T>
std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>> visit(PointerVisitor&, T&) {}
template <class T>
void visit(PointerVisitor& v, T*& pointer) {
  v.data(pointer);
}
inline void visit(PointerVisitor&, const Dims&) {}

// An optimizer's steps are not recorded: their numbers change from one to the next.
inline void visit(PointerVisitor& v, const Chunk*&) {
  v.refuse("writes a list of tensors at once");
}
#define TT_NO_POINTERS(Args) \
  inline void visit(PointerVisitor&, Args&) {}
TT_NO_POINTERS(SgdArgs)
TT_NO_POINTERS(AdamArgs)
TT_NO_POINTERS(AdamaxArgs)
TT_NO_POINTERS(RmspropArgs)
TT_NO_POINTERS(AdagradArgs)
TT_NO_POINTERS(AdadeltaArgs)
TT_NO_POINTERS(RpropArgs)
TT_NO_POINTERS(AsgdArgs)
TT_NO_POINTERS(ScaleArgs)
TT_NO_POINTERS(ClampArgs)
TT_NO_POINTERS(LerpArgs)
#undef TT_NO_POINTERS
inline void visit(PointerVisitor& v, NormBlock& x) { v.data(x.data); }
inline void visit(PointerVisitor& v, NormsArgs& x) {
  v.host(x.ends, x.count);
  v.structs(x.blocks, x.count > 0 ? x.ends[x.count - 1] : 0);
  v.data(x.out);
}

// An Iter holds its numbers itself.
inline bool is_within(const Iter& x, const char* data) {
  const char* const first = reinterpret_cast<const char*>(&x);
  return data >= first && data < first + sizeof x;
}
// Null of an operand that is an array.
inline const NumberOperand* number_of(const Iter& x, int operand) {
  for (const NumberOperand& each : x.numbers)
    if (each.bytes == x.operands[operand].data) return &each;
  return nullptr;
}
inline void visit(PointerVisitor& v, Iter& x) {
  for (int i = 0; i < x.count; ++i)
    if (!is_within(x, x.operands[i].data))
      v.data(x.operands[i].data, i == 0 ? Access::kWrites : Access::kReads);
    else if (const NumberOperand* const it = number_of(x, i); it && it->number != Scalar::kNone)
      v.number(x.operands[i].data, x.operands[i].dtype, it->number, it->rounded);
}
inline void visit(PointerVisitor& v, Lines& x) {
  for (int i = 0; i < x.streams; ++i)
    v.data(x.stream[i].data, i >= x.streams - x.outputs ? Access::kWrites : Access::kReads);
}
inline void visit(PointerVisitor& v, AttentionArgs& x) {
  const Access of_out = x.grad.data ? Access::kReads : Access::kWrites;
  v.reads(x.q.data, x.k.data, x.v.data, x.mask.data, x.grad.data);
  v.data(x.out.data, of_out), v.data(x.log_sums, of_out);
  v.data(x.q_grad.data), v.data(x.k_grad.data), v.data(x.v_grad.data);
}
inline void visit(PointerVisitor& v, BatchNormArgs& x) {
  const Access of_sets = x.fixed || x.grad ? Access::kReads : Access::kWrites;
  v.reads(x.x, x.grad, x.weight, x.bias);
  v.writes(x.out, x.variance, x.weight_grad, x.bias_grad);
  v.data(x.mean, of_sets), v.data(x.rstd, of_sets), v.data(x.rest, of_sets);
}
inline void visit(PointerVisitor& v, RunningArgs& x) {
  v.data(x.running_mean.data), v.data(x.running_var.data), v.data(x.mean), v.data(x.rstd);
  v.data(x.variance);
}
inline void visit(PointerVisitor& v, ConvArgs& x) {
  v.data(x.x), v.data(x.w), v.data(x.y), v.data(x.bias);
}
inline void visit(PointerVisitor& v, ConvPart& x) { v.host(x.taps, x.tap_count); }
inline void visit(PointerVisitor& v, ConvSum& x) {
  v.data(x.source), v.data(x.weight), v.data(x.bias), v.data(x.result);
  v.structs(x.parts, x.part_count);
}
inline void visit(PointerVisitor& v, CrossEntropyArgs& x) {
  visit(v, x.lines);
  v.data(x.classes), v.data(x.weight), v.data(x.stats), v.data(x.loss), v.data(x.grad);
  v.data(x.divisor);
}
inline void visit(PointerVisitor& v, LabelArgs& x) { v.data(x.labels); }
inline void visit(PointerVisitor& v, AverageArgs& x) {
  v.data(x.by.classes), v.data(x.by.weight), v.data(x.losses), v.data(x.divisor), v.data(x.out);
}
inline void visit(PointerVisitor& v, CtcArgs& x) {
  v.data(x.x), v.data(x.targets), v.data(x.starts), v.data(x.input_lengths);
  v.data(x.target_lengths), v.data(x.alpha), v.data(x.loss), v.data(x.grad), v.data(x.out);
}
inline void visit(PointerVisitor& v, BagArgs& x) {
  v.data(x.index), v.data(x.starts), v.data(x.weights), v.data(x.largest), v.data(x.table);
  v.data(x.out);
}
inline void visit(PointerVisitor& v, BagStartArgs& x) {
  v.data(x.offsets), v.data(x.index), v.data(x.starts);
}
inline void visit(PointerVisitor& v, FoldArgs& x) { v.data(x.image), v.data(x.columns); }
inline void visit(PointerVisitor& v, AlongArgs& x) {
  v.data(x.x), v.data(x.other), v.data(x.index);
}
inline void visit(PointerVisitor& v, HistogramArgs& x) {
  v.data(x.x), v.data(x.weights), v.data(x.edges), v.data(x.out);
}
inline void visit(PointerVisitor& v, JoinArgs& x) {
  for (int i = 0; i < x.count; ++i) v.data(x.parts[i]);
  v.data(x.out);
}
inline void visit(PointerVisitor& v, LayerNormArgs& x) {
  visit(v, x.lines);
  v.reads(x.weight, x.bias);
  v.data(x.stats, x.lines.streams == 2 ? Access::kWrites : Access::kReads);  // forward: x, y
  v.data(x.weight_grad), v.data(x.bias_grad), v.data(x.sums);
}
inline void visit(PointerVisitor& v, TotalArgs& x) {
  for (int i = 0; i < x.count; ++i) {
    v.data(x.inputs[i].data);
    if (Scalar& it = x.inputs[i].number; it.number != Scalar::kNone)
      v.number(&it.d, DType::Float64, it.number, it.rounded);
  }
  v.data(x.out);
}
inline void visit(PointerVisitor& v, MarginArgs& x) {
  v.data(x.x), v.data(x.targets), v.data(x.grad), v.data(x.out);
}
inline void visit(PointerVisitor& v, MaskArgs& x) { v.data(x.mask), v.data(x.starts); }
inline void visit(PointerVisitor& v, MatmulArgs& x) {
  v.data(x.a), v.data(x.b), v.data(x.c), v.data(x.bias);
  for (const int64_t** each : {&x.batch_shape, &x.a_batch, &x.b_batch, &x.c_batch})
    v.host(*each, x.batch_ndim);
}
inline void visit(PointerVisitor& v, MaxPoolArgs& x) {
  const Access of_y = x.to_x ? Access::kReads : Access::kWrites;
  v.data(x.x, x.to_x ? Access::kWrites : Access::kReads), v.data(x.y, of_y), v.data(x.where);
  int64_t taps = 1;
  for (WindowAxis& axis : x.axis) {
    v.host(axis.start, axis.out), v.host(axis.lo, axis.out), v.host(axis.hi, axis.out);
    taps *= axis.taps;
  }
  v.host(x.tap, taps);
}
inline void visit(PointerVisitor& v, RecurrentPhase& x) {
  for (RecurrentProduct& each : x.products)
    if (each.rows > 0) v.data(each.a), v.data(each.c);
  RecurrentStep& step = x.step;
  if (step.rows == 0) return;
  v.data(step.gates), v.data(step.activations), v.data(step.recurrent), v.data(step.candidate);
  v.data(step.state), v.data(step.cell), v.data(step.cells), v.data(step.before);
  v.data(step.output);
}
inline void visit(PointerVisitor& v, RecurrentSequence& x) {
  v.structs(x.phases, x.count);
  v.data(x.weight), v.data(x.bias);
}
inline void visit(PointerVisitor& v, ReduceArgs& x) { v.data(x.x), v.data(x.out); }
inline void visit(PointerVisitor& v, ArgArgs& x) {
  visit(v, x.lines);
  v.data(x.values), v.data(x.positions);
}
inline void visit(PointerVisitor& v, LogSumExpArgs& x) { visit(v, x.lines), v.data(x.out); }
inline void visit(PointerVisitor& v, VarianceArgs& x) { visit(v, x.lines), v.data(x.out); }
inline void visit(PointerVisitor& v, ResampleArgs& x) {
  v.data(x.x), v.data(x.y);
  for (LinearAxis& axis : x.axis) {
    v.host(axis.begin, axis.out + 1);
    const int64_t count = axis.begin[axis.out];
    v.host(axis.source, count);
    v.host(axis.weight, count * x.item),
        v.host(axis.divisor, (x.transposed ? axis.in : axis.out) * x.item);
  }
}
inline void visit(PointerVisitor& v, ScanArgs& x) {
  v.data(x.x), v.data(x.out), v.data(x.indices), v.data(x.factors);
}
inline void visit(PointerVisitor& v, SearchArgs& x) {
  v.data(x.boundaries), v.data(x.values), v.data(x.order), v.data(x.out);
}
inline void visit(PointerVisitor& v, IsinArgs& x) { v.data(x.x), v.data(x.others), v.data(x.out); }
inline void visit(PointerVisitor& v, SoftmaxArgs& x) { visit(v, x.lines); }
inline void visit(PointerVisitor& v, UniqueArgs& x) {
  v.data(x.x), v.data(x.inverse), v.data(x.first), v.data(x.sizes);
}

}  // namespace tt
