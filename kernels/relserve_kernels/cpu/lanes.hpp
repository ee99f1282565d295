// Vectors of float32 with fused products, of AVX-512 or AVX2, and the two products of small blocks made of them.

#pragma once

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__) && defined(__F16C__))
#define RELSERVE_LANES

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace relserve {

#ifdef __AVX512F__

using Lane = __m512;
constexpr int64_t kLanes = 16;    // numbers in a register, of which there are 32
constexpr int kTileRows = 6;      // rows of a block beside 4 heads: 24 sums
constexpr int kTileColumns = 4;   // registers of columns beside 4 heads: 16 sums

inline Lane none() { return _mm512_setzero_ps(); }
inline Lane all(float x) { return _mm512_set1_ps(x); }
inline Lane times_plus(Lane a, Lane b, Lane c) { return _mm512_fmadd_ps(a, b, c); }
inline Lane times(Lane a, Lane b) { return _mm512_mul_ps(a, b); }
inline Lane load(const float* from) { return _mm512_loadu_ps(from); }
inline Lane load(const c10::Half* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline Lane load(const c10::BFloat16* from) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
inline void store(float* to, Lane x) { _mm512_storeu_ps(to, x); }
inline __m256 folded(Lane x) {
  const __m512d high = _mm512_castps_pd(x);
  return _mm256_add_ps(_mm512_castps512_ps256(x), _mm256_castpd_ps(_mm512_extractf64x4_pd(high, 1)));
}

#else

using Lane = __m256;
constexpr int64_t kLanes = 8;     // numbers in a register, of which there are 16
constexpr int kTileRows = 3;      // rows of a block beside 4 heads: 12 sums, 3 rows, 1 query
constexpr int kTileColumns = 3;   // registers of columns beside 4 heads: 12 sums, 3 of X, 1 share

inline Lane none() { return _mm256_setzero_ps(); }
inline Lane all(float x) { return _mm256_set1_ps(x); }
inline Lane times_plus(Lane a, Lane b, Lane c) { return _mm256_fmadd_ps(a, b, c); }
inline Lane times(Lane a, Lane b) { return _mm256_mul_ps(a, b); }
inline Lane load(const float* from) { return _mm256_loadu_ps(from); }
inline Lane load(const c10::Half* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline Lane load(const c10::BFloat16* from) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
inline void store(float* to, Lane x) { _mm256_storeu_ps(to, x); }
inline __m256 folded(Lane x) { return x; }

#endif

constexpr int64_t kTileHeads = 4;

inline int64_t up_to(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

constexpr int64_t kLine = 16;  // numbers in a line of the cache

// Numbers from a row to the next in blocks of float32: columns in whole tiles, rows in whole lines of the cache, and an
// odd number of lines, or the rows of a block would fall on the same few places of the nearest cache.
inline int64_t stride_of(int64_t width) {
  const int64_t lines = up_to(width, kTileColumns * kLanes) / kLine + 1;
  return (lines | 1) * kLine;
}

struct Floats {  // memory that begins with a line of the cache
  explicit Floats(int64_t count)
      : held(static_cast<float*>(std::aligned_alloc(64, up_to(std::max<int64_t>(count, 1), kLine) * sizeof(float)))) {
    if (held == nullptr) throw std::bad_alloc();
  }
  float* get() const { return held.get(); }
  struct Free {
    void operator()(void* at) const { std::free(at); }
  };
  std::unique_ptr<float, Free> held;
};

// A row of any number type as float32; zeros after its end.
template <typename T>
void widen(const T* from, int64_t width, float* to, int64_t stride) {
  int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes) store(to + c, load(from + c));
  for (; c < width; ++c) to[c] = static_cast<float>(from[c]);
  std::memset(to + width, 0, (stride - width) * sizeof(float));
}

// The sums of four registers.
inline __m128 sums(Lane a, Lane b, Lane c, Lane d) {
  const __m256 pairs = _mm256_hadd_ps(folded(a), folded(b)), others = _mm256_hadd_ps(folded(c), folded(d));
  const __m256 both = _mm256_hadd_ps(pairs, others);
  return _mm_add_ps(_mm256_castps256_ps128(both), _mm256_extractf128_ps(both, 1));
}

struct Block {  // rows of float32 with zeros after their width
  const float* rows;
  int64_t count, stride, width;
};

// Products of kR rows and of kH of up to four heads: out[row][head], others of the four 0.
template <int kR, int kH>
void score_tile(const float* rows, int64_t stride, const float* heads, int64_t head_stride, int64_t width, float* out,
                int64_t out_stride) {
  Lane sum[kR][kTileHeads];
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r)
#pragma GCC unroll 4
    for (int h = 0; h < kTileHeads; ++h) sum[r][h] = none();
  for (int64_t c = 0; c < width; c += kLanes) {
    Lane x[kR];
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r) x[r] = load(rows + r * stride + c);
#pragma GCC unroll 4
    for (int h = 0; h < kH; ++h) {
      const Lane asked = load(heads + h * head_stride + c);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) sum[r][h] = times_plus(x[r], asked, sum[r][h]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kR; ++r) _mm_storeu_ps(out + r * out_stride, sums(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
}

template <int kR>
void score_tiles(const float* rows, int64_t stride, const float* heads, int64_t head_stride, int64_t num_heads,
                 int64_t width, float* out, int64_t out_stride) {
  switch (num_heads) {
    case 1: return score_tile<kR, 1>(rows, stride, heads, head_stride, width, out, out_stride);
    case 2: return score_tile<kR, 2>(rows, stride, heads, head_stride, width, out, out_stride);
    case 3: return score_tile<kR, 3>(rows, stride, heads, head_stride, width, out, out_stride);
    default: return score_tile<kR, 4>(rows, stride, heads, head_stride, width, out, out_stride);
  }
}

// The products of a block's rows and of heads, [row][head], with room for a multiple of four heads in out's rows.
inline void score(const Block& x, const float* heads, int64_t head_stride, int64_t num_heads, float* out,
                  int64_t out_stride) {
  for (int64_t h = 0; h < num_heads; h += kTileHeads) {
    const float* own = heads + h * head_stride;
    const int64_t count = std::min(kTileHeads, num_heads - h);
    int64_t r = 0;
    for (; r + kTileRows <= x.count; r += kTileRows)
      score_tiles<kTileRows>(x.rows + r * x.stride, x.stride, own, head_stride, count, x.width,
                             out + r * out_stride + h, out_stride);
    for (; r < x.count; ++r)
      score_tiles<1>(x.rows + r * x.stride, x.stride, own, head_stride, count, x.width, out + r * out_stride + h,
                     out_stride);
  }
}

// Add the sums of a tile's columns over a block's rows, weighted by kH heads' shares.
template <int kH>
void mix_tile(const float* rows, int64_t count, int64_t stride, const float* shares, int64_t share_stride, float* out,
              int64_t out_stride) {
  Lane sum[kH][kTileColumns];
#pragma GCC unroll 4
  for (int h = 0; h < kH; ++h)
#pragma GCC unroll 4
    for (int c = 0; c < kTileColumns; ++c) sum[h][c] = load(out + h * out_stride + c * kLanes);
  for (int64_t r = 0; r < count; ++r) {
    Lane x[kTileColumns];
#pragma GCC unroll 4
    for (int c = 0; c < kTileColumns; ++c) x[c] = load(rows + r * stride + c * kLanes);
#pragma GCC unroll 4
    for (int h = 0; h < kH; ++h) {
      const Lane share = all(shares[r * share_stride + h]);
#pragma GCC unroll 4
      for (int c = 0; c < kTileColumns; ++c) sum[h][c] = times_plus(share, x[c], sum[h][c]);
    }
  }
#pragma GCC unroll 4
  for (int h = 0; h < kH; ++h)
#pragma GCC unroll 4
    for (int c = 0; c < kTileColumns; ++c) store(out + h * out_stride + c * kLanes, sum[h][c]);
}

// Add to each head's row of out the sum of a block's rows weighted by its shares, [row][head]. Calls ahead(tile, of)
// as often as there are tiles.
template <typename Ahead>
void mix(const Block& x, const float* shares, int64_t share_stride, int64_t num_heads, float* out, int64_t out_stride,
         const Ahead& ahead) {
  const int64_t columns = kTileColumns * kLanes;
  const int64_t tiles = up_to(x.width, columns) / columns * (up_to(num_heads, kTileHeads) / kTileHeads);
  int64_t tile = 0;
  for (int64_t c = 0; c < x.width; c += kTileColumns * kLanes) {
    const float* rows = x.rows + c;
    for (int64_t h = 0; h < num_heads; h += kTileHeads) {
      ahead(tile++, tiles);
      float* to = out + h * out_stride + c;
      switch (num_heads - h) {
        case 1: mix_tile<1>(rows, x.count, x.stride, shares + h, share_stride, to, out_stride); break;
        case 2: mix_tile<2>(rows, x.count, x.stride, shares + h, share_stride, to, out_stride); break;
        case 3: mix_tile<3>(rows, x.count, x.stride, shares + h, share_stride, to, out_stride); break;
        default: mix_tile<4>(rows, x.count, x.stride, shares + h, share_stride, to, out_stride);
      }
    }
  }
}

}  // namespace relserve

#endif
