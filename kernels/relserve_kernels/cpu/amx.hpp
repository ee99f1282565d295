// Attention of one query over pages of X in bf16 by the tiles of AMX.
//
// A block of rows is read once from memory: scores take its rows as they lie (X is the left side), the weighted sum
// takes pairs of rows interleaved in registers (X is the right side), while they are still in the core's cache.

#pragma once

#ifdef __AMX_BF16__

#include <c10/util/BFloat16.h>
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>

#include "pages.hpp"

namespace relserve {

class AmxRoom {
 public:
  using Number = c10::BFloat16;          // of absorbed queries and of what attention finds, [heads, stride]
  static int64_t stride(int64_t width) { return width; }
  static constexpr int64_t kHeads = 16;  // at once: the columns of a tile
  static constexpr int64_t kTile = 16;   // rows of a tile; pages must hold a multiple of them
  static constexpr int64_t kWide = 32;   // numbers in a tile's row; X must be a multiple of it wide

  AmxRoom(int64_t /*at_once*/, int64_t width)
      : width_(width), asked_(width * kHeads / 2), mixed_(width * kHeads), zeros_(width / 2) {
    struct alignas(64) {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t bytes[16] = {};
      uint8_t rows[16] = {};
    } shape;
    for (int tile = 0; tile < 8; ++tile) shape.bytes[tile] = 64, shape.rows[tile] = 16;
    _tile_loadconfig(&shape);
  }

  ~AmxRoom() { _tile_release(); }

  // The weighted sum of X [heads, width] of an absorbed query [heads, width].
  void attend(const c10::BFloat16* query, int64_t heads, const Pages<c10::BFloat16>& pages,
              const Pages<c10::BFloat16>& /*after*/, c10::BFloat16* out) {
    ask(query, heads);
    for (int64_t at = 0; at < pages.length; at += kRows) take(pages, at, std::min(kRows, pages.length - at));
    give(out, heads);
  }

 private:
  static constexpr int64_t kRows = 128;      // of a block: at d = 1,024 it lies in a core's L2 cache
  static constexpr float kSlack = 8.0f;      // exponents may exceed 0 by it before the sums are scaled anew
  static constexpr int64_t kCell = 16 * 16;  // numbers of a tile of 4 bytes

  struct Lines {  // aligned to the lines of the cache
    explicit Lines(int64_t count) : held(static_cast<uint32_t*>(std::aligned_alloc(64, (count * 4 + 63) / 64 * 64))) {
      std::memset(held.get(), 0, count * 4);
    }
    uint32_t* words() { return held.get(); }
    float* floats() { return reinterpret_cast<float*>(held.get()); }
    struct Free {
      void operator()(void* at) const { std::free(at); }
    };
    std::unique_ptr<uint32_t, Free> held;
  };

