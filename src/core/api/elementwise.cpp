#include "core/api/elementwise.h"

#include <cmath>
#include <cstring>

#include "core/api/cast.h"
#include "core/api/reduce.h"
#include "core/devices/launch.h"
#include "core/dtypes/promote.h"
#include "core/dtypes/type_name.h"
#include "core/memory/extent.h"
#include "core/result.h"
#include "core/tables/elementwise.h"

namespace tt {

namespace {

struct OpInfo {
  const char* name;
  ResultRule rule;
};

// Whether a Python number keeps its precision next to a half array.
bool has_wide_number(const char* name) {
  static constexpr const char* names[] = {
#define WIDE_NUMBER(op) #op,
#include "core/ops.def"
  };
  for (const char* wide : names)
    if (!std::strcmp(wide, name)) return true;
  return false;
}

constexpr OpInfo kUnary[] = {
#define UNARY(name, rule, ...) {#name, ResultRule::rule},
#define TEST(name, ...) {#name, ResultRule::Bool},
#include "core/ops.def"
};
constexpr OpInfo kBinary[] = {
#define BINARY(name, rule, ...) {#name, ResultRule::rule},
#define COMPARE(name, ...) {#name, ResultRule::Bool},
#include "core/ops.def"
};
constexpr OpInfo kTernary[] = {
#define TERNARY(name, rule, ...) {#name, ResultRule::rule},
#include "core/ops.def"
};

constexpr OpInfo kQuaternary[] = {
#define QUATERNARY(name, rule, ...) {#name, ResultRule::rule},
#include "core/ops.def"
};

// The common case: contiguous arrays of one shape, and numbers. Answers one of the arrays.
const NDArray* flat_pattern(const Operand* inputs, int count) {
  const NDArray* pattern = nullptr;
  for (int i = 0; i < count; ++i) {
    const NDArray* array = as_array(inputs[i]);
    if (!array) continue;
    if (!array->is_contiguous() || (pattern && array->shape() != pattern->shape())) return nullptr;
    pattern = array;
  }
  return pattern;
}

// Whether operand `i` keeps its precision next to halves. A number does, and so does a 0-d array
// that stands for one: on the right, and of mul on the left, too.
bool stays_wide(const char* op, const Operand& operand, int i) {
  const NDArray* array = as_array(operand);
  if (array && (array->ndim() > 0 || (i == 0 && std::strcmp(op, "mul")))) return false;
  return has_wide_number(op);
}

// An operand as elements of a half dtype, of which kernels see floats; `copy` keeps it alive.
Operand rounded(const Operand& operand, DType dtype, std::optional<NDArray>& copy) {
  if (const NDArray* array = as_array(operand)) {
    if (array->dtype() == dtype) return operand;
    copy = astype(*array, dtype);
    return &*copy;
  }
  return std::get<Scalar>(operand).rounded_to(dtype);
}

// The device that computes: of the arrays, among which a 0-d one of the host counts as a number.
const Device& device_of(const Operand* inputs, int count) {
  const NDArray* found = nullptr;
  for (int i = 0; i < count; ++i) {
    const NDArray* const array = as_array(inputs[i]);
    if (array && (!found || (found->ndim() == 0 && found->device().on_host))) found = array;
  }
  return found ? found->device() : cpu_device();
}

// The one way of an elementwise op: `kernels` is its row of the device's table.
NDArray elementwise(const OpInfo& info, const Device& device, const Kernel* kernels,
                    const Operand* inputs, int count, DType promoted, const NDArray* out) {
  const DType compute =
      info.rule == ResultRule::Float && !is_floating(promoted) ? default_dtype() : promoted;
  const DType result = info.rule == ResultRule::Bool ? DType::Bool : compute;
  const DType reads = computed_in(compute), writes = computed_in(result);
  const Kernel kernel = kernels[static_cast<int>(reads)];
  Operand halves[Iter::kMaxOperands];
  std::optional<NDArray> copies[Iter::kMaxOperands];
  if (reads != compute) {
    for (int i = 0; i < count; ++i)
      halves[i] =
          stays_wide(info.name, inputs[i], i) ? inputs[i] : rounded(inputs[i], compute, copies[i]);
    inputs = halves;
  }
  if (!out && kernel) {
    if (const NDArray* pattern = flat_pattern(inputs, count)) {
      NDArray fresh = NDArray::empty(pattern->shape(), result, device);
      launch(fresh)(kernel, Iter(fresh, inputs, count, reads, writes));
      return fresh;
    }
  }
  if (out) check_writable(*out);
  const Dims shape = broadcast(inputs, count);
  if (out && out->shape() != shape)
    throw RuntimeError("output with shape ", out->shape(), " doesn't match the broadcast shape ",
                       shape);
  if (out && !can_cast(result, out->dtype()))
    throw RuntimeError("result type ", type_name(result),
                       " can't be cast to the desired output type ", type_name(out->dtype()));
  if (!kernel) throw not_implemented(info.name, compute);
  if (!out) {
    NDArray fresh = NDArray::empty_strided(shape, result_strides(shape, inputs, count, compute),
                                           result, device);
    launch(fresh)(kernel, Iter(fresh, inputs, count, reads, writes));
    return fresh;
  }
  Operand safe[Iter::kMaxOperands];
  for (int i = 0; i < count; ++i) {
    safe[i] = inputs[i];
    auto array = as_array(inputs[i]);
    if (array && check_overlap(*out, *array)) {
      copies[i] = clone(*array);
      safe[i] = &*copies[i];
    }
  }
  write_into(*out, [&] { launch (*out)(kernel, Iter(*out, safe, count, reads, writes)); });
  return *out;
}

DType promote(const Operand* operands, int count) {
  const NDArray* first = as_array(operands[0]);
  const NDArray* second = count == 2 ? as_array(operands[1]) : nullptr;
  if (first && second && first->dtype() == second->dtype()) return first->dtype();
  Promotion promotion;
  for (int i = 0; i < count; ++i) {
    if (auto array = as_array(operands[i]))
      promotion.add(array->dtype(), array->ndim());
    else
      promotion.add(std::get<Scalar>(operands[i]));
  }
  return promotion.result();
}

// Whether a divisor is zero in the dtype of the division: there 256 may be 0, and that traps.
bool has_zero(const Operand& operand, DType dtype) {
  if (auto array = as_array(operand)) {
    const NDArray all = reduce(Reduce::all, *array, std::nullopt, false, dtype);
    return array->numel() > 0 && array->device().has_data && !HostElements<bool>(all)[0];
  }
  int64_t value = 0;
  std::get<Scalar>(operand).write(dtype, &value);  // of integers, which are not followed
  return value == 0;
}

bool is_bool(const Operand& operand) {
  if (auto array = as_array(operand)) return array->dtype() == DType::Bool;
  return std::get<Scalar>(operand).kind == Category::Bool;
}

// An exponent is converted to the dtype first.
void check_half(const Operand& number, DType dtype) {
  const double value = std::abs(std::get<Scalar>(number).to<double>());
  if (std::isfinite(value) && value > (dtype == DType::Float16 ? 65504 : 0x1.fep127))
    throw RuntimeError("value cannot be converted to type ", dtype, " without overflow");
}

// Whether an integer op modulo 2^64 is one of the numbers themselves.
bool wraps(Binary op) {
  return op == Binary::add || op == Binary::sub || op == Binary::mul || op == Binary::bitwise_and ||
         op == Binary::bitwise_or || op == Binary::bitwise_xor;
}

bool is_wide(const Operand& operand) {
  return !as_array(operand) && std::get<Scalar>(operand).wide;
}

bool divides(Binary op) {
  return op == Binary::floor_divide || op == Binary::trunc_divide || op == Binary::remainder ||
         op == Binary::fmod;
}

// What integers cannot do, though floats can.
void check_integers(Binary op, const Operand& x, const Operand& y, DType promoted) {
  if ((is_wide(x) || is_wide(y)) && !wraps(op) &&
      kBinary[static_cast<int>(op)].rule != ResultRule::Float)
    throw RuntimeError("value cannot be converted to type ", promoted, " without overflow");
  if (divides(op)) {
    const NDArray* dividend = as_array(x);
    const bool nothing = dividend && dividend->numel() == 0;
    if (!nothing && has_zero(y, promoted)) throw RuntimeError("ZeroDivisionError");
  } else if (op == Binary::pow && !as_array(y)) {
    const int64_t exponent = std::get<Scalar>(y).i;
    if (exponent < 0) throw RuntimeError("Integers to negative integer powers are not allowed.");
    const int bits = 8 * static_cast<int>(itemsize(promoted)) - (promoted != DType::UInt8);
    if (itemsize(promoted) < 8 && exponent >> bits)
      throw RuntimeError("value cannot be converted to type ", promoted, " without overflow");
  }
}

// The ops that x^exponent is, one after the other; 0 of them where it is none. PyTorch, too,
// squares and takes roots there, of float16 it only squares. A half's cube is x^3, rounded once.
int as_unaries(const Scalar& number, DType dtype, Unary (&ops)[2]) {
  if (number.stays_apart_from({2, 3, 0.5, -0.5, -1, -2})) return 0;
  const double exponent = number.to<double>();
  ops[0] = exponent == 3 ? Unary::cube : Unary::square;
  if (exponent == 2 || exponent == 3) return 1;
  if (!is_floating(dtype) || dtype == DType::Float16) return 0;
  ops[1] = Unary::reciprocal;
  if (exponent == -2 && !is_half(dtype)) return 2;
  ops[0] = exponent == 0.5 ? Unary::sqrt : exponent == -0.5 ? Unary::rsqrt : Unary::reciprocal;
  return exponent == 0.5 || exponent == -0.5 || exponent == -1;
}

}  // namespace

NDArray unary(Unary op, const NDArray& x, const NDArray* out) {
  const int i = static_cast<int>(op);
  const Operand inputs[] = {&x};
  DType promoted = x.dtype();
  if (promoted == DType::Bool) {
    if (op == Unary::neg)
      throw RuntimeError(
          "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
          "invert a mask, use the `~` or `logical_not()` operator instead.");
    if (op == Unary::relu) throw RuntimeError("Boolean inputs not supported for relu");
    if (op == Unary::square) promoted = DType::Int64;  // as pow(x, 2)
  }
  const Device& device = x.device();
  return elementwise(kUnary[i], device, device.backend->elementwise->unary[i], inputs, 1, promoted,
                     out);
}

NDArray binary(Binary op, const Operand& x, const Operand& y, const NDArray* out) {
  const int i = static_cast<int>(op);
  const Operand inputs[] = {x, y};
  const DType promoted = promote(inputs, 2);
  if (op == Binary::sub && is_bool(x) && is_bool(y) && as_array(x) && as_array(y))
    throw RuntimeError(
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
        "`logical_xor()` operator instead.");
  if (op == Binary::sub && (is_bool(x) || is_bool(y)))
    throw RuntimeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
        "invert a mask, use the `~` or `logical_not()` operator instead.");
  if (!is_floating(promoted) && promoted != DType::Bool) {
    check_integers(op, x, y, promoted);
    // Written elements that share memory could make a divisor 0 that was none.
    const NDArray* const divisor = as_array(y);
    if (out && divisor && divides(op) && !out->is_dense() && overlaps(*out, *divisor)) {
      const NDArray kept = clone(*divisor);
      return binary(op, x, &kept, out);
    }
  }
  if (op == Binary::pow && !as_array(y)) {
    if (is_half(promoted)) check_half(y, promoted);
    const NDArray* base = as_array(x);
    Unary ops[2];
    const bool same = base && base->dtype() == promoted;
    const int count = same ? as_unaries(std::get<Scalar>(y), promoted, ops) : 0;
    if (count == 1) return unary(ops[0], *base, out);
    if (count == 2) return unary(ops[1], unary(ops[0], *base), out);
  }
  if (op == Binary::trunc_divide && is_half(promoted) && as_array(y) && as_array(y)->ndim() > 0)
    return unary(Unary::trunc, binary(Binary::div, x, y), out);  // the quotient is rounded first
  const Device& device = device_of(inputs, 2);
  return elementwise(kBinary[i], device, device.backend->elementwise->binary[i], inputs, 2,
                     promoted, out);
}

