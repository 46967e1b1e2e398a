#include "core/api/random.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/api/cast.h"
#include "core/devices/accelerator.h"
#include "core/devices/launch.h"
#include "core/dtypes/draw_range.h"
#include "core/dtypes/with_type.h"
#include "core/error.h"
#include "core/memory/extent.h"
#include "core/result.h"
#include "core/tables/cast.h"
#include "core/tables/random.h"

namespace tt {

namespace {

// ---- Whose stream -------------------------------------------------------------------------------

Generator& stream_of(const Device& device, Generator* given) {
  if (!given) return default_generator(device);
  if (given->is_philox() != (device.accelerator != nullptr))
    throw RuntimeError("Expected a '", device.name, "' device type for generator but found '",
                       given->device().name, "'");
  if (device.accelerator && device.accelerator->is_capturing())
    throw NotImplementedError(
        "while a CUDA graph is captured, only the default generator can draw, not the argument "
        "'generator'");
  return *given;
}

// Calls body with a generator that the CPU's samplers can use.
template <class Body>
void with_cpu_stream(Generator& generator, const Body& body) {
  if (!generator.is_philox()) return body(generator);
  if (generator.device().accelerator->is_capturing())
    throw NotImplementedError(
        "while a CUDA graph is captured, nothing can be drawn that the host draws: each replay "
        "would copy the same");
  Generator twister(cpu_device(), generator.take_seed());
  body(twister);
}

// An uninitialised array of the host whose elements lie as x's do: samplers follow the strides.
NDArray host_like(const NDArray& x) {
  if (x.numel() == 0) return NDArray::empty(x.shape(), x.dtype(), cpu_device());
  return NDArray::empty({reach_of(x)}, x.dtype(), cpu_device())
      .as_strided(x.shape(), x.strides(), 0);
}
// out = x, which is the host's.
void put(const NDArray& out, const NDArray& x) {
  const NDArray there = to_device(x, out.device());
  const Operand input = &there;
  launch(out)(backend_of(out).cast->copy, Iter(out, &input, 1, out.dtype(), out.dtype()));
}
template <class T>
T host_of(T number) {
  return number;
}
NDArray host_of(const NDArray& x) { return on_host(x); }

// An entry of the table of random kernels.
template <class... Args>
using Entry = void (*RandomTable::*)(Generator&, const NDArray&, Args...);

template <class... Args, class... Others>
void draw(const NDArray& out, Generator* given, Entry<Args...> entry, const Others&... others) {
  Generator& generator = stream_of(out.device(), given);
  if (out.numel() == 0) return;
  if (const auto kernel = backend_of(out).random->*entry)
    return launch(out)(kernel, generator, out, others...);
  const NDArray host = host_like(out);
  with_cpu_stream(generator, [&](Generator& stream) {
    launch(host)(backend_of(host).random->*entry, stream, host, host_of(others)...);
  });
  put(out, host);
}

// ---- Bounds -------------------------------------------------------------------------------------

// The largest number of a floating-point dtype.
double limit_of(const char* op, DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 65504;
    case DType::BFloat16:
      return 0x1.fep127;
    case DType::Float32:
      return std::numeric_limits<float>::max();
    case DType::Float64:
      return std::numeric_limits<double>::max();
    default:
      throw NotImplementedError("[", op, "] is not implemented for ", dtype);
  }
}
void check_floating(const char* op, DType dtype) {
  if (!is_floating(dtype))
    throw RuntimeError("[", op, "] expects a floating-point dtype, got ", dtype);
}

// A float cannot hold every integer: the bounds, `from` with inwards = 1 and `to` with -1, move to
// where casting a draw stays between them.
template <class T>
int64_t nearest(int64_t bound, int inwards) {
  int64_t next;
  if (__builtin_add_overflow(bound, inwards, &next)) return bound;
  const T cast = static_cast<T>(next);
  if (cast >= T(0x1p63)) return bound;  // beyond int64: left as it is
  const auto rounded = static_cast<int64_t>(cast);
  if (inwards > 0 ? rounded >= bound : rounded < bound) return bound;
  const int log2 = 63 - __builtin_clzll(static_cast<uint64_t>(std::abs(next)));
  return rounded + inwards * (int64_t{1} << (log2 - kDigits<T> + 1));
}

template <class T>
void check_range(int64_t from, int64_t last, DType dtype) {
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  if constexpr (!is_float_type<T>) {
    low = static_cast<int64_t>(std::numeric_limits<T>::lowest());
    high = largest<T>();
  } else if (std::is_same_v<T, Half>) {
    high = 65504;
    low = -high;
  }
  if (from < low || from > high) throw RuntimeError("[random_] from is out of bounds for ", dtype);
  if (last < low || last > high)
    throw RuntimeError("[random_] to - 1 is out of bounds for ", dtype);
}

}  // namespace