  // The absorbed query as tiles of the scores' right side: for 32 numbers of X, 16 pairs times 16 heads.
  void ask(const c10::BFloat16* query, int64_t heads) {
    const auto* in = reinterpret_cast<const uint32_t*>(query);
    const __mmask16 ours = static_cast<__mmask16>((1u << heads) - 1);
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i places = _mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(width_ / 2)));
    for (int64_t pair = 0; pair < width_ / 2; ++pair) {
      const __m512i found = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), ours, places, in + pair, 4);
      _mm512_store_si512(asked_.words() + pair * kHeads, found);
    }
    std::memset(mixed_.words(), 0, width_ * kHeads * sizeof(float));
    greatest_ = _mm512_set1_ps(std::numeric_limits<float>::lowest());
    sum_ = _mm512_setzero_ps();
  }

  void take(const Pages<c10::BFloat16>& pages, int64_t at, int64_t count) {
    const int64_t padded = (count + 31) / 32 * 32;
    int64_t top = 0;
    for (; top + 4 * kTile <= padded; top += 4 * kTile) score<4>(pages, at, top, count);
    for (; top < padded; top += 2 * kTile) score<2>(pages, at, top, count);
    share(count, padded);
    const uint16_t* rows[kRows];
    for (int64_t r = 0; r < padded; ++r) {
      const void* row = r < count ? static_cast<const void*>(pages.row(at + r)) : zeros_.words();
      rows[r] = static_cast<const uint16_t*>(row);
    }
    for (int64_t from = 0; from < width_; from += kWide) mix(rows, padded, from);
  }

  // Scores of tiles of 16 rows each; those past count are computed of whatever their page holds.
  template <int kTiles>
  void score(const Pages<c10::BFloat16>& pages, int64_t at, int64_t row, int64_t count) {
    const c10::BFloat16* left[4];
    for (int tile = 0; tile < kTiles; ++tile) {
      const int64_t first = row + tile * kTile;
      left[tile] = pages.row(at + (first < count ? first : row));
    }
    const auto stride = static_cast<long>(width_ * 2);
    _tile_zero(0);
    _tile_zero(1);
    if constexpr (kTiles == 4) {
      _tile_zero(2);
      _tile_zero(3);
    }
    for (int64_t from = 0; from < width_; from += kWide) {
      _tile_loadd(4, asked_.words() + from / 2 * kHeads, 64);
      _tile_loadd(5, left[0] + from, stride);
      _tile_dpbf16ps(0, 5, 4);
      _tile_loadd(6, left[1] + from, stride);
      _tile_dpbf16ps(1, 6, 4);
      if constexpr (kTiles == 4) {
        _tile_loadd(7, left[2] + from, stride);
        _tile_dpbf16ps(2, 7, 4);
        _tile_loadd(5, left[3] + from, stride);
        _tile_dpbf16ps(3, 5, 4);
      }
    }
    float* to = scores_ + row * kHeads;
    _tile_stored(0, to, 64);
    _tile_stored(1, to + kCell, 64);
    if constexpr (kTiles == 4) {
      _tile_stored(2, to + 2 * kCell, 64);
      _tile_stored(3, to + 3 * kCell, 64);
    }
  }

  // Softmax of a block's scores [rows, 16 heads] against the greatest so far, as tiles of 16 heads times 32 rows.
  void share(int64_t count, int64_t padded) {
    __m512 most = greatest_;
    for (int64_t r = 0; r < count; ++r) most = _mm512_max_ps(most, _mm512_load_ps(scores_ + r * kHeads));
    const __mmask16 risen = _mm512_cmp_ps_mask(most, _mm512_add_ps(greatest_, _mm512_set1_ps(kSlack)), _CMP_GT_OQ);
    if (risen) scale_anew(_mm512_mask_mov_ps(greatest_, risen, most));
    alignas(64) uint32_t pairs[kCell];
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i places = _mm512_slli_epi32(lane, 4);
    for (int64_t first = 0; first < padded; first += 32) {
      for (int64_t pair = 0; pair < 16; ++pair) {
        const int64_t r = first + 2 * pair;
        const __m512 even = r < count ? share_of(r) : _mm512_setzero_ps();
        const __m512 odd = r + 1 < count ? share_of(r + 1) : _mm512_setzero_ps();
        sum_ = _mm512_add_ps(sum_, _mm512_add_ps(even, odd));
        const __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even));
        const __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd));
        _mm512_store_si512(pairs + pair * 16, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
      }
      uint32_t* to = shares_ + first / 32 * kCell;
      for (int64_t h = 0; h < kHeads; ++h)
        _mm512_store_si512(to + h * 16, _mm512_i32gather_epi32(places, pairs + h, 4));
    }
  }

  __m512 share_of(int64_t row) const {
    return exp_of(_mm512_sub_ps(_mm512_load_ps(scores_ + row * kHeads), greatest_));
  }

  // exp(x), relative error below 2e-7 (Cephes' expf), for x >= -87; less is as -87.
  static __m512 exp_of(__m512 x) {
    x = _mm512_max_ps(_mm512_set1_ps(-87.0f), x);
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896341f)), 0);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.9875691500e-4f);
    for (const float term : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 0.5f})
      p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(term));
    p = _mm512_add_ps(_mm512_fmadd_ps(_mm512_mul_ps(p, r), r, r), _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, n);
  }

  void scale_anew(__m512 greatest) {
    alignas(64) float less[16];
    const __m512 factor = exp_of(_mm512_sub_ps(greatest_, greatest));
    _mm512_store_ps(less, factor);
    greatest_ = greatest;
    sum_ = _mm512_mul_ps(sum_, factor);
    for (int64_t row = 0; row < width_ / 16 * kHeads; ++row) {
      float* z = mixed_.floats() + row * 16;
      _mm512_store_ps(z, _mm512_mul_ps(_mm512_load_ps(z), _mm512_set1_ps(less[row % kHeads])));
    }
  }

  // Add the weighted sum of 32 columns: tile 0 has columns 8i to 8i + 3 of them, tile 1 has 8i + 4 to 8i + 7.
  void mix(const uint16_t* const* rows, int64_t padded, int64_t from) {
    float* z = mixed_.floats() + from * kHeads;
    alignas(64) uint32_t pairs[2][2 * kCell];
    _tile_loadd(0, z, 64);
    _tile_loadd(1, z + kCell, 64);
    for (int64_t first = 0; first < padded; first += 32) {
      uint32_t* own = pairs[first / 32 % 2];
      for (int64_t pair = 0; pair < 16; ++pair) {
        const int64_t r = first + 2 * pair;
        const __m512i even = _mm512_loadu_si512(rows[r] + from);
        const __m512i odd = _mm512_loadu_si512(rows[r + 1] + from);
        _mm512_store_si512(own + pair * 16, _mm512_unpacklo_epi16(even, odd));
        _mm512_store_si512(own + kCell + pair * 16, _mm512_unpackhi_epi16(even, odd));
      }
      _tile_loadd(4, shares_ + first / 32 * kCell, 64);
      _tile_loadd(5, own, 64);
      _tile_dpbf16ps(0, 4, 5);
      _tile_loadd(6, own + kCell, 64);
      _tile_dpbf16ps(1, 4, 6);
    }
    _tile_stored(0, z, 64);
    _tile_stored(1, z + kCell, 64);
  }

  void give(c10::BFloat16* out, int64_t heads) const {
    alignas(64) float part[16];
    _mm512_store_ps(part, _mm512_div_ps(_mm512_set1_ps(1.0f), sum_));
    const __m512i order = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
    const auto* mixed = reinterpret_cast<const float*>(mixed_.held.get());
    for (int64_t h = 0; h < heads; ++h) {
      const __m512 scale = _mm512_set1_ps(part[h]);
      for (int64_t from = 0; from < width_; from += kWide) {
        const float* z = mixed + from * kHeads + h * 16;
        const __m512 low = _mm512_mul_ps(_mm512_load_ps(z), scale);
        const __m512 high = _mm512_mul_ps(_mm512_load_ps(z + kCell), scale);
        const __m512i lows = _mm512_castsi256_si512((__m256i)_mm512_cvtneps_pbh(low));
        const __m512i highs = _mm512_castsi256_si512((__m256i)_mm512_cvtneps_pbh(high));
        _mm512_storeu_si512(out + h * width_ + from, _mm512_permutex2var_epi64(lows, order, highs));
      }
    }
  }

  int64_t width_;
  Lines asked_, mixed_, zeros_;
  alignas(64) float scores_[kRows * kHeads];
  alignas(64) uint32_t shares_[kRows / 32 * kCell];
  __m512 greatest_, sum_;
};

}  // namespace relserve

#endif
