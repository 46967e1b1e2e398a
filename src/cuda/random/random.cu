// What is computed around random numbers: one element per thread.
//
// In samplers.cu are the draws themselves. What is missing there (shuffles, categories, draws by
// rejection) the CPU draws, and the device gets a copy (core/api/random.h).
#include "core/formulas/gamma.h"
#include "core/tables/random.h"
#include "cuda/infra/operands.h"
#include "cuda/infra/positions.h"
#include "cuda/infra/tables.h"

namespace tt::cuda {
namespace {

struct GammaSlope {
  __device__ static double apply(double alpha, double draw) { return gamma_slope(alpha, draw); }
};
struct DirichletSlope {
  __device__ static double apply(double x, double alpha, double total) {
    return dirichlet_slope(x, alpha, total);
  }
};
struct GammaCdf {
  __device__ static double apply(double alpha, double x) { return gamma_cdf(alpha, x); }
};
struct GammaDensity {
  __device__ static double apply(double alpha, double x) { return gamma_density_at(alpha, x); }
};

template <class T>
struct Inputs {
  const T* data[3];
};

// out = F(x, ...) in float64; array k + 1 of the positions is input k.
template <class F, class T, int kInputs>
__global__ void compute_element(const Positions<1 + kInputs> positions, const int64_t numel, T* out,
                                const Inputs<T> inputs) {
  const int64_t i = thread_index();
  if (i >= numel) return;
  const auto x = [&](int k) {
    return static_cast<double>(inputs.data[k][positions.offset(k + 1, i)]);
  };
  double result;
  if constexpr (kInputs == 2)
    result = F::apply(x(0), x(1));
  else
    result = F::apply(x(0), x(1), x(2));
  out[positions.offset(0, i)] = static_cast<T>(result);
}

template <class F, class T, class... Arrays>
void compute_as(const NDArray& out, const Arrays&... inputs) {
  launch<compute_element<F, T, sizeof...(Arrays)>>(
      grid_of(out.numel()), positions_of(out.shape(), {&out.strides(), &inputs.strides()...}),
      out.numel(), reinterpret_cast<T*>(out.data()),
      Inputs<T>{{reinterpret_cast<const T*>(inputs.data())...}});
}

template <class F, class... Arrays>
void compute(const char* op, const NDArray& out, const Arrays&... inputs) {
  if (out.dtype() == DType::Float32) return compute_as<F, float>(out, inputs...);
  if (out.dtype() == DType::Float64) return compute_as<F, double>(out, inputs...);
  throw NotImplementedError("[", op, "] is not implemented for ", out.dtype());
}

void standard_gamma_grad(const NDArray& out, const NDArray& alpha, const NDArray& draw) {
  compute<GammaSlope>("_standard_gamma_grad", out, alpha, draw);
}
void dirichlet_grad(const NDArray& out, const NDArray& x, const NDArray& alpha,
                    const NDArray& total) {
  compute<DirichletSlope>("_dirichlet_grad", out, x, alpha, total);
}
void gammainc(const NDArray& out, const NDArray& alpha, const NDArray& x) {
  compute<GammaCdf>("gammainc", out, alpha, x);
}
void gamma_density(const NDArray& out, const NDArray& alpha, const NDArray& x) {
  compute<GammaDensity>("gammainc", out, alpha, x);
}

}  // namespace

const RandomTable random_table = [] {
  RandomTable table{};
  fill_samplers(table);
  table.standard_gamma_grad = standard_gamma_grad;
  table.dirichlet_grad = dirichlet_grad;
  table.gammainc = gammainc;
  table.gamma_density = gamma_density;
  return table;
}();

}  // namespace tt::cuda
