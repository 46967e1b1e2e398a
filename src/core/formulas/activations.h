// Activation functions and their gradients over V; included by functors.h, in its namespace.
//
// The gradients are those at x, times the incoming gradient g.

// The normal distribution function. (float has its own, vec_special.h.)
template <class V>
TT_HOST_DEVICE V normal_cdf(V x) {
  return (one<V>() + erf(x * constant<V>(0.70710678118654752))) / 2;
}
template <class V>
TT_HOST_DEVICE V gelu(V x) {
  return x * normal_cdf(x);
}
template <class V>
TT_HOST_DEVICE V gelu_backward(V g, V x) {
  const V density = exp(-x * x / 2) * constant<V>(0.39894228040143268), below = normal_cdf(x);
  return g * select(abs(x) == highest<V>(), below, below + x * density);
}

// Hendrycks & Gimpel's approximation: x (1 + tanh u) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3).
template <class V>
TT_HOST_DEVICE V gelu_tanh_inner(V x) {
  return constant<V>(0.79788456080286536) * (x + constant<V>(0.044715) * x * x * x);
}
template <class V>
TT_HOST_DEVICE V gelu_tanh(V x) {
  return x / 2 * (one<V>() + tanh(gelu_tanh_inner(x)));
}
template <class V>
TT_HOST_DEVICE V gelu_tanh_backward(V g, V x) {
  const V t = tanh(gelu_tanh_inner(x));
  const V inner_slope =
      constant<V>(0.79788456080286536) * (one<V>() + constant<V>(3 * 0.044715) * x * x);
  const V bend = (one<V>() - t * t) * inner_slope * x;
  return g * (one<V>() + t + select(t * t == one<V>(), V{}, bend)) / 2;
}

template <class V>
TT_HOST_DEVICE V silu(V x) {
  return x * sigmoid(x);
}
template <class V>
TT_HOST_DEVICE V silu_backward(V g, V x) {
  const V s = sigmoid(x);
  return g * s * (one<V>() + x * (one<V>() - s));
}

// x tanh(log(1 + exp x)) without the logarithm: with n = exp(x) (exp(x) + 2), tanh(...) = n / (n +
// 2).
template <class V>
TT_HOST_DEVICE V tanh_softplus(V x) {
  const V e = exp(minimum(x, constant<V>(30))), n = e * (e + 2);
  return n / (n + 2);
}
template <class V>
TT_HOST_DEVICE V mish(V x) {
  return x * tanh_softplus(x);
}
template <class V>
TT_HOST_DEVICE V mish_backward(V g, V x) {
  const V t = tanh_softplus(x);
  return g * (t + x * sigmoid(x) * (one<V>() - t * t));
}

template <class V>
TT_HOST_DEVICE V log_sigmoid(V x) {
  return minimum(x, V{}) - log1p_to_one(exp(-abs(x)));
}
template <class V>
TT_HOST_DEVICE V softplus(V x, V beta, V threshold) {
  const V scaled = x * beta;
  const V value = maximum(scaled, V{}) + log1p_to_one(exp(-abs(scaled)));
  return select(scaled > threshold, x, value / beta);
}

template <class V>
TT_HOST_DEVICE V elu(V x, V alpha) {
  return select(x > V{}, x, alpha * expm1(x));
}
template <class V>
TT_HOST_DEVICE V elu_backward(V g, V x, V alpha) {
  return select(x > V{}, g, g * alpha * exp(x));
}

template <class V>
TT_HOST_DEVICE V celu(V x, V alpha) {
  return select(x > V{}, x, alpha * expm1(x / alpha));
}
// The constants keep the mean at 0 and the variance at 1 (Klambauer et al. 2017).
template <class V>
TT_HOST_DEVICE V selu(V x) {
  const V scale = constant<V>(1.0507009873554804934);
  return scale * elu(x, constant<V>(1.6732632423543772848));
}
template <class V>
TT_HOST_DEVICE V selu_backward(V g, V x) {
  const V scale = constant<V>(1.0507009873554804934);
  return scale * elu_backward(g, x, constant<V>(1.6732632423543772848));
}

// Towards 0 by `edge`; NaN stays.
template <class V>
TT_HOST_DEVICE V softshrink(V x, V edge) {
  return select(x > edge, x - edge, select(x < -edge, x + edge, x * V{}));
}

template <class V>
TT_HOST_DEVICE V hardsigmoid(V x) {
  return minimum(maximum(x + 3, V{}), constant<V>(6)) / 6;
}
template <class V>
TT_HOST_DEVICE V hardswish_backward(V g, V x) {
  const V three = constant<V>(3);
  return select(x <= -three, V{}, select(x >= three, g, g * (x / three + constant<V>(0.5))));
}
