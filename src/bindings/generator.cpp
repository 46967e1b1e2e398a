// Generator, and the samplers that fill arrays from it.
#include <pybind11/stl.h>

#include "bindings/bind.h"
#include "bindings/pybind.h"
#include "core/api/random.h"
#include "core/devices/launch.h"
#include "core/tables/random.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

template <class T>
using handle_for = pb::handle;

const Device& device_arg(pb::handle name) { return Argument<const Device&>::get(name.ptr()); }

// What a sampler draws from: None is its device's own. (pybind11 tries None as other things first,
// which takes a third of a microsecond.)
Generator* generator_arg(pb::handle generator) {
  return generator.is_none() ? nullptr : pb::cast<Generator*>(generator);
}

// A sampler of a target and numbers, as a Python function.
template <class... Numbers>
auto sampler(void (*draw)(const NDArray&, Generator*, Numbers...)) {
  return [draw](pb::handle out, pb::handle generator, Numbers... numbers) {
    const NDArray& x = array_arg(out);
    check_writable(x);
    write_into(x, [&] { draw(x, generator_arg(generator), numbers...); });
  };
}

// The first of arrays that must have one shape and dtype.
template <class... Arrays>
const NDArray& alike(const NDArray& first, const Arrays&... others) {
  OneDevice{first, others...};
  if (((others.shape() != first.shape() || others.dtype() != first.dtype()) || ...))
    throw RuntimeError("expected parameters of one shape and dtype");
  return first;
}

// A sampler of parameters, each an array, as a Python function.
template <class... Parameters>
auto drawn(NDArray (*draw)(Generator*, Parameters...)) {
  return [draw](pb::handle generator, handle_for<Parameters>... parameters) {
    alike(array_arg(parameters)...);
    return wrap(draw(generator_arg(generator), array_arg(parameters)...));
  };
}

// An elementwise function of arrays, as a Python function.
template <class... Inputs>
auto computed(void (*RandomTable::*compute)(const NDArray&, Inputs...)) {
  return [compute](handle_for<Inputs>... inputs) {
    const NDArray& like = alike(array_arg(inputs)...);
    const Operand operands[] = {&array_arg(inputs)...};
    const Dims strides = result_strides(like.shape(), operands, sizeof...(inputs), like.dtype());
    NDArray out = like.new_empty_strided(like.shape(), strides, like.dtype());
    launch(out)(backend_of(out).random->*compute, out, array_arg(inputs)...);
    return wrap(std::move(out));
  };
}

}  // namespace

void add_generator(PyObject* object) {
  pybind11::module_ module = module_from(object);
  pb::class_<Generator>(module, "Generator")
      .def(pb::init(
               [](pb::handle device) { return std::make_unique<Generator>(device_arg(device)); }),
           pb::arg("device") = "cpu")
      .def("manual_seed",
           [](Generator& g, uint64_t seed) {
             refuse_recording("seeds a generator");
             g.manual_seed(seed);
           })
      .def("seed",
           [](Generator& g) {
             refuse_recording("seeds a generator");
             return g.seed();
           })
      .def("initial_seed", &Generator::initial_seed)
      .def("get_state",
           [](const Generator& g) {
             refuse_recording("reads a generator's state");
             return pb::bytes(g.get_state());
           })
      .def("set_state", [](Generator& g, const pb::bytes& state) {
        refuse_recording("sets a generator's state");
        const std::string_view bytes = state;
        g.set_state(bytes.data(), bytes.size());
      });
  module.def(
      "default_generator",
      [](pb::handle device) -> Generator& { return default_generator(device_arg(device)); },
      pb::arg("device") = "cpu", pb::return_value_policy::reference);
  module.def("seed_accelerators", [](uint64_t seed) {
    refuse_recording("seeds a generator");
    seed_accelerators(seed);
  });

  module.def("uniform_", sampler(&uniform));
  module.def("normal_", sampler(&normal));
  module.def("log_normal_", sampler(&log_normal));
  module.def("exponential_", sampler(&exponential));
  module.def("cauchy_", sampler(&cauchy));
  module.def("geometric_", sampler(&geometric));
  module.def("random_", sampler(&random));
  module.def("random_range_", sampler(&random_range));
  module.def("bernoulli_", sampler(&bernoulli));
  module.def("bernoulli_tensor_", [](pb::handle out, pb::handle generator, pb::handle p) {
    const NDArray &x = array_arg(out), &chance = array_arg(p);
    OneDevice{x, chance};
    check_writable(x);
    write_into(x, [&] { bernoulli_each(x, generator_arg(generator), chance); });
  });
  module.def(
      "randperm",
      [](int64_t n, pb::handle generator, pb::handle dtype, pb::handle out, pb::handle device) {
        return wrap(randperm(n, generator_arg(generator), dtype_from(dtype.ptr()),
                             Argument<const NDArray*>::get(out.ptr()),
                             device.is_none() ? cpu_device() : device_arg(device)));
      },
      pb::arg("n"), pb::arg("generator"), pb::arg("dtype"), pb::arg("out") = pb::none(),
      pb::arg("device") = pb::none());
  module.def("multinomial", [](pb::handle weights, pb::handle generator, int64_t samples,
                               bool replacement) {
    return wrap(multinomial(array_arg(weights), generator_arg(generator), samples, replacement));
  });
  module.def("poisson", drawn(&poisson));
  module.def("binomial", drawn(&binomial));
  module.def("standard_gamma", drawn(&standard_gamma));
  module.def("dirichlet", drawn(&dirichlet));
  module.def("standard_gamma_grad", computed(&RandomTable::standard_gamma_grad));
  module.def("gammainc", computed(&RandomTable::gammainc));
  module.def("gamma_density", computed(&RandomTable::gamma_density));
  module.def("dirichlet_grad", computed(&RandomTable::dirichlet_grad));
}

}  // namespace tt::py
