// Chooses the instruction set and puts the CPU's table together from that build and the baseline's.
#include "core/devices/backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/devices/override.h"
#include "core/devices/tables.h"
#include "cpu/cast/convert.h"
#include "cpu/random/box_muller.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tt {

namespace cpu {

#define TT_DECLARE(family, Table) extern const Table family##_table;
TT_FAMILIES_ONCE(TT_DECLARE)
// Parts of families that are built once although the rest is not.
extern const ConvTable conv_naive_table;
extern const ElementwiseTable elementwise_common_table;
extern const MatmulTable matmul_integers_table;
extern const ReduceTable reduce_integers_table;

namespace {

// A family's table as the backend has it. It is the process's own, so that core/devices/override.h
// can replace entries.
template <class Table>
Table own;

// Entries that `table` has not from `other`.
template <class Result, class... Args>
void complete(Result (*&entry)(Args...), Result (*other)(Args...)) {
  if (!entry) entry = other;
}
template <class Entry, size_t count>
void complete(Entry (&entries)[count], const Entry (&others)[count]) {
  for (size_t i = 0; i < count; ++i) complete(entries[i], others[i]);
}

void complete(ConvTable& table, const ConvTable& other) {
  complete(table.naive, other.naive);
  complete(table.weight, other.weight);
  complete(table.depthwise_weight, other.depthwise_weight);
  complete(table.is_finite, other.is_finite);
}
void complete(ElementwiseTable& table, const ElementwiseTable& other) {
  complete(table.unary, other.unary);
  complete(table.binary, other.binary);
  complete(table.ternary, other.ternary);
  complete(table.quaternary, other.quaternary);
  complete(table.where, other.where);
  complete(table.nan_to_num, other.nan_to_num);
}
void complete(MatmulTable& table, const MatmulTable& other) {
  complete(table.product, other.product);
  complete(table.naive, other.naive);
}
void complete(ReduceTable& table, const ReduceTable& other) {
  complete(table.kernels, other.kernels);
  complete(table.argmax, other.argmax);
  complete(table.argmin, other.argmin);
  complete(table.logsumexp, other.logsumexp);
  complete(table.variance, other.variance);
}

// A table within a table.
void own_inner(OptimTable& table) { table.foreach = &(own<ForeachTable> = *table.foreach); }

struct Isa {
  const char* name;
  bool (*supported)();
  void (*fill)(Backend&);
  const ConversionTable* conversion;
  const BoxMullerTable* box_muller;
  bool (*pays)() = [] { return true; };  // whether it is faster than the next one
};

#if defined(__x86_64__)
bool has_tiles() {
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24;
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kBf16) && (d & kTiles);
}
// Linux saves their 8 KiB for the threads of a process that has asked for it.
bool may_use_tiles() {
  constexpr long kAskForState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM of Linux 5.16
  static const bool granted = has_tiles() && syscall(SYS_arch_prctl, kAskForState, kTileData) == 0;
  return granted;
}
#else
bool has_tiles() { return false; }
bool may_use_tiles() { return false; }
#endif

}  // namespace

#define TT_OWN(family, Table) backend.family = &(own<Table> = family##_table);
#define TT_ISA(isa, is_supported)                                                      \
  namespace isa {                                                                      \
  TT_FAMILIES_PER_ISA(TT_DECLARE)                                                      \
  extern const ConvTable conv_weight_table;                                            \
  extern const ElementwiseTable elementwise_unary_table;                               \
  extern const MatmulTable matmul_half_table;                                          \
  extern const ReduceTable reduce_extremes_table, reduce_logsumexp_table;              \
  extern const ReduceTable reduce_variance_table;                                      \
  extern const ConversionTable conversion_table;                                       \
  extern const BoxMullerTable box_muller_table;                                        \
  static const Isa kIsa = {#isa, [] { return is_supported != 0; },                     \
                           [](Backend& backend) {                                      \
                             TT_FAMILIES_PER_ISA(TT_OWN)                               \
                             complete(own<ConvTable>, conv_weight_table);              \
                             complete(own<ElementwiseTable>, elementwise_unary_table); \
                             complete(own<MatmulTable>, matmul_half_table);            \
                             complete(own<ReduceTable>, reduce_extremes_table);        \
                             complete(own<ReduceTable>, reduce_logsumexp_table);       \
                             complete(own<ReduceTable>, reduce_variance_table);        \
                             own_inner(own<OptimTable>);                               \
                           },                                                          \
                           &conversion_table, &box_muller_table};                      \
  }
#if defined(__x86_64__)
TT_ISA(v4, __builtin_cpu_supports("x86-64-v4"))
TT_ISA(v3, __builtin_cpu_supports("x86-64-v3"))
TT_ISA(v2, __builtin_cpu_supports("x86-64-v2"))

// Sets that add products of bfloat16 to another one.
static void fill_products(Backend& backend, const Isa& rest, MatmulTable products,
                          const AttentionTable& attention) {
  rest.fill(backend);
  complete(products, own<MatmulTable>);
  own<MatmulTable> = products;
  complete(own<AttentionTable>.forward, attention.forward);
  complete(own<AttentionTable>.backward, attention.backward);
}