// ---- Continuous distributions -------------------------------------------------------------------

void uniform(const NDArray& out, Generator* generator, double from, double to) {
  const double limit = limit_of("uniform_", out.dtype());
  if (!(std::abs(from) <= limit))
    throw RuntimeError("[uniform_] from is out of bounds for ", out.dtype(), ": ", from);
  if (!(std::abs(to) <= limit))
    throw RuntimeError("[uniform_] to is out of bounds for ", out.dtype(), ": ", to);
  if (from > to)
    throw RuntimeError("[uniform_] expects a range [from, to), but found from=", from,
                       " > to=", to);
  if (to - from > limit)
    throw RuntimeError("[uniform_] to - from is out of bounds for ", out.dtype(), ": from=", from,
                       ", to=", to);
  draw(out, generator, &RandomTable::uniform, from, to);
}

void normal(const NDArray& out, Generator* generator, double mean, double std) {
  if (!(std >= 0)) throw RuntimeError("[normal_] expects std >= 0, but found std=", std);
  draw(out, generator, &RandomTable::normal, mean, std);
}

void log_normal(const NDArray& out, Generator* generator, double mean, double std) {
  if (!(std > 0)) throw RuntimeError("[log_normal_] expects std > 0, but found std=", std);
  draw(out, generator, &RandomTable::log_normal, mean, std);
}

void exponential(const NDArray& out, Generator* generator, double lambda) {
  if (!(lambda > 0))
    throw RuntimeError("[exponential_] expects lambda > 0, but found lambda=", lambda);
  if (out.numel() > 0) check_floating("exponential_", out.dtype());
  draw(out, generator, &RandomTable::exponential, lambda);
}

void cauchy(const NDArray& out, Generator* generator, double median, double sigma) {
  if (!(sigma > 0)) throw RuntimeError("[cauchy_] expects sigma > 0, but found sigma=", sigma);
  check_floating("cauchy_", out.dtype());
  draw(out, generator, &RandomTable::cauchy, median, sigma);
}

// ---- Discrete distributions ---------------------------------------------------------------------

void geometric(const NDArray& out, Generator* generator, double p) {
  if (!(p > 0 && p < 1)) throw RuntimeError("[geometric_] expects p in (0, 1), but got p=", p);
  if (out.numel() > 0 && out.dtype() == DType::Bool)
    throw NotImplementedError("[geometric_] is not implemented for bool");
  draw(out, generator, &RandomTable::geometric, p);
}

void random(const NDArray& out, Generator* generator) {
  draw(out, generator, &RandomTable::random);
}

