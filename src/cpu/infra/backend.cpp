// Chooses the instruction set and puts the CPU's table together from that build and the baseline's.
#include "core/backend.h"

#include <cstdlib>
#include <cstring>

#include "core/tables/elementwise.h"
#include "core/tables/gather.h"
#include "core/tables/matmul.h"
#include "core/tables/reduce.h"
#include "cpu/attention/attention.h"
#include "cpu/conv/conv.h"
#include "cpu/gather/gather.h"
#include "cpu/histogram/histogram.h"
#include "cpu/infra/lines.h"
#include "cpu/infra/run.h"
#include "cpu/infra/tables.h"
#include "cpu/losses/losses.h"
#include "cpu/matmul/gemm.h"
#include "cpu/optim/optim.h"
#include "cpu/pool/pool.h"
#include "cpu/random/box_muller.h"
#include "cpu/random/random.h"
#include "cpu/recurrent/recurrent.h"
#include "cpu/scan/scan.h"
#include "cpu/sort/order.h"

namespace tt {

namespace cpu {
namespace {

struct Isa {
  const char* name;
  bool (*supported)();
  const ConversionTable* conversion;
  const ElementwiseTable* elementwise;
  const RangeTable* range;
  const ReduceTable* reduce;
  const GemmTable* gemm;
  const BoxMullerTable* box_muller;
  const OptimTable* optim;
  const ConvTable* conv;
  const NormTable* norm;
  const RecurrentTable* recurrent;
  const PoolTable* pool;
  const AttentionTable* attention;
};

#define TT_ISA(isa, is_supported)                                                            \
  Isa {                                                                                      \
    #isa, [] { return is_supported != 0; }, &isa::conversion_table, &isa::elementwise_table, \
        &isa::range_table, &isa::reduce_table, &isa::gemm_table, &isa::box_muller_table,     \
        &isa::optim_table, &isa::conv_table, &isa::norm_table, &isa::recurrent_table,        \
        &isa::pool_table, &isa::attention_table                                              \
  }
#if defined(__x86_64__)
const Isa kIsas[] = {TT_ISA(v4, __builtin_cpu_supports("x86-64-v4")),
                     TT_ISA(v3, __builtin_cpu_supports("x86-64-v3")),
                     TT_ISA(v2, __builtin_cpu_supports("x86-64-v2"))};
#else
const Isa kIsas[] = {TT_ISA(base, 1)};
#endif
#undef TT_ISA

// TINY_TORCH_ISA, or the best that this machine has.
const Isa& find_isa() {
  const char* wanted = std::getenv("TINY_TORCH_ISA");
  for (const Isa& isa : kIsas) {
    if (wanted && *wanted && std::strcmp(wanted, isa.name) != 0) continue;
    if (isa.supported()) return isa;
    if (wanted && *wanted)
      throw RuntimeError("TINY_TORCH_ISA=", wanted, " is not supported by this machine");
  }
  throw RuntimeError(wanted ? format("TINY_TORCH_ISA=", wanted, " is not one of v2, v3, v4")
                            : std::string("this machine lacks the x86-64-v2 instructions"));
}

const Isa& chosen() {
  static const Isa& isa = find_isa();
  return isa;
}

// A copy that belongs to the process, so that core/override.h can replace entries.
template <class Table>
Table* own(const Table& table) {
  static Table copy = table;
  return &copy;
}

// Every entry of `best`, or of `common` where it has none.
template <class Table>
Table merged(const Table& best, const Table& common) {
  using Entry = void (*)();
  static_assert(sizeof(Table) % sizeof(Entry) == 0 && alignof(Table) == alignof(Entry));
  Table table = best;
  auto* entries = reinterpret_cast<Entry*>(&table);
  auto* others = reinterpret_cast<const Entry*>(&common);
  for (size_t i = 0; i < sizeof(Table) / sizeof(Entry); ++i)
    if (!entries[i]) entries[i] = others[i];
  return table;
}

// Matrix products of integers are the baseline's; halves are computed in float32 (core/api/matmul).
void fill_matmul(MatmulKernel (&kernels)[kDTypes], MatmulKernel f32, MatmulKernel f64) {
  auto set = [&](DType dtype, MatmulKernel kernel) { kernels[static_cast<int>(dtype)] = kernel; };
  set(DType::UInt8, gemm_uint8);
  set(DType::Int8, gemm_int8);
  set(DType::Int16, gemm_int16);
  set(DType::Int32, gemm_int32);
  set(DType::Int64, gemm_int64);
  set(DType::Float32, f32);
  set(DType::Float64, f64);
}

}  // namespace

Loop conversion(DType from, DType to) {
  return chosen().conversion->loops[static_cast<int>(from)][static_cast<int>(to)];
}
const BoxMullerTable& box_muller() { return *chosen().box_muller; }

}  // namespace cpu

const Backend& cpu_backend() {
  static Backend backend = [] {
    const cpu::Isa& isa = cpu::chosen();
    static MatmulTable matmul;
    cpu::fill_matmul(matmul.product, isa.gemm->f32, isa.gemm->f64);
    cpu::fill_matmul(matmul.naive, isa.gemm->naive_f32, isa.gemm->naive_f64);
    Backend table;
    table.name = "cpu";
    table.instruction_set = isa.name;
    table.copy = cpu::copy;
    table.elementwise = cpu::own(cpu::merged(*isa.elementwise, cpu::elementwise_common_table));
    table.index = &cpu::index_table;
    table.matmul = &matmul;
    table.reduce = cpu::own(cpu::merged(*isa.reduce, cpu::reduce_int_table));
    table.attention = cpu::own(cpu::merged(*isa.attention, cpu::embedding_table));
    table.conv = cpu::own(cpu::merged(*isa.conv, cpu::conv_naive_table));
    table.histogram = &cpu::histogram_table;
    table.loss = &cpu::loss_table;
    table.norm = cpu::own(*isa.norm);
    table.optim = isa.optim;
    table.order = cpu::own(cpu::order_table);
    table.pool = isa.pool;
    table.random = &cpu::random_table;
    table.range = isa.range;
    table.recurrent = isa.recurrent;
    table.scan = &cpu::scan_table;
    return table;
  }();
  return backend;
}

}  // namespace tt
