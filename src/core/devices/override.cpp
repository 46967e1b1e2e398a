#include "core/devices/override.h"

#include "core/devices/backend.h"
#include "core/devices/tables.h"
#include "core/error.h"

namespace tt {

namespace {

using Entry = void (*)();

class Slots {
 public:
  std::vector<KernelSlot> found;

  template <class Kernel>
  void add(const char* family, const char* name, bool replaceable, const Kernel& entry) {
    found.push_back({family, name, writable(&entry), 1, {}, replaceable});
  }
  template <class Kernel, size_t count>
  void add(const char* family, const char* name, bool replaceable, const Kernel (&entries)[count]) {
    if constexpr (std::is_array_v<Kernel>) {
      for (const Kernel& each : entries) add(family, name, false, each);
    } else {
      std::vector<DType> dtypes;
      for (int i = 0; count == kDTypes && i < kDTypes; ++i) dtypes.push_back(static_cast<DType>(i));
      if (count == 2) dtypes = {DType::Float32, DType::Float64};
      found.push_back({family, name, writable(entries), int{count}, dtypes, replaceable});
    }
  }
  template <class Args>
  void add(const char* family, const char* name, bool replaceable, const Steps<Args>& steps) {
    static_assert(sizeof steps == 2 * sizeof(Entry));
    const std::vector<DType> dtypes = {DType::Float32, DType::Float64};
    found.push_back({family, name, writable(&steps.f32), 2, dtypes, replaceable});
  }