void random_range(const NDArray& out, Generator* generator, int64_t from,
                  std::optional<int64_t> to) {
  with_type(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    constexpr bool floating = is_float_type<T>;
    int64_t first = from;
    uint64_t range = 0;
    if (to) {
      if (from >= *to)
        throw RuntimeError("random_ expects 'from' to be less than 'to', but got from=", from,
                           " >= to=", *to);
      int64_t end = *to;
      if constexpr (floating) {
        first = nearest<T>(first, 1);
        end = nearest<T>(end, -1);
        if (first >= end)
          throw RuntimeError("[random_] expects 'from' cast to ", out.dtype(),
                             " to be less than 'to', but got from=", first, " >= to=", end);
      }
      check_range<T>(first, end - 1, out.dtype());
      range = static_cast<uint64_t>(end) - static_cast<uint64_t>(first);
    } else if (from != std::numeric_limits<int64_t>::lowest()) {
      if constexpr (floating) {
        first = nearest<T>(first, 1);
        if (first >= largest<T>())
          throw RuntimeError("[random_] expects 'from' cast to ", out.dtype(), " to be less than ",
                             largest<T>(), ", but got from=", first);
      }
      check_range<T>(first, largest<T>(), out.dtype());
      range = static_cast<uint64_t>(largest<T>()) - static_cast<uint64_t>(first) + 1;
    } else if (out.numel() > 0 && !floating && !std::is_same_v<T, int64_t>) {
      throw RuntimeError("[random_] from is out of bounds for ", out.dtype());
    }
    draw(out, generator, &RandomTable::random_range, first, range);
  });
}

void bernoulli(const NDArray& out, Generator* generator, double p, double value) {
  if (!(p >= 0 && p <= 1)) throw RuntimeError("[bernoulli_] expects p in [0, 1], but got p=", p);
  draw(out, generator, &RandomTable::bernoulli, p, value);
}

void bernoulli_each(const NDArray& out, Generator* generator, const NDArray& p) {
  if (p.shape() != out.shape())
    throw RuntimeError("[bernoulli] expected p of shape ", out.shape(), ", got ", p.shape());
  draw(out, generator, &RandomTable::bernoulli_each, p);
}

// ---- Indices ------------------------------------------------------------------------------------

NDArray randperm(int64_t n, Generator* generator, DType dtype, const NDArray* out,
                 const Device& device) {
  if (dtype == DType::Bool) throw NotImplementedError("[randperm] is not implemented for bool");
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr bool rounds = std::is_same_v<T, BFloat16>;  // as PyTorch lets it
    if (!rounds && n > 0 && static_cast<uint64_t>(n) - 1 > static_cast<uint64_t>(largest<T>()))
      throw RuntimeError("[randperm] ", dtype, " cannot hold the numbers below ", n);
  });
  const NDArray result = result_in(out, {n}, dtype, device, {});
  draw(result, generator, &RandomTable::randperm);
  return result;
}

NDArray multinomial(const NDArray& weights, Generator* generator, int64_t samples,
                    bool replacement) {
  const NDArray p = backend_of(weights).random->multinomial ? weights : on_host(weights);
  Dims shape = p.shape();
  if (shape.empty()) throw RuntimeError("prob_dist must be 1 or 2 dim");
  shape[shape.size() - 1] = samples;
  const NDArray out = p.new_empty(shape, DType::Int64);
  with_cpu_stream(stream_of(weights.device(), generator), [&](Generator& stream) {
    launch(p)(backend_of(p).random->multinomial, stream, p, samples, replacement,
              data_of<int64_t>(out));
  });
  return to_device(out, weights.device());
}

// ---- Draws of parameters ------------------------------------------------------------------------

namespace {

// A contiguous array of draws, from parameters of its shape.
template <class... Args, class... Others>
NDArray drawn(Generator* generator, Entry<Args...> entry, const NDArray& first,
              const Others&... others) {
  const NDArray out = first.new_empty(first.shape(), first.dtype());
  draw(out, generator, entry, first, others...);
  return out;
}

}  // namespace

NDArray poisson(Generator* generator, const NDArray& rate) {
  return drawn(generator, &RandomTable::poisson, rate);
}
NDArray binomial(Generator* generator, const NDArray& count, const NDArray& p) {
  return drawn(generator, &RandomTable::binomial, count, p);
}
NDArray standard_gamma(Generator* generator, const NDArray& alpha) {
  return drawn(generator, &RandomTable::standard_gamma, alpha);
}
NDArray dirichlet(Generator* generator, const NDArray& alpha) {
  return drawn(generator, &RandomTable::dirichlet, alpha);
}

}  // namespace tt
