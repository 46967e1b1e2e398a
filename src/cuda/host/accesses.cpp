#include "cuda/host/accesses.h"

#include <link.h>

#include <algorithm>
#include <new>

#include "core/error.h"
#include "cuda/host/card.h"
#include "cuda/host/memory.h"
#include "cuda/host/place.h"

namespace tt::emulated {

void Accesses::open(const Launch& what, const char* dynamic) {
  module_ = &module_of(reinterpret_cast<const void*>(what.call));
  const char* const arguments = static_cast<const char*>(what.arguments);
  arguments_ = {arguments, arguments + what.argument_bytes};
  dynamic_ = {dynamic, dynamic + what.shared_bytes};
  if (dynamic_bytes_.size() < what.shared_bytes) dynamic_bytes_.resize(what.shared_bytes);
  const size_t threads = size_t{what.block.x} * what.block.y * what.block.z;
  warp_times_.assign((threads + kWarp - 1) / kWarp, 0);
  bytes_.resize(threads);
}

void Accesses::begin_block() {
  block_began_ = ++now_;
  static_bytes_ = 0;
  std::fill(bytes_.begin(), bytes_.end(), 0);
}
void Accesses::count(size_t bytes, int thread) {
  counts.bytes_of_a_thread = std::max(counts.bytes_of_a_thread, bytes_[thread] += bytes);
}
void Accesses::block_met() { ++now_; }
void Accesses::warp_met(int warp) { ++warp_times_[warp]; }

// What a kernel may write of its library's variables is what kernels declare __shared__: no other
// variable of the host is known there.
Accesses::Module& Accesses::module_of(const void* code) {
  for (Module& known : modules_)
    for (const Range& range : known.read_only)
      if (range.has(code)) return known;
  struct Search {
    const void* code;
    Module found;
  } search{code, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& [code, found] = *static_cast<Search*>(data);
        bool is_here = false;
        for (int k = 0; k < info->dlpi_phnum; ++k) {
          const ElfW(Phdr) & part = info->dlpi_phdr[k];
          const char* const begin = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
          const Range range{begin, begin + part.p_memsz};
          if (part.p_type == PT_LOAD && part.p_flags & PF_W)
            found.statics = range;
          else if (part.p_type == PT_LOAD || part.p_type == PT_GNU_RELRO)
            found.read_only.push_back(range);
          is_here |= part.p_type == PT_LOAD && range.has(code);
        }
        if (!is_here) found = {};
        return int{is_here};
      },
      &search);
  const size_t size = search.found.statics.end - search.found.statics.begin;
  search.found.bytes.reset(static_cast<Byte*>(std::calloc(size, sizeof(Byte))));
  if (!search.found.bytes) throw std::bad_alloc();
  return modules_.emplace_back(std::move(search.found));
}

std::string Accesses::fault(const void* address, size_t bytes, Access kind, int thread,
                            void* place) {
  const char* const does = kind == Access::Read ? "reads " : "writes ";
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    return format(does, bytes, " bytes at a misaligned address");
  const Memory& memory = Memory::instance();
  if (memory.contains(address)) {
    if (!memory.is_valid(address, bytes))
      return format(does, bytes, " bytes of global memory ", memory.describe(address));
    if (kind != Access::Read && memory.is_kept_from_kernels(address))
      return format(does, bytes, " bytes of global memory that the host writes to");
    if (kind == Access::Read) counts.global_bytes_read += bytes;
    count(bytes, thread);
    return {};
  }
  if (dynamic_.has(address, bytes))
    return shared_fault("dynamic shared memory", bytes, kind, thread, place,
                        &dynamic_bytes_[static_cast<const char*>(address) - dynamic_.begin]);
  if (kind == Access::Read) {
    const char* const built_in = reinterpret_cast<const char*>(&position);
    if (arguments_.has(address) || Range{built_in, built_in + sizeof position}.has(address))
      return {};
    for (const Range& range : module_->read_only)
      if (range.has(address)) return {};
  }
  if (module_->statics.has(address, bytes)) {
    Byte* const first = byte_of(address);
    if (kind == Access::Write)
      if (const std::string fault = take_static(first, bytes); !fault.empty()) return fault;
    return shared_fault("shared memory", bytes, kind, thread, place, first);
  }
  for (const Range& range : mapped_)
    if (range.has(address, bytes)) return {};
  if (dynamic_.begin != dynamic_.end && address >= dynamic_.begin - 4096 &&
      address < dynamic_.end + 4096)
    return format(does, bytes, " bytes outside of the ", dynamic_.end - dynamic_.begin,
                  " bytes of dynamic shared memory, at ",
                  static_cast<const char*>(address) - dynamic_.begin);
  return format(does, bytes, " bytes that are not the device's memory");
}

