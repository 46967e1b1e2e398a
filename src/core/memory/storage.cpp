#include "core/memory/storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "core/memory/storage_listener.h"
#include "core/program/recording.h"

namespace tt {

std::atomic<const StorageListener*> storage_listener{nullptr};

Storage::Storage(size_t bytes, const Device& device)
    : device(device), data(static_cast<char*>(device.allocate(bytes))), bytes(bytes) {
  if (const auto* listener = storage_listener.load(std::memory_order_relaxed))
    listener->made(*this, bytes);
}

Storage::Storage(void* data, size_t bytes, Release release, void* owner, const Device& device)
    : device(device),
      data(static_cast<char*>(data)),
      bytes(bytes),
      resizable(false),
      release_(release),
      owner_(owner) {}

Storage::~Storage() {
  free();
  if (file >= 0) close(file);
}

namespace {

// Pages of the system, and the memory that they took the place of if others may still have its
// address.
struct Mapping {
  void* address;
  size_t bytes;
  Storage::Release release;
  void* owner;
  char* before;
  size_t before_bytes;
};

void unmap(void* owner) {
  auto* mapping = static_cast<Mapping*>(owner);
  munmap(mapping->address, mapping->bytes);
  if (mapping->release)
    mapping->release(mapping->owner);
  else if (mapping->before)
    cpu_device().release(mapping->before, mapping->before_bytes);
  delete mapping;
}

}  // namespace

size_t Storage::reach() const {
  return resizable && release_ ? static_cast<Mapping*>(owner_)->bytes : bytes;
}

void Storage::grow(size_t to_bytes) {
  refuse_recording("resizes a storage");
  if (to_bytes > bytes) resize(to_bytes);
}

void Storage::resize(size_t to_bytes) {
  refuse_recording("resizes a storage");
  if (to_bytes == bytes) return;
  if (!resizable) throw RuntimeError("Trying to resize storage that is not resizable");
  if (to_bytes > bytes && to_bytes < reach()) {
    bytes = to_bytes;
    return;
  }
  const size_t kept = std::min(bytes, to_bytes);
  if (to_bytes < bytes && device.on_host) {
    const size_t length = reach();
    void* const pages = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
      throw RuntimeError("[resize_] the system gave no ", length, " bytes of memory");
    std::memcpy(pages, data, kept);
    free();
    data = static_cast<char*>(pages);
    bytes = to_bytes;
    release_ = unmap;
    owner_ = new Mapping{pages, length, nullptr, nullptr, nullptr, 0};
    return;
  }
  char* const moved = static_cast<char*>(device.allocate(to_bytes));
  device.copy(moved, data, kept);
  free();
  release_ = nullptr;
  data = moved;
  bytes = to_bytes;
  if (const auto* listener = storage_listener.load(std::memory_order_relaxed))
    listener->made(*this, bytes);
}

void Storage::share() {
  refuse_recording("shares a storage");
  if (shared || !device.on_host) return;
  const size_t length = std::max<size_t>(reach(), 1);
  int opened = memfd_create("tiny_torch_shared", MFD_CLOEXEC);
  if (opened >= 0 && ftruncate(opened, static_cast<off_t>(length)) != 0) {
    close(opened);
    opened = -1;
  }
  // without a file, if the system gives no more of them: forked processes share it all the same
  const int flags = opened < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* const memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, flags, opened, 0);
  if (memory == MAP_FAILED) {
    if (opened >= 0) close(opened);
    throw RuntimeError("[share_memory_] the system gave no ", length, " bytes of shared memory");
  }
  if (bytes) std::memcpy(memory, data, bytes);
  auto* mapping = new Mapping{memory, length, nullptr, nullptr, nullptr, 0};
  if (resizable) {
    free();
  } else {
    mapping->release = release_;
    mapping->owner = owner_;
    if (!release_) mapping->before = data, mapping->before_bytes = bytes;
  }
  data = static_cast<char*>(memory);
  release_ = unmap;
  owner_ = mapping;
  resizable = false;
  keep_file(opened);
}

void Storage::free() {
  if (release_) return release_(owner_);
  device.release(data, bytes);
  if (const auto* listener = storage_listener.load(std::memory_order_relaxed))
    listener->freed(*this);
}

uint64_t next_stamp() {
  static std::atomic<uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::atomic<bool> inference_mode_seen{false};

namespace {
thread_local bool inference_mode = false;
}  // namespace

void set_inference_mode(bool on) {
  inference_mode = on;
  if (on) inference_mode_seen.store(true, std::memory_order_relaxed);
}

bool is_inference_mode() { return inference_mode; }

void Version::check_inference_mode() {
  if (!inference_mode)
    throw RuntimeError(
        "Inplace update to inference tensor outside InferenceMode is not allowed."
        "You can make a clone to get a normal tensor before doing inplace update."
        "See https://github.com/pytorch/rfcs/pull/17 for more details.");
}

}  // namespace tt
