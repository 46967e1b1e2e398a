// Elementwise ops on arrays: check, promote, broadcast, allocate, iterate.
//
// `out`, where given, is written into and returned; it must have the broadcast shape, and a dtype
// that the result may be cast to. In place is `out` equal to an input. Not here: autograd.
#pragma once
#include "core/tables/elementwise.h"

namespace tt {

NDArray unary(Unary op, const NDArray& x, const NDArray* out = nullptr);
NDArray binary(Binary op, const Operand& x, const Operand& y, const NDArray* out = nullptr);
NDArray ternary(Ternary op, const Operand& x, const Operand& y, const Operand& z,
                const NDArray* out = nullptr);
NDArray quaternary(Quaternary op, const Operand& x, const Operand& y, const Operand& z,
                   const Operand& w, const NDArray* out = nullptr);
// condition (bool) ? x : y; `out`, here: core/result.h.
NDArray where(const NDArray& condition, const Operand& x, const Operand& y,
              const NDArray* out = nullptr);
// NaN, inf and -inf replaced by three numbers; integers and bool are copied.
NDArray nan_to_num(const NDArray& x, const Scalar& nan, const Scalar& posinf, const Scalar& neginf,
                   const NDArray* out = nullptr);

}  // namespace tt
