// Generator, and the samplers that fill arrays from it.
#include <pybind11/stl.h>

#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/iter.h"
#include "cpu/random.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

struct Target {
  const NDArray& array;
  cpu::Strided strided;

  explicit Target(pb::handle object)
      : array(Argument<const NDArray&>::get(object.ptr())),
        strided{array.data(), array.dtype(), array.ndim(), array.shape().begin(),
                array.strides().begin()} {}
};

template <class T>
using handle_for = pb::handle;

// A sampler of a target and numbers, as a Python function.
template <class... Numbers>
auto sampler(void (*draw)(Generator&, const cpu::Strided&, Numbers...)) {
  return [draw](pb::handle out, Generator& generator, Numbers... numbers) {
    const Target target(out);
    check_writable(target.array);
    draw(generator, target.strided, numbers...);
    target.array.mark_written();
  };
}

pb::bytes state_bytes(const Generator& generator) {
  const Generator::State state = generator.get_state();
  return pb::bytes(reinterpret_cast<const char*>(state.data()), state.size());
}

pb::object multinomial(pb::handle weights, Generator& generator, int64_t samples,
                       bool replacement) {
  const Target p(weights);
  Dims shape = p.array.shape();
  if (shape.empty()) throw RuntimeError("prob_dist must be 1 or 2 dim");
  shape[shape.size() - 1] = samples;
  NDArray out = NDArray::empty(shape, DType::Int64);
  cpu::multinomial(generator, p.strided, samples, replacement,
                   reinterpret_cast<int64_t*>(out.data()));
  return pb::reinterpret_steal<pb::object>(to_python(std::move(out)));
}

pb::object randperm(int64_t n, Generator& generator, pb::handle dtype) {
  NDArray out = NDArray::empty({n}, dtype_from(dtype.ptr()));
  cpu::randperm(generator, out.data(), out.dtype(), n, 1);
  return pb::reinterpret_steal<pb::object>(to_python(std::move(out)));
}

// The first of arrays that must have one shape and dtype.
template <class... Targets>
const NDArray& alike(const Target& first, const Targets&... others) {
  for (const Target* other : std::initializer_list<const Target*>{&others...})
    if (other->array.shape() != first.array.shape() || other->array.dtype() != first.array.dtype())
      throw RuntimeError("expected parameters of one shape and dtype");
  return first.array;
}

template <class Fill>
pb::object filled(NDArray out, const Fill& fill) {
  fill({out.data(), out.dtype(), out.ndim(), out.shape().begin(), out.strides().begin()});
  return pb::reinterpret_steal<pb::object>(to_python(std::move(out)));
}

// A sampler of parameters, each an array, as a Python function; what it draws is contiguous.
template <class... Parameters>
auto drawn(void (*draw)(Generator&, const cpu::Strided&, Parameters...)) {
  return [draw](Generator& generator, handle_for<Parameters>... parameters) {
    return [&](const auto&... targets) {
      const NDArray& like = alike(targets...);
      return filled(NDArray::empty(like.shape(), like.dtype()),
                    [&](const cpu::Strided& out) { draw(generator, out, targets.strided...); });
    }(Target(parameters)...);
  };
}

// An elementwise function of arrays, as a Python function.
template <class... Inputs>
auto computed(void (*compute)(const cpu::Strided&, Inputs...)) {
  return [compute](handle_for<Inputs>... inputs) {
    return [&](const auto&... targets) {
      const NDArray& like = alike(targets...);
      const Operand operands[] = {&targets.array...};
      const Dims strides = result_strides(like.shape(), operands, sizeof...(targets), like.dtype());
      return filled(NDArray::empty_strided(like.shape(), strides, like.dtype()),
                    [&](const cpu::Strided& out) { compute(out, targets.strided...); });
    }(Target(inputs)...);
  };
}

}  // namespace

void add_generator(pb::module_& module) {
  pb::class_<Generator>(module, "Generator")
      .def(pb::init<>())
      .def("manual_seed", [](Generator& g, uint64_t seed) { g.manual_seed(seed); })
      .def("seed", &Generator::seed)
      .def("initial_seed", &Generator::initial_seed)
      .def("get_state", state_bytes)
      .def("set_state", [](Generator& g, const pb::bytes& state) {
        const std::string_view bytes = state;
        g.set_state(bytes.data(), bytes.size());
      });
  module.def("default_generator", &default_generator, pb::return_value_policy::reference);

  using cpu::Strided;
  module.def("uniform_", sampler(cpu::uniform_));
  module.def("normal_", sampler(cpu::normal_));
  module.def("log_normal_", sampler(cpu::log_normal_));
  module.def("exponential_", sampler(cpu::exponential_));
  module.def("cauchy_", sampler(cpu::cauchy_));
  module.def("geometric_", sampler(cpu::geometric_));
  module.def("random_", sampler(static_cast<void (*)(Generator&, const Strided&)>(cpu::random_)));
  module.def(
      "random_range_",
      sampler(static_cast<void (*)(Generator&, const Strided&, int64_t, std::optional<int64_t>)>(
          cpu::random_)));
  module.def("bernoulli_",
             sampler(static_cast<void (*)(Generator&, const Strided&, double)>(cpu::bernoulli_)));
  module.def("bernoulli_scaled_", sampler(cpu::bernoulli_scaled_));
  module.def("bernoulli_tensor_", [](pb::handle out, Generator& generator, pb::handle p) {
    const Target target(out), probability(p);
    if (probability.array.shape() != target.array.shape())
      throw RuntimeError("[bernoulli] expected p of shape ", target.array.shape(), ", got ",
                         probability.array.shape());
    check_writable(target.array);
    cpu::bernoulli_(generator, target.strided, probability.strided);
    target.array.mark_written();
  });
  module.def("poisson", drawn(cpu::poisson));
  module.def("binomial", drawn(cpu::binomial));
  module.def("standard_gamma", drawn(cpu::standard_gamma));
  module.def("standard_gamma_grad", computed(cpu::standard_gamma_grad));
  module.def("gammainc", computed(cpu::gammainc));
  module.def("gamma_density", computed(cpu::gamma_density));
  module.def("dirichlet", drawn(cpu::dirichlet));
  module.def("dirichlet_grad", computed(cpu::dirichlet_grad));
  module.def("multinomial", multinomial);
  module.def("randperm", randperm);
}

}  // namespace tt::py
