// Generator, and the samplers that fill arrays from it.
#include <pybind11/stl.h>

#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/backend.h"
#include "core/kernels/random.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

struct Target {
  const NDArray& array;
  Strided strided;

  explicit Target(pb::handle object)
      : array(Argument<const NDArray&>::get(object.ptr())),
        strided{array.data(), array.dtype(), array.ndim(), array.shape().begin(),
                array.strides().begin()} {}
};

template <class T>
using handle_for = pb::handle;

// A sampler of a target and numbers, as a Python function.
template <class... Numbers>
auto sampler(void (*draw)(Generator&, const Strided&, Numbers...)) {
  return [draw](pb::handle out, Generator& generator, Numbers... numbers) {
    const Target target(out);
    check_writable(target.array);
    write_into(target.array, [&] { draw(generator, target.strided, numbers...); });
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
  cpu_backend().random->multinomial(generator, p.strided, samples, replacement,
                                    reinterpret_cast<int64_t*>(out.data()));
  return pb::reinterpret_steal<pb::object>(to_python(std::move(out)));
}

pb::object randperm(int64_t n, Generator& generator, pb::handle dtype, pb::handle wanted) {
  NDArray out =
      result_in(Argument<const NDArray*>::get(wanted.ptr()), {n}, dtype_from(dtype.ptr()), {});
  cpu_backend().random->randperm(generator, out.data(), out.dtype(), n, 1);
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
auto drawn(void (*draw)(Generator&, const Strided&, Parameters...)) {
  return [draw](Generator& generator, handle_for<Parameters>... parameters) {
    return [&](const auto&... targets) {
      const NDArray& like = alike(targets...);
      return filled(NDArray::empty(like.shape(), like.dtype()),
                    [&](const Strided& out) { draw(generator, out, targets.strided...); });
    }(Target(parameters)...);
  };
}

// An elementwise function of arrays, as a Python function.
template <class... Inputs>
auto computed(void (*compute)(const Strided&, Inputs...)) {
  return [compute](handle_for<Inputs>... inputs) {
    return [&](const auto&... targets) {
      const NDArray& like = alike(targets...);
      const Operand operands[] = {&targets.array...};
      const Dims strides = result_strides(like.shape(), operands, sizeof...(targets), like.dtype());
      return filled(NDArray::empty_strided(like.shape(), strides, like.dtype()),
                    [&](const Strided& out) { compute(out, targets.strided...); });
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

  const RandomTable& table = *cpu_backend().random;
  module.def("uniform_", sampler(table.uniform));
  module.def("normal_", sampler(table.normal));
  module.def("log_normal_", sampler(table.log_normal));
  module.def("exponential_", sampler(table.exponential));
  module.def("cauchy_", sampler(table.cauchy));
  module.def("geometric_", sampler(table.geometric));
  module.def("random_", sampler(table.random));
  module.def("random_range_", sampler(table.random_range));
  module.def("bernoulli_", sampler(table.bernoulli));
  module.def("bernoulli_tensor_", [&table](pb::handle out, Generator& generator, pb::handle p) {
    const Target target(out), probability(p);
    if (probability.array.shape() != target.array.shape())
      throw RuntimeError("[bernoulli] expected p of shape ", target.array.shape(), ", got ",
                         probability.array.shape());
    check_writable(target.array);
    write_into(target.array,
               [&] { table.bernoulli_each(generator, target.strided, probability.strided); });
  });
  module.def("poisson", drawn(table.poisson));
  module.def("binomial", drawn(table.binomial));
  module.def("standard_gamma", drawn(table.standard_gamma));
  module.def("standard_gamma_grad", computed(table.standard_gamma_grad));
  module.def("gammainc", computed(table.gammainc));
  module.def("gamma_density", computed(table.gamma_density));
  module.def("dirichlet", drawn(table.dirichlet));
  module.def("dirichlet_grad", computed(table.dirichlet_grad));
  module.def("multinomial", multinomial);
  module.def("randperm", randperm, pb::arg("n"), pb::arg("generator"), pb::arg("dtype"),
             pb::arg("out") = pb::none());
}

}  // namespace tt::py
