"""The C functions that a file may need: each is written only if a node calls it.

All are naive loops; the innermost one runs along memory, so that a compiler can vectorise it.
"""

# What a function calls.
NEEDS = {"lstm": ("sigmoid", "matmul"), "gru": ("sigmoid", "matmul"), "rnn": ("matmul",)}

FUNCTIONS = {
    "sigmoid": """\
static float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }""",
    "matmul": """\
/* y (rows, cols) = x (rows, inner) w (inner, cols) + b (cols), or + y where add is not 0 */
static void matmul(const float *x, const float *w, const float *b, float *y, int rows, int inner,
                   int cols, int add) {
  for (int r = 0; r < rows; r++, x += inner, y += cols) {
    if (!add)
      for (int o = 0; o < cols; o++) y[o] = b ? b[o] : 0.0f;
    for (int i = 0; i < inner; i++) {
      const float v = x[i], *row = w + (size_t)i * cols;
      for (int o = 0; o < cols; o++) y[o] += v * row[o];
    }
  }
}""",
    "conv2d": """\
/* x (n, c, h, wd), w (o, c / groups, kh, kw), b (o) or NULL -> y (n, o, oh, ow) */
static void conv2d(const float *x, const float *w, const float *b, float *y, int n, int c, int h,
                   int wd, int o, int kh, int kw, int oh, int ow, int sh, int sw, int ph, int pw,
                   int dh, int dw, int groups) {
  const int cg = c / groups, og = o / groups;
  for (int s = 0; s < n; s++)
    for (int k = 0; k < o; k++) {
      float *plane = y + ((size_t)s * o + k) * oh * ow;
      for (int i = 0; i < oh * ow; i++) plane[i] = b ? b[k] : 0.0f;
      for (int ci = 0; ci < cg; ci++) {
        const float *in = x + ((size_t)s * c + (size_t)(k / og) * cg + ci) * h * wd;
        for (int ky = 0; ky < kh; ky++)
          for (int kx = 0; kx < kw; kx++) {
            const float v = w[(((size_t)k * cg + ci) * kh + ky) * kw + kx];
            int first = 0, last = ow; /* the columns whose tap lies inside */
            while (first < ow && first * sw - pw + kx * dw < 0) first++;
            while (last > first && (last - 1) * sw - pw + kx * dw >= wd) last--;
            for (int oy = 0; oy < oh; oy++) {
              const int iy = oy * sh - ph + ky * dh;
              if (iy < 0 || iy >= h) continue;
              const float *row = in + (size_t)iy * wd;
              for (int ox = first; ox < last; ox++)
                plane[oy * ow + ox] += v * row[ox * sw - pw + kx * dw];
            }
          }
      }
    }
}""",
    "conv_transpose2d": """\
/* x (n, c, h, wd), w (c, o / groups, kh, kw), b (o) or NULL -> y (n, o, oh, ow) */
static void conv_transpose2d(const float *x, const float *w, const float *b, float *y, int n, int c,
                             int h, int wd, int o, int kh, int kw, int oh, int ow, int sh, int sw,
                             int ph, int pw, int dh, int dw, int groups) {
  const int cg = c / groups, og = o / groups;
  for (int s = 0; s < n; s++)
    for (int k = 0; k < o; k++) {
      float *plane = y + ((size_t)s * o + k) * oh * ow;
      for (int i = 0; i < oh * ow; i++) plane[i] = b ? b[k] : 0.0f;
      for (int ci = 0; ci < cg; ci++) {
        const int from = k / og * cg + ci;
        const float *in = x + ((size_t)s * c + from) * h * wd;
        for (int ky = 0; ky < kh; ky++)
          for (int kx = 0; kx < kw; kx++) {
            const float v = w[(((size_t)from * og + k % og) * kh + ky) * kw + kx];
            for (int iy = 0; iy < h; iy++) {
              const int oy = iy * sh - ph + ky * dh;
              if (oy < 0 || oy >= oh) continue;
              for (int ix = 0; ix < wd; ix++) {
                const int ox = ix * sw - pw + kx * dw;
                if (ox >= 0 && ox < ow) plane[oy * ow + ox] += v * in[iy * wd + ix];
              }
            }
          }
      }
    }
}""",
    "max_pool2d": """\
/* x (planes, h, wd) -> y (planes, oh, ow) */
static void max_pool2d(const float *x, float *y, int planes, int h, int wd, int oh, int ow, int kh,
                       int kw, int sh, int sw, int ph, int pw, int dh, int dw) {
  for (int p = 0; p < planes; p++, x += (size_t)h * wd)
    for (int oy = 0; oy < oh; oy++)
      for (int ox = 0; ox < ow; ox++) {
        float top = -INFINITY;
        for (int ky = 0; ky < kh; ky++)
          for (int kx = 0; kx < kw; kx++) {
            const int iy = oy * sh - ph + ky * dh, ix = ox * sw - pw + kx * dw;
            if (iy < 0 || iy >= h || ix < 0 || ix >= wd) continue;
            const float v = x[(size_t)iy * wd + ix];
            if (v > top || v != v) top = v;
          }
        *y++ = top;
      }
}""",
    "avg_pool2d": """\
/* x (planes, h, wd) -> y (planes, oh, ow); padding counts in the mean where counted is not 0 */
static void avg_pool2d(const float *x, float *y, int planes, int h, int wd, int oh, int ow, int kh,
                       int kw, int sh, int sw, int ph, int pw, int counted, int divisor) {
  for (int p = 0; p < planes; p++, x += (size_t)h * wd)
    for (int oy = 0; oy < oh; oy++)
      for (int ox = 0; ox < ow; ox++) {
        int y0 = oy * sh - ph, x0 = ox * sw - pw;
        int y1 = y0 + kh < h + ph ? y0 + kh : h + ph, x1 = x0 + kw < wd + pw ? x0 + kw : wd + pw;
        int count = (y1 - y0) * (x1 - x0);
        y0 = y0 < 0 ? 0 : y0, x0 = x0 < 0 ? 0 : x0;
        y1 = y1 < h ? y1 : h, x1 = x1 < wd ? x1 : wd;
        if (!counted) count = (y1 - y0) * (x1 - x0);
        float sum = 0.0f;
        for (int iy = y0; iy < y1; iy++)
          for (int ix = x0; ix < x1; ix++) sum += x[(size_t)iy * wd + ix];
        *y++ = sum / (float)(divisor ? divisor : count);
      }
}""",
    "adaptive_pool2d": """\
/* x (planes, h, wd) -> y (planes, oh, ow): the mean of each window, or its largest element */
static void adaptive_pool2d(const float *x, float *y, int planes, int h, int wd, int oh, int ow,
                            int largest) {
  for (int p = 0; p < planes; p++, x += (size_t)h * wd)
    for (int oy = 0; oy < oh; oy++)
      for (int ox = 0; ox < ow; ox++) {
        const int y0 = oy * h / oh, y1 = ((oy + 1) * h + oh - 1) / oh;
        const int x0 = ox * wd / ow, x1 = ((ox + 1) * wd + ow - 1) / ow;
        float found = largest ? -INFINITY : 0.0f;
        for (int iy = y0; iy < y1; iy++)
          for (int ix = x0; ix < x1; ix++) {
            const float v = x[(size_t)iy * wd + ix];
            if (!largest) found += v;
            else if (v > found || v != v) found = v;
          }
        *y++ = largest ? found : found / (float)((y1 - y0) * (x1 - x0));
      }
}""",
    "norm": """\
/* Each row of n elements less its mean (if centered), over the root of its variance; times w and
   plus b, of which each entry counts for `inner` elements; rows take turns among `turns` parts. */
static void norm(const float *x, const float *w, const float *b, float *y, int rows, int n,
                 int inner, int turns, float eps, int centered) {
  for (int r = 0; r < rows; r++, x += n, y += n) {
    float mean = 0.0f, square = 0.0f;
    for (int i = 0; centered && i < n; i++) mean += x[i];
    mean /= (float)n;
    for (int i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean);
    const float scale = 1.0f / sqrtf(square / (float)n + eps);
    const int part = r % turns * (n / inner);
    for (int i = 0; i < n; i++) {
      const float v = (x[i] - mean) * scale * (w ? w[part + i / inner] : 1.0f);
      y[i] = b ? v + b[part + i / inner] : v;
    }
  }
}""",
    "softmax": """\
/* x (outer, n, inner) -> y, along n */
static void softmax(const float *x, float *y, int outer, int n, int inner, int logarithm) {
  for (int o = 0; o < outer; o++)
    for (int i = 0; i < inner; i++) {
      const size_t at = (size_t)o * n * inner + i;
      float top = -INFINITY, sum = 0.0f;
      for (int k = 0; k < n; k++) {
        const float v = x[at + (size_t)k * inner];
        top = v > top ? v : top;
      }
      for (int k = 0; k < n; k++) sum += expf(x[at + (size_t)k * inner] - top);
      for (int k = 0; k < n; k++) {
        const float v = x[at + (size_t)k * inner] - top;
        y[at + (size_t)k * inner] = logarithm ? v - logf(sum) : expf(v) / sum;
      }
    }
}""",
    "attention": """\
/* q (l, e), k (s, e), v (s, d) -> y (l, d); a mask's row of query i begins at mask + i * step; the
   scores are s floats. A row that sees no key is 0. */
static void attention(const float *q, const float *k, const float *v, const float *mask, float *y,
                      float *scores, int l, int s, int e, int d, int step, int causal,
                      float scale) {
  for (int i = 0; i < l; i++, q += e, y += d) {
    float top = -INFINITY, sum = 0.0f;
    const int seen = causal && i + 1 < s ? i + 1 : s;
    for (int j = 0; j < seen; j++) {
      float dot = 0.0f;
      for (int c = 0; c < e; c++) dot += q[c] * k[(size_t)j * e + c];
      scores[j] = dot * scale + (mask ? mask[(size_t)i * step + j] : 0.0f);
      top = scores[j] > top || scores[j] != scores[j] ? scores[j] : top;
    }
    for (int c = 0; c < d; c++) y[c] = 0.0f;
    if (top == -INFINITY) continue;
    for (int j = 0; j < seen; j++) sum += scores[j] = expf(scores[j] - top);
    for (int j = 0; j < seen; j++) {
      const float p = scores[j] / sum;
      for (int c = 0; c < d; c++) y[c] += p * v[(size_t)j * d + c];
    }
  }
}""",
    "lstm": """\
/* x (steps, batch, in), w (in, 4 hidden), u (hidden, 4 hidden), state h, c (batch, hidden), which
   become the last; y (steps, batch, hidden); a: 8 batch hidden floats. Gates i, f, g, o. */
static void lstm(const float *x, const float *w, const float *u, const float *bw, const float *bu,
                 float *h, float *c, float *y, float *a, int steps, int batch, int in, int hidden,
                 int reverse) {
  float *r = a + (size_t)batch * 4 * hidden;
  for (int k = 0; k < steps; k++) {
    const int t = reverse ? steps - 1 - k : k;
    matmul(x + (size_t)t * batch * in, w, bw, a, batch, in, 4 * hidden, 0);
    matmul(h, u, bu, r, batch, hidden, 4 * hidden, 0);
    for (int s = 0; s < batch; s++)
      for (int j = 0; j < hidden; j++) {
        const size_t g = (size_t)s * 4 * hidden + j, at = (size_t)s * hidden + j;
        const float i = sigmoid(a[g] + r[g]), f = sigmoid(a[g + hidden] + r[g + hidden]);
        const float n = tanhf(a[g + 2 * (size_t)hidden] + r[g + 2 * (size_t)hidden]);
        const float o = sigmoid(a[g + 3 * (size_t)hidden] + r[g + 3 * (size_t)hidden]);
        c[at] = f * c[at] + i * n;
        h[at] = o * tanhf(c[at]);
        y[(size_t)t * batch * hidden + at] = h[at];
      }
  }
}""",
    "gru": """\
/* as lstm, with gates r, z, n and without c; a: 6 batch hidden floats */
static void gru(const float *x, const float *w, const float *u, const float *bw, const float *bu,
                float *h, float *y, float *a, int steps, int batch, int in, int hidden,
                int reverse) {
  float *r = a + (size_t)batch * 3 * hidden;
  for (int k = 0; k < steps; k++) {
    const int t = reverse ? steps - 1 - k : k;
    matmul(x + (size_t)t * batch * in, w, bw, a, batch, in, 3 * hidden, 0);
    matmul(h, u, bu, r, batch, hidden, 3 * hidden, 0);
    for (int s = 0; s < batch; s++)
      for (int j = 0; j < hidden; j++) {
        const size_t g = (size_t)s * 3 * hidden + j, at = (size_t)s * hidden + j;
        const float z = sigmoid(a[g + hidden] + r[g + hidden]);
        const float n = tanhf(a[g + 2 * (size_t)hidden] +
                              sigmoid(a[g] + r[g]) * r[g + 2 * (size_t)hidden]);
        h[at] = n + z * (h[at] - n);
        y[(size_t)t * batch * hidden + at] = h[at];
      }
  }
}""",
    "rnn": """\
/* as lstm, without gates and c; a: 2 batch hidden floats; tanh, or relu where `rectified` */
static void rnn(const float *x, const float *w, const float *u, const float *bw, const float *bu,
                float *h, float *y, float *a, int steps, int batch, int in, int hidden, int reverse,
                int rectified) {
  float *r = a + (size_t)batch * hidden;
  for (int k = 0; k < steps; k++) {
    const int t = reverse ? steps - 1 - k : k;
    matmul(x + (size_t)t * batch * in, w, bw, a, batch, in, hidden, 0);
    matmul(h, u, bu, r, batch, hidden, hidden, 0);
    for (int i = 0; i < batch * hidden; i++) {
      const float v = a[i] + r[i];
      h[i] = rectified ? (v < 0.0f ? 0.0f : v) : tanhf(v);
      y[(size_t)t * batch * hidden + i] = h[i];
    }
  }
}""",
}
