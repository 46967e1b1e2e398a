// Chooses the instruction set and puts the CPU's table together from that build and the baseline's.
#include "core/backend.h"

#include <cstdlib>
#include <cstring>

#include "cpu/attention.h"
#include "cpu/box_muller.h"
#include "cpu/conv.h"
#include "cpu/gemm.h"
#include "cpu/histogram.h"
#include "cpu/index.h"
#include "cpu/losses.h"
#include "cpu/norm.h"
#include "cpu/optim.h"
#include "cpu/order.h"
#include "cpu/pool.h"
#include "cpu/random.h"
#include "cpu/recurrent.h"
#include "cpu/run.h"
#include "cpu/scan.h"
#include "cpu/tables.h"

namespace tt {

namespace cpu {
namespace {

struct Isa {
  const char* name;
  bool (*supported)();
  const ConversionTable* conversion;
  const ElementwiseTable* elementwise;
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

#if defined(__x86_64__)
const Isa kIsas[] = {
    {"v4", [] { return __builtin_cpu_supports("x86-64-v4") != 0; }, &v4::conversion_table,
     &v4::elementwise_table, &v4::reduce_table, &v4::gemm_table, &v4::box_muller_table,
     &v4::optim_table, &v4::conv_table, &v4::norm_table, &v4::recurrent_table, &v4::pool_table,
     &v4::attention_table},
    {"v3", [] { return __builtin_cpu_supports("x86-64-v3") != 0; }, &v3::conversion_table,
     &v3::elementwise_table, &v3::reduce_table, &v3::gemm_table, &v3::box_muller_table,
     &v3::optim_table, &v3::conv_table, &v3::norm_table, &v3::recurrent_table, &v3::pool_table,
     &v3::attention_table},
    {"v2", [] { return __builtin_cpu_supports("x86-64-v2") != 0; }, &v2::conversion_table,
     &v2::elementwise_table, &v2::reduce_table, &v2::gemm_table, &v2::box_muller_table,
     &v2::optim_table, &v2::conv_table, &v2::norm_table, &v2::recurrent_table, &v2::pool_table,
     &v2::attention_table},
};
#else
const Isa kIsas[] = {{"base", [] { return true; }, &base::conversion_table,
                      &base::elementwise_table, &base::reduce_table, &base::gemm_table,
                      &base::box_muller_table, &base::optim_table, &base::conv_table,
                      &base::norm_table, &base::recurrent_table, &base::pool_table,
                      &base::attention_table}};
#endif

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

// Every entry of `best`, or of `common` where it has none.
template <class Table>
Table merged(const Table& best, const Table& common) {
  using Entry = void (*)();
  Table table = best;
  auto* entries = reinterpret_cast<Entry*>(&table);
  auto* others = reinterpret_cast<const Entry*>(&common);
  for (size_t i = 0; i < sizeof(Table) / sizeof(Entry); ++i)
    if (!entries[i]) entries[i] = others[i];
  return table;
}

}  // namespace

Loop conversion(DType from, DType to) {
  return chosen().conversion->loops[static_cast<int>(from)][static_cast<int>(to)];
}
const BoxMullerTable& box_muller() { return *chosen().box_muller; }

}  // namespace cpu

const Backend& cpu_backend() {
  static const Backend backend = [] {
    const cpu::Isa& isa = cpu::chosen();
    static const ConvTable conv = cpu::merged(*isa.conv, cpu::conv_naive_table);
    Backend table{"cpu",
                  isa.name,
                  cpu::merged(*isa.elementwise, cpu::elementwise_common_table),
                  cpu::merged(*isa.reduce, cpu::reduce_int_table),
                  {nullptr, cpu::gemm_uint8, cpu::gemm_int8, cpu::gemm_int16, cpu::gemm_int32,
                   cpu::gemm_int64, nullptr, nullptr, isa.gemm->f32, isa.gemm->f64},
                  {nullptr, cpu::gemm_uint8, cpu::gemm_int8, cpu::gemm_int16, cpu::gemm_int32,
                   cpu::gemm_int64, nullptr, nullptr, isa.gemm->naive_f32, isa.gemm->naive_f64},
                  cpu::copy,
                  cpu::index_table};
    static const AttentionTable attention = cpu::merged(*isa.attention, cpu::embedding_table);
    table.attention = &attention;
    table.conv = &conv;
    table.histogram = &cpu::histogram_table;
    table.loss = &cpu::loss_table;
    table.norm = isa.norm;
    table.optim = isa.optim;
    table.order = &cpu::order_table;
    table.pool = isa.pool;
    table.random = &cpu::random_table;
    table.recurrent = isa.recurrent;
    table.scan = &cpu::scan_table;
    return table;
  }();
  return backend;
}

}  // namespace tt
