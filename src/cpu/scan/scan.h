// The scans' table; each kernel is compiled once, for the baseline.
#pragma once
#include "core/tables/scan.h"

namespace tt::cpu {

extern const ScanTable scan_table;

}  // namespace tt::cpu
