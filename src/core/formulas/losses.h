// Losses of one element and their gradients over V; included by functors.h, in its namespace.
//
// In the gradients, g is the incoming one; they are those at x, the target t is a constant.

// -(t log x + (1 - t) log(1 - x)), the logarithms limited to -100; NaN outside of [0, 1].
template <class V>
TT_HOST_DEVICE V binary_cross_entropy(V x, V t) {
  const V least = constant<V>(-100), nan = constant<V>(__builtin_nan(""));
  const V loss = (t - one<V>()) * maximum(log1p(-x), least) - t * maximum(log(x), least);
  return select((x >= V{}) & (x <= one<V>()) & (t >= V{}) & (t <= one<V>()), loss, nan);
}
template <class V>
TT_HOST_DEVICE V bce_backward(V g, V x, V t) {
  return g * (x - t) / maximum((one<V>() - x) * x, constant<V>(1e-12));
}

// That of sigmoid(x), stably; `weight` multiplies the t log x.
template <class V>
TT_HOST_DEVICE V bce_with_logits(V x, V t, V weight) {
  return (one<V>() - t) * x - (one<V>() + (weight - one<V>()) * t) * log_sigmoid(x);
}
template <class V>
TT_HOST_DEVICE V bce_with_logits_backward(V g, V x, V t, V weight) {
  return g * ((one<V>() - t) * sigmoid(x) - weight * t * sigmoid(-x));
}

// The loss at distance d: quadratic where d is small.
template <class V>
TT_HOST_DEVICE V smooth_l1(V d, V beta) {
  const V half = constant<V>(0.5);
  return select(d < beta, half * d * (d / beta), d - half * beta);
}
template <class V>
TT_HOST_DEVICE V huber(V d, V delta) {
  const V half = constant<V>(0.5);
  return select(d <= delta, half * d * d, delta * (d - half * delta));
}
// x limited to [-edge, edge].
template <class V>
TT_HOST_DEVICE V clip(V x, V edge) {
  return minimum(maximum(x, -edge), edge);
}
