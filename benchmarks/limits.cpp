// What this machine can do: multiply-adds and copies, without anything of a framework.
//
//   limits THREADS   prints float32 FLOP/s and bytes/s, the best of ten tries each
//
// Multiply-adds: on every thread 12 vectors in registers, each `a = a * x + y`: as many as hide the
// latency of two units of four cycles. Copies: half a GiB to another half, both touched before,
// split over the threads, by memcpy and by stores past the cache; read and written bytes count.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
typedef float Vector __attribute__((vector_size(kBytes)));

constexpr int kTries = 10, kVectors = 12;
constexpr long kSteps = 2'000'000;
constexpr size_t kCopied = size_t{512} << 20;

// The least seconds that body(thread) took on all threads together.
template <class Body>
double seconds(int threads, const Body& body) {
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) body(t);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

float multiply_add(float x, float y) {
  Vector a[kVectors];
  for (int k = 0; k < kVectors; ++k) a[k] = Vector{} + x * k;  // equal ones would be merged
  for (long i = 0; i < kSteps; ++i)
    for (Vector& v : a) v = v * x + y;
  float sum = 0;
  for (const Vector& v : a) sum += v[0];
  return sum;
}

void stream(char* to, const char* from, size_t bytes) {
#ifdef __SSE2__
  for (size_t i = 0; i < bytes; i += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  volatile float x = 0.5f, y = 0.25f, seen;  // not known to the compiler
  const double fma = seconds(threads, [&](int) { seen = multiply_add(x, y); });

  char* const from = static_cast<char*>(std::aligned_alloc(4096, kCopied));
  char* const to = static_cast<char*>(std::aligned_alloc(4096, kCopied));
  if (!from || !to) return 1;
  const size_t part = kCopied / threads / 64 * 64;
  seconds(threads, [&](int t) { std::memset(from + t * part, t, part); });
  const double plain =
      seconds(threads, [&](int t) { std::memcpy(to + t * part, from + t * part, part); });
  const double past =
      seconds(threads, [&](int t) { stream(to + t * part, from + t * part, part); });

  std::printf("%g %g\n", 2.0 * threads * kSteps * kVectors * (kBytes / sizeof(float)) / fma,
              2.0 * threads * part / std::min(plain, past));
}