Accesses::Byte* Accesses::byte_of(const void* shared) {
  const char* const at = static_cast<const char*>(shared);
  return dynamic_.has(at) ? &dynamic_bytes_[at - dynamic_.begin]
                          : &module_->bytes[at - module_->statics.begin];
}

void Accesses::forget_writes(const void* address, size_t bytes) {
  Byte* const first = byte_of(address);
  for (Byte* byte = first; byte < first + bytes; ++byte) {
    if (!dynamic_.has(address)) static_bytes_ -= byte->written >= block_began_;
    byte->written = 0;
  }
}

// A block's arrays are known by what it writes of them.
std::string Accesses::take_static(const Byte* first, size_t bytes) {
  for (const Byte* byte = first; byte < first + bytes; ++byte)
    static_bytes_ += byte->written < block_began_;
  const size_t dynamic_bytes = dynamic_.end - dynamic_.begin;
  if (static_bytes_ > Card::kAlways)
    return format("writes more than the ", Card::kAlways,
                  " bytes that __shared__ variables of a kernel may have");
  if (static_bytes_ + dynamic_bytes > Card::instance().most_shared)
    return format("has more than ", Card::instance().most_shared, " bytes of shared memory, ",
                  dynamic_bytes, " of them dynamic");
  return {};
}

// Whether what thread `other` did then is before what `thread` does now: a barrier of the block, or
// of their warp, was between.
bool Accesses::are_ordered(Time then, Time warp_then, int other, int thread) const {
  if (then != now_ || other == thread) return true;
  if (other == kSeveral) return false;
  const bool is_same_warp = other == kSeveralInWarp || other / kWarp == thread / kWarp;
  return is_same_warp && warp_then != warp_times_[thread / kWarp];
}

std::string Accesses::shared_fault(const char* where, size_t bytes, Access kind, int thread,
                                   void* place, Byte* to) {
  count(bytes, thread);
  const Time warp_now = warp_times_[thread / kWarp];
  char* const code = const_cast<char*>(module_->read_only.front().begin);
  const auto here = static_cast<uint32_t>(static_cast<char*>(place) - code);
  for (Byte* byte = to; byte < to + bytes; ++byte) {
    if (kind != Access::Write && byte->written < block_began_)
      return format("reads ", bytes, " bytes of ", where,
                    " that no thread of the block has written");
    const bool are_both_atomic = kind == Access::Atomic && byte->written_atomically;
    if (!are_both_atomic &&
        !are_ordered(byte->written, byte->writer_warp_time, byte->writer, thread))
      return format("a race: ", kind == Access::Read ? "reads " : "writes ", bytes, " bytes of ",
                    where, " that thread number ", byte->writer, " has written",
                    place_of(code + byte->writer_place), " with no barrier between");
    if (kind == Access::Read) {
      const bool is_alone = byte->read != now_ || byte->reader == thread;
      const bool is_in_warp = byte->reader >= 0 ? byte->reader / kWarp == thread / kWarp
                                                : byte->reader == kSeveralInWarp;
      byte->reader = is_alone ? thread : is_in_warp ? kSeveralInWarp : kSeveral;
      byte->read = now_;
      byte->reader_warp_time = warp_now;
      byte->reader_place = here;
      continue;
    }
    if (!are_ordered(byte->read, byte->reader_warp_time, byte->reader, thread))
      return format("a race: writes ", bytes, " bytes of ", where, " that ",
                    byte->reader < 0 ? "several threads have"
                                     : format("thread number ", byte->reader, " has"),
                    " read", place_of(code + byte->reader_place), " with no barrier between");
    byte->written = now_;
    byte->writer = thread;
    byte->writer_warp_time = warp_now;
    byte->writer_place = here;
    byte->written_atomically = kind == Access::Atomic;
  }
  return {};
}

}  // namespace tt::emulated
