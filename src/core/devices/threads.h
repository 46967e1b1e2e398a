// How many threads the kernels may use, and when they are to stop.
#pragma once

namespace tt {

// Threads that the next parallel loop may use: 1 in a forked child, else what was set or found.
int num_threads();
// Throws RuntimeError unless n >= 1.
void set_num_threads(int n);

// Ctrl-C: thrown through a kernel that takes long, on the thread that called it (Note
// [Interrupts]). What it was to write is then written in part.
struct Interrupted {};
// Not inline: Note [No weak symbols].
[[noreturn]] void throw_interrupted();

// Whether Ctrl-C was pressed. For the thread that called a kernel; it looks at most every 50 ms.
bool interrupt_pending();
// Whether this thread runs kernels for another, which alone may stop them.
bool is_team_member();
// Throws Interrupted if Ctrl-C was pressed and this thread may stop.
void check_interrupt();

}  // namespace tt