 private:
  // The tables are the process's own (cpu/infra/backend.cpp); only who asks for slots may write
  // them.
  template <class Kernel>
  static Entry* writable(const Kernel* entries) {
    static_assert(std::is_function_v<std::remove_pointer_t<Kernel>>);
    return reinterpret_cast<Entry*>(const_cast<Kernel*>(entries));
  }
};

// The entries that only get a name: none could be replaced without the others of its family, or by
// its name alone.
void add_others(Slots& slots, const Backend& backend) {
#define ADD(family, name) slots.add(#family, #name, false, backend.family->name);
  // clang-format off
  ADD(arrange, copy_reversed) ADD(arrange, triangle) ADD(arrange, total_count) ADD(arrange, repeat)
  ADD(attention, forward) ADD(attention, backward)
  ADD(batch_norm, running_update) ADD(batch_norm, running_read)
  ADD(conv, naive) ADD(conv, sum) ADD(conv, weight) ADD(conv, depthwise) ADD(conv, depthwise_weight)
  ADD(conv, is_finite) ADD(conv, pairs.sum) ADD(conv, pairs.weight) ADD(conv, pairs.interleave)
  ADD(conv, tiles.sum) ADD(conv, tiles.weight)
  ADD(creation, of_floats) ADD(creation, of_ints) ADD(creation, linspace) ADD(creation, logspace)
  ADD(cross_entropy, nll) ADD(cross_entropy, nll_backward) ADD(cross_entropy, labels)
  ADD(cross_entropy, average)
  ADD(ctc, ctc_labels) ADD(ctc, ctc) ADD(ctc, ctc_backward)
  ADD(elementwise, chain)
  ADD(embedding, bag_forward) ADD(embedding, bag_backward) ADD(embedding, bag_starts)
  ADD(fold, unfold) ADD(fold, fold)
  ADD(gather, pick) ADD(gather, place) ADD(gather, inside) ADD(gather, offsets)
  ADD(histogram, count) ADD(histogram, histogram)
  ADD(join, join)
  ADD(losses, total) ADD(losses, multilabel_margin)
  ADD(masks, mask_count) ADD(masks, mask_positions) ADD(masks, mask_pick) ADD(masks, mask_place)
  ADD(matmul, naive)
  ADD(optim, sgd) ADD(optim, nadam) ADD(optim, radam) ADD(optim, adamax)
  ADD(optim, rmsprop) ADD(optim, adagrad) ADD(optim, adadelta) ADD(optim, rprop) ADD(optim, asgd)
  ADD(optim, foreach->scale) ADD(optim, foreach->clamp) ADD(optim, foreach->lerp)
  ADD(optim, foreach->norms)
  ADD(pool, max) ADD(pool, max_scatter) ADD(pool, max_gather)
  ADD(random, uniform) ADD(random, normal) ADD(random, log_normal) ADD(random, exponential)
  ADD(random, cauchy) ADD(random, geometric) ADD(random, random) ADD(random, random_range)
  ADD(random, bernoulli) ADD(random, bernoulli_each) ADD(random, randperm) ADD(random, multinomial)
  ADD(random, poisson) ADD(random, binomial) ADD(random, standard_gamma) ADD(random, dirichlet)
  ADD(random, standard_gamma_grad) ADD(random, dirichlet_grad) ADD(random, gammainc)
  ADD(random, gamma_density)
  ADD(recurrent, forward) ADD(recurrent, backward)
  ADD(resample, resample)
  ADD(scan, sum) ADD(scan, product) ADD(scan, logsumexp) ADD(scan, maximum) ADD(scan, minimum)
  ADD(scan, linear)
  ADD(unique, unique) ADD(unique, unique_rows)
  ADD(vectors, cross)
  // clang-format on
#undef ADD
}

std::string why_refused;

// Stands for kernels of any type: it reads none of their arguments.
[[noreturn]] void refuse() { throw RuntimeError(why_refused); }

}  // namespace

void refuse_kernels(const std::function<bool(const KernelSlot&)>& refused, const std::string& why) {
  why_refused = why;
  for (const KernelSlot& slot : kernel_slots(cpu_backend())) {
    if (!refused(slot)) continue;
    for (int i = 0; i < slot.count; ++i)
      if (slot.entries[i]) slot.entries[i] = refuse;
  }
}

std::vector<KernelSlot> kernel_slots(const Backend& backend) {
  Slots slots;
#define SLOTS(family, table, Kind, name) \
  slots.add(family, #name, true, backend.table[static_cast<int>(Kind::name)]);
#define UNARY(name, ...) SLOTS("elementwise", elementwise->unary, Unary, name)
#define TEST UNARY
#define BINARY(name, ...) SLOTS("elementwise", elementwise->binary, Binary, name)
#define COMPARE BINARY
#define TERNARY(name, ...) SLOTS("elementwise", elementwise->ternary, Ternary, name)
#define QUATERNARY(name, ...) SLOTS("elementwise", elementwise->quaternary, Quaternary, name)
#define REDUCE(name, ...) SLOTS("reduce", reduce->kernels, Reduce, name)
#include "core/ops.def"
#define SLOT(family, name) slots.add(#family, #name, true, backend.family->name);
  SLOT(elementwise, where)
  SLOT(elementwise, nan_to_num)
  SLOT(reduce, argmax)
  SLOT(reduce, argmin)
  slots.add("matmul", "matmul", true, backend.matmul->product);
  SLOT(cast, copy)
  SLOT(softmax, softmax)
  SLOT(softmax, softmax_backward)
  SLOT(reduce, logsumexp)
  SLOT(reduce, variance)
  SLOT(cross_entropy, cross_entropy)
  SLOT(cross_entropy, cross_entropy_backward)
  SLOT(layer_norm, layer_norm)
  SLOT(layer_norm, layer_norm_backward)
  SLOT(optim, adam)
  SLOT(batch_norm, batch_norm)
  SLOT(batch_norm, batch_norm_backward)
  SLOT(sort, sort)
  SLOT(sort, topk)
  SLOT(sort, kthvalue)
  SLOT(sort, median)
  SLOT(sort, mode)
  SLOT(search, searchsorted)
  SLOT(search, isin)
#undef SLOT
#undef SLOTS
  add_others(slots, backend);
  return slots.found;
}

}  // namespace tt
