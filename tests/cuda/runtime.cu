// What the device layer (src/cuda/device) and the emulated streams do: test_emulated_runtime.py
// runs a case by its name and reads what it says. graphs.cu has those of graphs.
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "runtime.h"

namespace {

__global__ void put_by_way_of_shared(int* to, int value) {
  int* const shared = dynamic_shared<int>();
  *shared = value;
  *to = *shared;
}
__global__ void read_behind(const int* from, int* to) { *to = from[1]; }

// ---- streams ------------------------------------------------------------------------------------
void a_stream_is_late() {
  const Number x;
  const int64_t stream = enter_stream();
  launch<put>({1, 1}, x.at, 7);
  set_stream(0);
  say("without a wait", x.value());
  check(cudaStreamSynchronize(stream_of(stream)));
  say("after it", x.value());
}

void an_event_orders_streams() {
  const Number x;
  enter_stream();
  launch<put>({1, 1}, x.at, 7);
  const cudaEvent_t put_there = recorded();
  launch<put>({1, 1}, x.at, 8);
  enter_stream();
  check(cudaStreamWaitEvent(current_stream, put_there));
  launch<increase>({1, 1}, x.at, 10);
  say("in order", x.value());
}

void a_query_makes_progress() {
  const Number x;
  const int64_t stream = enter_stream();
  launch<put>({1, 1}, x.at, 7);
  say("at first", is_done(cudaStreamQuery(stream_of(stream))));
  say("then", is_done(cudaStreamQuery(stream_of(stream))));
  launch<put>({1, 1}, x.at, 8);
  const cudaEvent_t event = recorded();
  say("at first", is_done(cudaEventQuery(event)));
  say("then", is_done(cudaEventQuery(event)));
}

void a_fault_is_told_by_who_waits() {
  const Number x, out;
  const int64_t stream = enter_stream();
  say_error([&] { launch<read_behind>({1, 1}, x.at, out.at); });
  say_error([&] { check(cudaStreamSynchronize(stream_of(stream))); });
  say_error([&] { launch<put>({1, 1}, x.at, 1); });
  say_error([&] { x.value(); });
}

// Who asks for memory is told each time, and what waits for its stream stays as it is.
void blocks_in_use_at_a_fault() {
  const Number x, out;
  PinnedMemory& pinned = PinnedMemory::instance();
  void* const block = pinned.allocate(sizeof(int));
  const int64_t stream = enter_stream();
  copy_to_device_later(x.at, block, sizeof(int));
  launch<read_behind>({1, 1}, x.at, out.at);
  pinned.release(block);
  say_error([&] { check(cudaStreamSynchronize(stream_of(stream))); });
  for (int k = 0; k < 3; ++k) say_error([&] { pinned.allocate(sizeof(int)); });
  say_error([&] { pinned.empty_cache(); });
}

void copies_of_pinned_memory_are_late() {
  const Number x;
  PinnedMemory& pinned = PinnedMemory::instance();
  int* const from = static_cast<int*>(pinned.allocate(sizeof(int)));
  int pageable = 3;
  enter_stream();
  *from = 5;
  copy_to_device_later(x.at, from, sizeof(int));
  *from = 6;
  say("pinned", x.value());
  copy_to_device(x.at, &pageable, sizeof(int));
  pageable = 4;
  say("pageable", x.value());
  pinned.release(from);
}

void a_forked_process_may_not() {
  const Number x;
  std::fflush(stdout);
  if (const pid_t child = fork()) {
    int status;
    waitpid(child, &status, 0);
  } else {
    say_error([&] { memory().allocate(8); });
    say_error([&] { x.value(); });
    memory().release(x.at);
    std::fflush(stdout);
    _exit(0);
  }
  say("its parent", x.value());
}

// ---- memory -------------------------------------------------------------------------------------
void released_memory_serves_its_stream() {
  void* const x = memory().allocate(1000);
  memory().release(x);
  enter_stream();
  say("another stream's", memory().allocate(1000) == x);
  set_stream(0);
  say("its own", memory().allocate(1000) == x);
}

void a_user_holds_memory_back() {
  const Number out;
  const int64_t stream = enter_stream();
  launch<increase>({1, 1}, out.at, 1);
  set_stream(0);
  void* const x = memory().allocate(1000);
  memory().record_stream(x, stream_of(stream));
  memory().release(x);
  say("active", memory().statistics().active.current);
  void* const y = memory().allocate(1000);
  say("reused", y == x);
  memory().release(y);
  check(cudaStreamSynchronize(stream_of(stream)));
  memory().release(memory().allocate(8));  // notices
  say("active", memory().statistics().active.current);
}

void say_bytes(const char* when) {
  const tt::MemoryStatistics all = memory().statistics();
  std::printf("%s: %lld allocated, %lld requested, %lld reserved in %lld\n", when,
              static_cast<long long>(all.allocated_bytes.current),
              static_cast<long long>(all.requested_bytes.current),
              static_cast<long long>(all.reserved_bytes.current),
              static_cast<long long>(all.segment.current));
}

void segments_are_split_and_merged() {
  void* const small = memory().allocate(1);
  say_bytes("1 byte");
  void* const other = memory().allocate(513);
  say_bytes("and 513");
  void* const large = memory().allocate((1 << 20) + 1);
  say_bytes("and 1 MiB + 1");
  void* const huge = memory().allocate((10 << 20) + 1);
  say_bytes("and 10 MiB + 1");
  for (void* const block : {small, large, other, huge}) memory().release(block);
  say_bytes("none");
  say("the first again", memory().allocate(1 << 20) == small);
  memory().empty_cache();
  say_bytes("emptied");
  const tt::MemoryCount bytes = memory().statistics().allocated_bytes;
  say("peak", bytes.peak);
  say("allocated", bytes.allocated);
  say("freed", bytes.freed);
}

// Blocks of all sizes, taken and released on three streams in an order like chance.
void blocks_never_overlap() {
  const int64_t streams[] = {0, new_stream(0), new_stream(-1)};
  std::map<char*, size_t> used;
  uint64_t chance = 1;
  int64_t overlaps = 0;
  for (int step = 0; step < 20000; ++step) {
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    const uint64_t draw = chance >> 33;
    set_stream(streams[draw % 3]);
    if (used.size() > 200 || (draw % 5 < 2 && !used.empty())) {
      auto it = used.lower_bound(reinterpret_cast<char*>(chance));
      if (it == used.end()) it = std::next(used.begin(), draw % used.size());
      if (draw % 7 == 0) memory().record_stream(it->first, current_stream);
      memory().release(it->first);
      used.erase(it);
      continue;
    }
    const size_t size = 1 + draw % (size_t{1} << draw / 5 % 24);
    char* const block = static_cast<char*>(memory().allocate(size));
    const auto after = used.lower_bound(block);
    overlaps += after != used.end() && block + size > after->first;
    overlaps += after != used.begin() && std::prev(after)->first + std::prev(after)->second > block;
    used[block] = size;
  }
  say("overlaps", overlaps);
  for (const auto& block : used) memory().release(block.first);
  memory().empty_cache();
  say_bytes("emptied");
}

void out_of_memory_empties_the_cache() {
  memory().set_memory_fraction(0);
  say_error([] { memory().allocate(1 << 20); });
  size_t free, total;
  check(cudaMemGetInfo(&free, &total));
  memory().set_memory_fraction(32.0 * (1 << 20) / total);
  memory().release(memory().allocate(30 << 20));
  memory().allocate(31 << 20);
  say("retries", memory().statistics().retries);
  say("failures", memory().statistics().out_of_memory);
}

// The emulator's own: what is released goes in the order of its stream.
void use(bool tell) {
  const Number out;
  int* const x = static_cast<int*>(memory().allocate(2 * sizeof(int)));
  const int64_t stream = enter_stream();
  launch<read_behind>({1, 1}, x, out.at);
  set_stream(0);
  if (tell) memory().record_stream(x, stream_of(stream));
  launch<put>({1, 1}, x + 1, 9);
  memory().release(x);
  say("so far", out.value());
  say_error([&] {
    check(cudaStreamSynchronize(stream_of(stream)));
    say("later", out.value());
  });
}
void a_user_that_nobody_told() { use(false); }
void a_user_that_was_told() { use(true); }

// Memory that streams use when it is released is asked for in their order: one question a stream.
void the_oldest_use_is_asked_for() {
  const int64_t streams[] = {new_stream(0), new_stream(0)};
  std::vector<void*> blocks;
  for (int k = 0; k < 100; ++k) blocks.push_back(memory().allocate(1000));
  for (void* const block : blocks) {
    for (const int64_t stream : streams) {
      set_stream(stream);
      launch<put>({1, 1}, static_cast<int*>(block), 1);
      memory().record_stream(block, current_stream);
    }
    memory().release(block);
  }
  set_stream(0);
  say("active", memory().statistics().active.current);
  const uint64_t before = tiny_torch_emulator_calls("cudaEventQuery");
  memory().release(memory().allocate(8));
  say("questions", tiny_torch_emulator_calls("cudaEventQuery") - before);
  memory().empty_cache();
  say("active", memory().statistics().active.current);
  say("events at most", tiny_torch_emulator_calls("cudaEventCreateWithFlags") <= 200);
}

void pinned_memory_serves_again() {
  const Number x;
  PinnedMemory& pinned = PinnedMemory::instance();
  enter_stream();
  uint64_t before = 0, events = 0;
  for (int step = 0; step < 100; ++step) {
    if (step == 3) before = tiny_torch_emulator_calls("cudaHostAlloc");
    if (step == 3) events = tiny_torch_emulator_calls("cudaEventCreateWithFlags");
    void* const batch = pinned.allocate(100 << 10);
    copy_to_device_later(x.at, batch, sizeof(int));
    pinned.release(batch);
    copy_to_device(x.at, &step, sizeof(int));
    check(cudaStreamSynchronize(current_stream));
  }
  say("blocks more", tiny_torch_emulator_calls("cudaHostAlloc") - before);
  say("events more", tiny_torch_emulator_calls("cudaEventCreateWithFlags") - events);
  pinned.empty_cache();
  say("given back",
      tiny_torch_emulator_calls("cudaFreeHost") == tiny_torch_emulator_calls("cudaHostAlloc"));
}

// Once for the most that the kernel was launched with.
void a_kernel_asks_for_shared_memory() {
  const Number x;
  for (const size_t kib : {40, 60, 50, 64, 64})
    launch<put_by_way_of_shared>({1, 1, kib << 10}, x.at, static_cast<int>(kib));
  say("put", x.value());
  say("asked", tiny_torch_emulator_calls("cudaFuncSetAttribute"));
}

const Case kCases[] = {CASE(a_kernel_asks_for_shared_memory),
                       CASE(a_stream_is_late),
                       CASE(an_event_orders_streams),
                       CASE(a_query_makes_progress),
                       CASE(a_fault_is_told_by_who_waits),
                       CASE(blocks_in_use_at_a_fault),
                       CASE(copies_of_pinned_memory_are_late),
                       CASE(a_forked_process_may_not),
                       CASE(released_memory_serves_its_stream),
                       CASE(a_user_holds_memory_back),
                       CASE(segments_are_split_and_merged),
                       CASE(blocks_never_overlap),
                       CASE(out_of_memory_empties_the_cache),
                       CASE(a_user_that_nobody_told),
                       CASE(a_user_that_was_told),
                       CASE(the_oldest_use_is_asked_for),
                       CASE(pinned_memory_serves_again)};

}  // namespace

int main(int, char** arguments) {
  std::vector<Case> all = cases_of_graphs();
  all.insert(all.end(), std::begin(kCases), std::end(kCases));
  for (const Case& it : all) {
    if (std::strcmp(it.name, arguments[1]) != 0) continue;
    it.run();
    return 0;
  }
  return 1;
}
