// Generator, and the samplers that fill arrays from it.
#include <pybind11/stl.h>

#include "bindings/bind.h"
#include "bindings/types.h"
#include "core/api/cast.h"
#include "core/extent.h"
#include "core/launch.h"
#include "core/tables/cast.h"
#include "core/tables/random.h"

namespace tt::py {

namespace pb = pybind11;

namespace {

template <class T>
using handle_for = pb::handle;

// An entry of the table of random kernels.
template <class... Args>
using Entry = void (*RandomTable::*)(Args...);

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
  launch(out)->cast->copy(Iter(out, &input, 1, out.dtype(), out.dtype()));
}
template <class T>
T host_of(T number) {
  return number;
}
NDArray host_of(const NDArray& x) { return on_host(x); }

// Fills `out` with draws, which depend on the others. A device without samplers takes the CPU's.
template <class... Args, class... Others>
void draw_into(const NDArray& out, Entry<Generator&, const NDArray&, Args...> entry,
               Generator& generator, const Others&... others) {
  if (const auto kernel = backend_of(out).random->*entry)
    return launch(out)(kernel, generator, out, others...);
  const NDArray host = host_like(out);
  launch(host)(backend_of(host).random->*entry, generator, host, host_of(others)...);
  put(out, host);
}

// A sampler of a target and numbers, as a Python function.
template <class... Numbers>
auto sampler(Entry<Generator&, const NDArray&, Numbers...> draw) {
  return [draw](pb::handle out, Generator& generator, Numbers... numbers) {
    const NDArray& x = array_arg(out);
    check_writable(x);
    write_into(x, [&] { draw_into(x, draw, generator, numbers...); });
  };
}

pb::bytes state_bytes(const Generator& generator) {
  const Generator::State state = generator.get_state();
  return pb::bytes(reinterpret_cast<const char*>(state.data()), state.size());
}

pb::object multinomial(pb::handle weights, Generator& generator, int64_t samples,
                       bool replacement) {
  const NDArray &given = array_arg(weights),
                p = backend_of(given).random->multinomial ? given : on_host(given);
  Dims shape = p.shape();
  if (shape.empty()) throw RuntimeError("prob_dist must be 1 or 2 dim");
  shape[shape.size() - 1] = samples;
  NDArray out = p.new_empty(shape, DType::Int64);
  launch(p)->random->multinomial(generator, p, samples, replacement, data_of<int64_t>(out));
  return wrap(to_device(out, given.device()));
}

pb::object randperm(int64_t n, Generator& generator, pb::handle dtype, pb::handle wanted) {
  NDArray out = result_in(Argument<const NDArray*>::get(wanted.ptr()), {n}, dtype_from(dtype.ptr()),
                          cpu_device(), {});
  launch(out)->random->randperm(generator, out);
  return wrap(std::move(out));
}

// The first of arrays that must have one shape and dtype.
template <class... Arrays>
const NDArray& alike(const NDArray& first, const Arrays&... others) {
  OneDevice{first, others...};
  if (((others.shape() != first.shape() || others.dtype() != first.dtype()) || ...))
    throw RuntimeError("expected parameters of one shape and dtype");
  return first;
}

// A sampler of parameters, each an array, as a Python function; what it draws is contiguous.
template <class... Parameters>
auto drawn(Entry<Generator&, const NDArray&, Parameters...> draw) {
  return [draw](Generator& generator, handle_for<Parameters>... parameters) {
    const NDArray& like = alike(array_arg(parameters)...);
    NDArray out = like.new_empty(like.shape(), like.dtype());
    draw_into(out, draw, generator, array_arg(parameters)...);
    return wrap(std::move(out));
  };
}

// An elementwise function of arrays, as a Python function.
template <class... Inputs>
auto computed(Entry<const NDArray&, Inputs...> compute) {
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
    const NDArray &x = array_arg(out), &chance = array_arg(p);
    OneDevice{x, chance};
    if (chance.shape() != x.shape())
      throw RuntimeError("[bernoulli] expected p of shape ", x.shape(), ", got ", chance.shape());
    check_writable(x);
    write_into(x, [&] { draw_into(x, &RandomTable::bernoulli_each, generator, chance); });
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
