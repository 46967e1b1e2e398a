// Storage: flat, reference-counted memory, and when it was last written.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/devices/device.h"

namespace tt {

// Memory of somebody else need not be aligned: elements are read and written through these.
template <class T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
// Memory that nobody wrote, or somebody else did, may hold bytes other than 0 and 1.
template <>
inline bool read<bool>(const char* from) {
  return *from != 0;
}
template <class T>
void write(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Counts references from any thread; the last owner deletes.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* owned) : pointer_(owned) {}  // takes over the count of 1 that T starts with
  Ref(const Ref& other) : pointer_(other.pointer_) {
    if (pointer_) pointer_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() {
    if (pointer_ && pointer_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete pointer_;
  }

  T* get() const { return pointer_; }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.pointer_ == b.pointer_; }

 private:
  T* pointer_ = nullptr;
};

// The process-wide counter that stamps writes and numbers the nodes of the graph. See Note
// [Versions] in src/README.md.
uint64_t next_stamp();

// The stamp of memory made in inference mode, for good: it may be written only there, and no node
// may save it. Above every other stamp, so that it would be stale.
constexpr uint64_t kInferenceStamp = INT64_MAX;

// Whether this thread makes such memory.
void set_inference_mode(bool on);
bool is_inference_mode();
// Whether any thread ever has: before that nobody needs to look for it.
extern std::atomic<bool> inference_mode_seen;
// The stamp of new memory.
inline uint64_t first_stamp() {
  return inference_mode_seen.load(std::memory_order_relaxed) && is_inference_mode()
             ? kInferenceStamp
             : 0;
}

// When some memory was last written, and how often. An array shares its storage's with its views
// and its detach(); `.data` gets a fresh one.
struct Version {
  explicit Version(uint64_t first) : stamp(first) {}
  // Called by what writes: write_into in core/ndarray.h, and what launches a kernel without it.
  // RuntimeError for a write outside inference mode to memory made in it.
  void mark_written() {
    if (stamp.load(std::memory_order_relaxed) == kInferenceStamp)
      check_inference_mode();
    else
      stamp.store(next_stamp(), std::memory_order_relaxed);
    // No fetch_add, which would cost as much as the stamp: of writes at once, one may go uncounted.
    writes.store(writes.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::atomic<int64_t> references{1};
  std::atomic<uint64_t> stamp;
  std::atomic<uint64_t> writes{0};  // what Tensor._version answers

 private:
  static void check_inference_mode();
};

// `bytes` of a device's memory, 64-byte aligned when it is our own; or memory of somebody else
// (NumPy, DLPack) whose `release(owner)` runs when the last array lets go.
struct Storage {
  using Release = void (*)(void* owner);

  Storage(size_t bytes, const Device& device);  // the device's own
  // Borrowed: of the host, or of a device whose address somebody else has allocated.
  Storage(void* data, size_t bytes, Release release, void* owner,
          const Device& device = cpu_device());
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // More memory, to which the elements move. RuntimeError where somebody else has the address.
  void grow(size_t to_bytes);
  // Another number of bytes. Of fewer the rest goes back to the system, and reads as zeros: arrays
  // may still look at it. On a device they must not, until the storage has grown again.
  void resize(size_t to_bytes);
  // Moves into memory that processes forked from now on share, and others through its file: on the
  // host, and else nothing.
  void share();
  // Takes over the file of a mapping made elsewhere, and closes it at the end.
  void keep_file(int opened) { shared = true, file = opened; }

  std::atomic<int64_t> references{1};
  Version version{first_stamp()};
  const Device& device;
  char* data;
  size_t bytes;
  bool resizable = true;  // our own memory, of which NumPy or another library has no address
  bool shared = false;
  int file = -1;  // of shared memory, open as long as it lives; or -1, if it has none

 private:
  void free();
  // How many bytes arrays may look at: more than `bytes` after a resize to fewer.
  size_t reach() const;

  Release release_ = nullptr;  // null: the allocator's memory
  void* owner_ = nullptr;
};

}  // namespace tt