// AMD's processors multiply pairs as fast as floats, Intel's no faster than one by one.
namespace v4bf16 {
extern const AttentionTable attention_halves;
extern const ConversionTable conversion_table;
extern const ConvPairs conv_pairs;
extern const ElementwiseTable elementwise_table, elementwise_unary_table;
extern const MatmulTable matmul_half_table;
static const Isa kIsa = {
    "v4bf16",
    [] { return v4::kIsa.supported() && __builtin_cpu_supports("avx512bf16") != 0; },
    [](Backend& backend) {
      fill_products(backend, v4::kIsa, matmul_half_table, attention_halves);
      own<ConvTable>.pairs = conv_pairs;
      own<ElementwiseTable> = elementwise_table;
      complete(own<ElementwiseTable>, elementwise_unary_table);
    },
    &conversion_table,
    v4::kIsa.box_muller,
    [] { return __builtin_cpu_is("amd") != 0; }};
}  // namespace v4bf16

static void fill_tiles(Backend& backend, const Isa& rest, const MatmulTable& products,
                       const AttentionTable& attention, const ConvTiles& conv,
                       const RecurrentTable& recurrent) {
  fill_products(backend, rest, products, attention);
  own<ConvTable>.tiles = conv;
  complete(own<RecurrentTable>.forward, recurrent.forward);
  complete(own<RecurrentTable>.backward, recurrent.backward);
}

// By tiles, which Linux grants to a process that asks.
namespace v4amx {
extern const AttentionTable attention_halves;
extern const ConvTiles conv_tiles;
extern const MatmulTable matmul_half_table;
extern const RecurrentTable recurrent_tiles;
static const Isa kIsa = {"v4amx", [] { return v4::kIsa.supported() && may_use_tiles(); },
                         [](Backend& backend) {
                           fill_tiles(backend, v4::kIsa, matmul_half_table, attention_halves,
                                      conv_tiles, recurrent_tiles);
                         },
                         v4::kIsa.conversion, v4::kIsa.box_muller};
}  // namespace v4amx

// The same kernels on tiles in C++, for tests: never chosen by itself.
namespace v4amx_emulated {
extern const AttentionTable attention_halves;
extern const ConvTiles conv_tiles;
extern const MatmulTable matmul_half_table;
extern const RecurrentTable recurrent_tiles;
static const Isa& rest() { return v3::kIsa.supported() ? v3::kIsa : v2::kIsa; }
static const Isa kIsa = {"v4amx-emulated",
                         v2::kIsa.supported,
                         [](Backend& backend) {
                           fill_tiles(backend, rest(), matmul_half_table, attention_halves,
                                      conv_tiles, recurrent_tiles);
                         },
                         v2::kIsa.conversion,
                         v2::kIsa.box_muller,
                         [] { return false; }};
}  // namespace v4amx_emulated
#else
TT_ISA(base, 1)
#endif
#undef TT_ISA

namespace {

#if defined(__x86_64__)
const Isa* const kIsas[] = {&v4amx::kIsa, &v4bf16::kIsa, &v4::kIsa,
                            &v3::kIsa,    &v2::kIsa,     &v4amx_emulated::kIsa};
#else
const Isa* const kIsas[] = {&base::kIsa};
#endif

// TINY_TORCH_ISA, or the best that this machine has.
const Isa& find_isa() {
  const char* wanted = std::getenv("TINY_TORCH_ISA");
  for (const Isa* isa : kIsas) {
    if (wanted && *wanted ? std::strcmp(wanted, isa->name) != 0 : !isa->pays()) continue;
    if (isa->supported()) return *isa;
    if (wanted && *wanted)
      throw RuntimeError("TINY_TORCH_ISA=", wanted, " is not supported by this machine");
  }
  throw RuntimeError(wanted ? format("TINY_TORCH_ISA=", wanted,
                                     " is not one of v2, v3, v4, v4bf16, v4amx, v4amx-emulated")
                            : std::string("this machine lacks the x86-64-v2 instructions"));
}

const Isa& chosen() {
  static const Isa& isa = find_isa();
  return isa;
}

}  // namespace

Loop conversion(DType from, DType to) {
  return chosen().conversion->loops[static_cast<int>(from)][static_cast<int>(to)];
}
const BoxMullerTable& box_muller() { return *chosen().box_muller; }

namespace {

// A table is nothing but kernels.
template <class Table>
bool holds(const Table& table, void (*kernel)()) {
  void (*entries[sizeof(Table) / sizeof kernel])();
  std::memcpy(entries, &table, sizeof(Table));
  return std::find(std::begin(entries), std::end(entries), kernel) != std::end(entries);
}

}  // namespace

}  // namespace cpu

bool refuses_tiles() { return cpu::has_tiles() && !cpu::may_use_tiles(); }

bool is_built_once(const std::string& family, void (*kernel)()) {
  using namespace cpu;
#define TT_IS(name, Table) \
  if (family == #name) return true;
  TT_FAMILIES_ONCE(TT_IS)
#undef TT_IS
  return holds(conv_naive_table, kernel) || holds(elementwise_common_table, kernel) ||
         holds(matmul_integers_table, kernel) || holds(reduce_integers_table, kernel);
}

const Backend& cpu_backend() {
  static const Backend all = [] {
    using namespace cpu;
    Backend backend;
    backend.name = "cpu";
    backend.instruction_set = chosen().name;
    chosen().fill(backend);
    TT_FAMILIES_ONCE(TT_OWN)
    complete(own<ConvTable>, conv_naive_table);
    complete(own<ElementwiseTable>, elementwise_common_table);
    complete(own<MatmulTable>, matmul_integers_table);
    complete(own<ReduceTable>, reduce_integers_table);
    return backend;
  }();
  return all;
}

}  // namespace tt
