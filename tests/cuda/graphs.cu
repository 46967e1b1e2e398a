// Graphs, and what the device layer does around them; runtime.cu runs a case by its name.
#include <set>
#include <thread>

#include "runtime.h"

namespace {

void a_graph_does_it_again() {
  const Number x, sum;
  enter_stream();
  begin_capture(0);
  int by = 5;
  copy_to_device(x.at, &by, sizeof by);
  by = 6;
  launch<increase>({1, 1}, sum.at, 2);
  say("is capturing", is_capturing(current_stream));
  const int64_t graph = end_capture();
  say("captured", sum.value());
  replay(graph);
  replay(graph);
  say("replayed", sum.value());
  say("copied", x.value());
  release_graph(graph);
}

void a_graph_keeps_its_memory() {
  enter_stream();
  begin_capture(0);
  void* const x = memory().allocate(1000);
  memory().release(x);
  say("in the capture", memory().allocate(1000) == x);
  memory().release(x);
  const int64_t graph = end_capture();
  say("after it", memory().allocate(1000) == x);
  const int64_t before = memory().statistics().segment.current;
  memory().empty_cache();
  say("given back", before - memory().statistics().segment.current);
  release_graph(graph);
  memory().empty_cache();
  say("given back", before - memory().statistics().segment.current);
}

void a_capture_takes_in_other_streams() {
  const Number x;
  const int64_t first = enter_stream(), second = new_stream(0);
  for (const bool joins : {true, false}) {
    begin_capture(0);
    launch<put>({1, 1}, x.at, 3);
    const cudaEvent_t begun = recorded();
    set_stream(second);
    check(cudaStreamWaitEvent(current_stream, begun));
    launch<increase>({1, 1}, x.at, 4);
    const cudaEvent_t done = recorded();
    set_stream(first);
    if (joins) check(cudaStreamWaitEvent(current_stream, done));
    say_error([&] {
      replay(end_capture());
      say("replayed", x.value());
    });
  }
}

void a_capture_may_not_wait() {
  const Number x;
  say_error([] { begin_capture(0); });
  enter_stream();
  begin_capture(0);
  say_error([&] { x.value(); });
  say_error([] { end_capture(); });
  begin_capture(0);
  launch<put>({1, 1}, x.at, 3);
  replay(end_capture());
  say("another one", x.value());
}

void pinned_memory_is_released_in_a_capture() {
  const Number x;
  PinnedMemory& pinned = PinnedMemory::instance();
  const int64_t stream = enter_stream();
  void* const block = pinned.allocate(sizeof(int));
  copy_to_device_later(x.at, block, sizeof(int));
  begin_capture(0);
  pinned.release(block);
  set_stream(0);
  const int five = 5;
  say_error([&] {
    for (int k = 0; k < 100; ++k) copy_to_device(x.at, &five, sizeof five);
  });
  void* const other = pinned.allocate(sizeof(int));
  say("given to others", other == block);
  set_stream(stream);
  say_error([] { end_capture(); });
  check(cudaStreamSynchronize(current_stream));
  std::set<void*> all;
  for (int k = 0; k < 200; ++k) all.insert(pinned.allocate(sizeof(int)));
  say("after it", all.count(block));
}

void a_graph_ends_in_a_capture() {
  const Number x;
  const int64_t stream = enter_stream();
  begin_capture(0);
  int value = 5;
  copy_to_device(x.at, &value, sizeof value);
  const int64_t graph = end_capture();
  replay(graph);
  begin_capture(0);
  release_graph(graph);
  set_stream(0);
  say_error([&] {
    for (int k = 0; k < 100; ++k) copy_to_device(x.at, &value, sizeof value);
  });
  set_stream(stream);
  say_error([] { end_capture(); });
}

void a_graph_holds_what_it_copies() {
  const Number x;
  PinnedMemory& pinned = PinnedMemory::instance();
  enter_stream();
  int* const from = static_cast<int*>(pinned.allocate(sizeof(int)));
  int* const to = static_cast<int*>(pinned.allocate(sizeof(int)));
  *from = 5;
  *to = 0;
  begin_capture(0);
  copy_to_device_later(x.at, from, sizeof(int));
  launch<increase>({1, 1}, x.at, 1);
  copy_to_host_later(to, x.at, sizeof(int));
  const int64_t graph = end_capture();
  for (int* const block : {from, to}) pinned.release(block);
  for (int k = 0; k < 100; ++k) {
    int* const other = static_cast<int*>(pinned.allocate(sizeof(int)));
    *other = 9;
    if (k % 2) pinned.release(other);
  }
  replay(graph);
  say("replayed", x.value());
  say("read back", *to);
  release_graph(graph);
  check(cudaStreamSynchronize(current_stream));
  std::set<void*> all;
  for (int k = 0; k < 200; ++k) all.insert(pinned.allocate(sizeof(int)));
  say("given to others", all.count(from) + all.count(to));
}

// The emulator's own: a replay finds chance in what is free in its pool, but for memory that graphs
// before it have left there.
void a_replay_finds_nothing_in_free_memory() {
  const Number out;
  enter_stream();
  const int64_t pool = memory().new_pool();
  begin_capture(pool);
  int* const x = static_cast<int*>(memory().allocate(sizeof(int)));
  launch<put>({1, 1}, x, 5);
  int* const freed = static_cast<int*>(memory().allocate(sizeof(int)));
  launch<put>({1, 1}, freed, 6);
  memory().release(freed);
  const int64_t first = end_capture();
  begin_capture(pool);
  launch<put>({1, 1}, out.at, 0);
  launch<add>({1, 1}, out.at, x);
  memory().release(x);
  const int64_t second = end_capture();
  begin_capture(pool);
  launch<put>({1, 1}, out.at, 0);
  launch<add>({1, 1}, out.at, freed);
  const int64_t third = end_capture();
  replay(first);
  replay(second);
  say("of a graph before", out.value());
  replay(first);
  replay(third);
  say("of nobody", out.value());
}

void kernels_write_nothing_that_the_host_writes() {
  int* const x = static_cast<int*>(memory().allocate(8 * sizeof(int)));
  tt::emulated::keep_from_kernels(x, 4 * sizeof(int));
  say_error([&] { launch<put>({1, 1}, x + 4, 1); });
  say_error([&] { launch<increase>({1, 1}, x + 3, 1); });
}

void a_stream_waits_for_all_but_captures() {
  const Number x;
  const int64_t late = enter_stream();
  launch<put>({1, 1}, x.at, 7);
  const int64_t captures = enter_stream();
  begin_capture(0);
  enter_stream();
  wait_for_streams();
  say("of the others", x.value());
  set_stream(captures);
  wait_for_streams();
  say_error([] { release_graph(end_capture()); });
  check(cudaStreamSynchronize(stream_of(late)));
}

void a_capture_takes_in_no_replay() {
  const Number x;
  enter_stream();
  begin_capture(0);
  launch<increase>({1, 1}, x.at, 1);
  const int64_t graph = end_capture();
  begin_capture(0);
  say_error([&] { replay(graph); });
  launch<increase>({1, 1}, x.at, 2);
  replay(end_capture());
  replay(graph);
  say("both", x.value());
}

void a_capture_that_cannot_begin() {
  const Number x;
  enter_stream();
  check(cudaStreamBeginCapture(current_stream, cudaStreamCaptureModeRelaxed));
  say_error([] { begin_capture(0); });
  cudaGraph_t graph;
  cudaStreamEndCapture(current_stream, &graph);
  cudaGetLastError();
  begin_capture(0);
  launch<put>({1, 1}, x.at, 3);
  replay(end_capture());
  say("another one", x.value());
}

// What a thread releases while another's capture begins goes into no graph.
void releases_while_captures_begin() {
  const Number x;
  enter_stream();
  const cudaStream_t captures = current_stream;
  std::thread other([&] {
    say_error([&] {
      for (int k = 0; k < 100000; ++k) {
        void* const block = memory().allocate(8);
        memory().record_stream(block, captures);
        memory().release(block);
      }
    });
  });
  say_error([&] {
    for (int k = 0; k < 100000; ++k) {
      begin_capture(0);
      launch<increase>({1, 1}, x.at, 1);
      release_graph(end_capture());
    }
  });
  other.join();
}

}  // namespace

std::vector<Case> cases_of_graphs() {
  return {CASE(a_graph_does_it_again),
          CASE(a_graph_keeps_its_memory),
          CASE(a_capture_takes_in_other_streams),
          CASE(a_capture_may_not_wait),
          CASE(pinned_memory_is_released_in_a_capture),
          CASE(a_graph_ends_in_a_capture),
          CASE(a_graph_holds_what_it_copies),
          CASE(a_replay_finds_nothing_in_free_memory),
          CASE(kernels_write_nothing_that_the_host_writes),
          CASE(a_stream_waits_for_all_but_captures),
          CASE(a_capture_takes_in_no_replay),
          CASE(a_capture_that_cannot_begin),
          CASE(releases_while_captures_begin)};
}
