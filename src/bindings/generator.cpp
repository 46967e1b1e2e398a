// Generator, and the samplers that fill arrays from it.
#include <pybind11/stl.h>

#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/launch.h"
#include "core/tables/random.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

Strided strided_of(const NDArray& x) {
  return {x.data(), x.dtype(), x.ndim(), x.shape().begin(), x.strides().begin()};
}

struct Target {
  const NDArray& array;
  Strided strided;

  explicit Target(pb::handle object)
      : array(Argument<const NDArray&>::get(object.ptr())), strided(strided_of(array)) {}
};

template <class T>
using handle_for = pb::handle;

// An entry of the table of random kernels.
template <class... Args>
using Entry = void (*RandomTable::*)(Args...);

// Calls the kernel of x's device that stands there.
template <class... Args, class... Given>
void call(const NDArray& x, Entry<Args...> entry, Given&&... args) {
  launch(x)(backend_of(x).random->*entry, std::forward<Given>(args)...);
}

// A sampler of a target and numbers, as a Python function.
template <class... Numbers>
auto sampler(Entry<Generator&, const Strided&, Numbers...> draw) {
  return [draw](pb::handle out, Generator& generator, Numbers... numbers) {
    const Target target(out);
    check_writable(target.array);
    write_into(target.array,
               [&] { call(target.array, draw, generator, target.strided, numbers...); });
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
  NDArray out = p.array.new_empty(shape, DType::Int64);
  launch(p.array)->random->multinomial(generator, p.strided, samples, replacement,
                                       reinterpret_cast<int64_t*>(out.data()));
  return wrap(std::move(out));
}

pb::object randperm(int64_t n, Generator& generator, pb::handle dtype, pb::handle wanted) {
  NDArray out = result_in(Argument<const NDArray*>::get(wanted.ptr()), {n}, dtype_from(dtype.ptr()),
                          cpu_device(), {});
  launch(out)->random->randperm(generator, out.data(), out.dtype(), n, 1);
  return wrap(std::move(out));
}

// The first of arrays that must have one shape and dtype.
template <class... Targets>
const NDArray& alike(const Target& first, const Targets&... others) {
  for (const Target* other : std::initializer_list<const Target*>{&others...})
    if (&other->array.device() != &first.array.device())
      throw_mixed(first.array.device(), other->array.device());
    else if (other->array.shape() != first.array.shape() ||
             other->array.dtype() != first.array.dtype())
      throw RuntimeError("expected parameters of one shape and dtype");
  return first.array;
}

template <class Fill>
pb::object filled(NDArray out, const Fill& fill) {
  fill(strided_of(out));
  return wrap(std::move(out));
}

// A sampler of parameters, each an array, as a Python function; what it draws is contiguous.
template <class... Parameters>
auto drawn(Entry<Generator&, const Strided&, Parameters...> draw) {
  return [draw](Generator& generator, handle_for<Parameters>... parameters) {
    return [&](const auto&... targets) {
      const NDArray& like = alike(targets...);
      return filled(like.new_empty(like.shape(), like.dtype()), [&](const Strided& out) {
        call(like, draw, generator, out, targets.strided...);
      });
    }(Target(parameters)...);
  };
}

// An elementwise function of arrays, as a Python function.
template <class... Inputs>
auto computed(Entry<const Strided&, Inputs...> compute) {
  return [compute](handle_for<Inputs>... inputs) {
    return [&](const auto&... targets) {
      const NDArray& like = alike(targets...);
      const Operand operands[] = {&targets.array...};
      const Dims strides = result_strides(like.shape(), operands, sizeof...(targets), like.dtype());
      return filled(like.new_empty_strided(like.shape(), strides, like.dtype()),
                    [&](const Strided& out) { call(like, compute, out, targets.strided...); });
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

  module.def("uniform_", sampler(&RandomTable::uniform));
  module.def("normal_", sampler(&RandomTable::normal));
  module.def("log_normal_", sampler(&RandomTable::log_normal));
  module.def("exponential_", sampler(&RandomTable::exponential));
  module.def("cauchy_", sampler(&RandomTable::cauchy));
  module.def("geometric_", sampler(&RandomTable::geometric));
  module.def("random_", sampler(&RandomTable::random));
  module.def("random_range_", sampler(&RandomTable::random_range));
  module.def("bernoulli_", sampler(&RandomTable::bernoulli));
  module.def("bernoulli_tensor_", [](pb::handle out, Generator& generator, pb::handle p) {
    const Target target(out), probability(p);
    if (&probability.array.device() != &target.array.device())
      throw_mixed(target.array.device(), probability.array.device());
    if (probability.array.shape() != target.array.shape())
      throw RuntimeError("[bernoulli] expected p of shape ", target.array.shape(), ", got ",
                         probability.array.shape());
    check_writable(target.array);
    write_into(target.array, [&] {
      call(target.array, &RandomTable::bernoulli_each, generator, target.strided,
           probability.strided);
    });
  });
  module.def("poisson", drawn(&RandomTable::poisson));
  module.def("binomial", drawn(&RandomTable::binomial));
  module.def("standard_gamma", drawn(&RandomTable::standard_gamma));
  module.def("standard_gamma_grad", computed(&RandomTable::standard_gamma_grad));
  module.def("gammainc", computed(&RandomTable::gammainc));
  module.def("gamma_density", computed(&RandomTable::gamma_density));
  module.def("dirichlet", drawn(&RandomTable::dirichlet));
  module.def("dirichlet_grad", computed(&RandomTable::dirichlet_grad));
  module.def("multinomial", multinomial);
  module.def("randperm", randperm, pb::arg("n"), pb::arg("generator"), pb::arg("dtype"),
             pb::arg("out") = pb::none());
}

}  // namespace tt::py
