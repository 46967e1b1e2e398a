// How many threads the kernels may use.
#pragma once

namespace tt {

// Threads that the next parallel loop may use: 1 in a forked child, else what was set or found.
int num_threads();
// Throws RuntimeError unless n >= 1.
void set_num_threads(int n);

}  // namespace tt