NDArray ternary(Ternary op, const Operand& x, const Operand& y, const Operand& z,
                const NDArray* out) {
  const int i = static_cast<int>(op);
  const Operand inputs[] = {x, y, z};
  const Device& device = device_of(inputs, 3);
  return elementwise(kTernary[i], device, device.backend->elementwise->ternary[i], inputs, 3,
                     promote(inputs, 3), out);
}

NDArray quaternary(Quaternary op, const Operand& x, const Operand& y, const Operand& z,
                   const Operand& w, const NDArray* out) {
  const int i = static_cast<int>(op);
  const Operand inputs[] = {x, y, z, w};
  const Device& device = device_of(inputs, 4);
  return elementwise(kQuaternary[i], device, device.backend->elementwise->quaternary[i], inputs, 4,
                     promote(inputs, 4), out);
}

NDArray where(const NDArray& condition, const Operand& x, const Operand& y, const NDArray* wanted) {
  if (condition.dtype() != DType::Bool)
    throw RuntimeError(
        "where expected condition to be a boolean tensor, but got a tensor with "
        "dtype ",
        type_name(condition.dtype()));
  const Operand choices[] = {x, y};
  const DType promoted = promote(choices, 2);
  const Operand inputs[] = {&condition, x, y};
  const Dims shape = broadcast(inputs, 3);
  // What is read and written at the same places may be the same memory.
  const auto elsewhere = [&](const NDArray* x) {
    return x && same_elements(*x, *wanted) ? nullptr : x;
  };
  const Device& device = device_of(inputs, 3);
  NDArray out = wanted
                    ? strided_result_in(
                          wanted, shape, promoted, device,
                          {elsewhere(&condition), elsewhere(as_array(x)), elsewhere(as_array(y))})
                    : NDArray::empty_strided(shape, result_strides(shape, inputs, 3, promoted, 1),
                                             promoted, device);
  const DType compute = computed_in(promoted);
  launch(out)(backend_of(out).elementwise->where[static_cast<int>(compute)],
              Iter(out, inputs, 3, compute, compute));
  return out;
}

NDArray nan_to_num(const NDArray& x, const Scalar& nan, const Scalar& posinf, const Scalar& neginf,
                   const NDArray* out) {
  const Operand inputs[] = {&x, nan, posinf, neginf};
  return elementwise({"nan_to_num", ResultRule::Same}, x.device(),
                     backend_of(x).elementwise->nan_to_num, inputs, 4, x.dtype(), out);
}

}  // namespace tt
