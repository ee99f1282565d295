// Absorbed attention over pages of X in bf16 by AVX-512's products of pairs (vdpbf16ps).
//
// Scores sum pairs along a row of X, as it lies in its page. The weighted sum takes pairs along two rows, interleaved
// in registers. A block of rows is read once from memory, by the scores; the weighted sum finds it in the core's second
// cache. The projections around attention are the same two products with rows of the weights in place of X's.

#pragma once

#ifdef __AVX512BF16__

#include <c10/util/BFloat16.h>
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "lanes.hpp"
#include "pages.hpp"
#include "softmax.hpp"

namespace relserve {

using Short = c10::BFloat16;

constexpr int64_t kWide = 32;    // numbers in a register, of which rows are multiples
constexpr int kScoreRows = 6;    // beside 4 heads: 24 sums
constexpr int kMixHeads = 8;     // beside 2 registers of columns: 16 sums

inline __m512bh pairs_at(const Short* from) { return (__m512bh)_mm512_loadu_si512(from); }

// Products of kR rows and of heads, [row][head], with room for a multiple of four heads in out's rows.
template <int kR>
void score_pairs(const Short* const* rows, const Short* heads, int64_t head_stride, int64_t num_heads, int64_t width,
                 float* out, int64_t out_stride) {
  for (int64_t h = 0; h < num_heads; h += kTileHeads) {
    const Short* own[kTileHeads];  // past the last head the last again
    for (int64_t i = 0; i < kTileHeads; ++i) own[i] = heads + std::min(h + i, num_heads - 1) * head_stride;
    __m512 sum[kR][kTileHeads];
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r)
#pragma GCC unroll 4
      for (int i = 0; i < kTileHeads; ++i) sum[r][i] = none();
    for (int64_t c = 0; c < width; c += kWide) {
      __m512bh x[kR];
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) x[r] = pairs_at(rows[r] + c);
#pragma GCC unroll 4
      for (int i = 0; i < kTileHeads; ++i) {
        const __m512bh asked = pairs_at(own[i] + c);
#pragma GCC unroll 8
        for (int r = 0; r < kR; ++r) sum[r][i] = _mm512_dpbf16_ps(sum[r][i], x[r], asked);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kR; ++r)
      _mm_storeu_ps(out + r * out_stride + h, sums(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
  }
}

// Two rows of numbers, a lane each, as pairs.
inline __m512i paired(__m512 even, __m512 odd) {
  const __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(even));
  const __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(odd));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

// 32 columns of two rows as 32 pairs.
struct Pairs {
  __m512bh first, second;
};

struct Sums {  // of 32 columns
  __m512 first, second;
};

inline Pairs interleaved(__m512i even, __m512i odd) {
  alignas(64) static constexpr uint16_t kLow[32] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                    8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i low = _mm512_load_si512(kLow), high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  return {(__m512bh)_mm512_permutex2var_epi16(even, low, odd), (__m512bh)_mm512_permutex2var_epi16(even, high, odd)};
}

// Add to kH heads' sums, of 32 columns each, those of pairs of rows weighted by shares, [pair][head]; pair(p) gives
// them. Sums begin as begin(h) says, and end(h, sums) takes them.
template <int kH, typename Pair, typename Begin, typename End>
void mix_pairs(const Pair& pair, int64_t num_pairs, const uint32_t* shares, int64_t share_stride, const Begin& begin,
               const End& end) {
  Sums sum[kH];
#pragma GCC unroll 8
  for (int h = 0; h < kH; ++h) sum[h] = begin(h);
  for (int64_t p = 0; p < num_pairs; ++p) {
    const Pairs x = pair(p);
#pragma GCC unroll 8
    for (int h = 0; h < kH; ++h) {
      const auto share = (__m512bh)_mm512_set1_epi32(static_cast<int>(shares[p * share_stride + h]));
      sum[h].first = _mm512_dpbf16_ps(sum[h].first, share, x.first);
      sum[h].second = _mm512_dpbf16_ps(sum[h].second, share, x.second);
    }
  }
#pragma GCC unroll 8
  for (int h = 0; h < kH; ++h) end(h, sum[h]);
}

// The same for all columns and any number of heads, with room for a multiple of eight in shares; begin and end are
// given the head and the column. The first heads leave the pairs in `kept`, with room for those of 32 columns, to the
// others. Calls ahead() between.
template <typename Begin, typename End, typename Ahead>
void mix_pairs(const Short* const* rows, int64_t num_pairs, int64_t width, const uint32_t* shares,
               int64_t share_stride, int64_t num_heads, Pairs* kept, const Begin& begin, const End& end,
               const Ahead& ahead) {
  for (int64_t c = 0; c < width; c += kWide) {
    const auto read = [&](int64_t p) {
      return interleaved((__m512i)pairs_at(rows[2 * p] + c), (__m512i)pairs_at(rows[2 * p + 1] + c));
    };
    const auto read_and_keep = [&](int64_t p) { return kept[p] = read(p); };
    const auto again = [&](int64_t p) { return kept[p]; };
    for (int64_t h = 0; h < num_heads; h += kMixHeads) {
      const auto with = [&](const auto& pair) {
        const auto begin_at = [&](int64_t i) { return begin(h + i, c); };
        const auto end_at = [&](int64_t i, const Sums& sums) { end(h + i, c, sums); };
        if (num_heads - h > kTileHeads) {
          mix_pairs<kMixHeads>(pair, num_pairs, shares + h, share_stride, begin_at, end_at);
        } else {
          mix_pairs<kTileHeads>(pair, num_pairs, shares + h, share_stride, begin_at, end_at);
        }
      };
      if (h > 0) {
        with(again);
      } else if (num_heads > kMixHeads) {
        with(read_and_keep);
      } else {
        with(read);
      }
      ahead();
    }
  }
}

inline void narrow(__m512 x, Short* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(x));
}

// Have part of `of` parts of numbers come to the second cache while other work goes on.
inline void fetch(const Short* from, int64_t count, int64_t part, int64_t of) {
  for (int64_t c = count * part / of / kWide * kWide; from != nullptr && c < count * (part + 1) / of; c += kWide)
    _mm_prefetch(from + c, _MM_HINT_T1);
}

// What one thread works with.
class PairRoom {
 public:
  using Number = Short;                  // of absorbed queries and of what attention finds, [heads, stride]
  static constexpr int64_t kHeads = 16;  // at once: the lanes of a register
  static int64_t stride(int64_t width) { return width; }

  PairRoom(int64_t heads, int64_t width)
      : width_(width), stride_(stride_of(width)), padded_(up_to(heads, kMixHeads)),
        most_(std::clamp<int64_t>((64 << 10) / width, 16, kMost)), zeros_(width), mixed_(padded_ * stride_),
        softmax_(kHeads) {}

  // The weighted sum of X [heads, width] of an absorbed query [heads, width]; `after` are the pages read next.
  void attend(const Short* query, int64_t heads, const Pages<Short>& pages, const Pages<Short>& after, Short* out) {
    std::fill_n(mixed_.get(), padded_ * stride_, 0.0f);
    softmax_.begin();
    for (int64_t at = 0; at < pages.length; at += most_)
      take(query, pages, after, at, std::min(most_, pages.length - at), heads);
    for (int64_t h = 0; h < heads; ++h) {
      const Lane part = all(1.0f / softmax_.sum(h));
      const float* row = mixed_.get() + h * stride_;
      for (int64_t c = 0; c < width_; c += kLanes) narrow(times(load(row + c), part), out + h * width_ + c);
    }
  }

 private:
  static constexpr int64_t kMost = 128;  // rows of a block

  void take(const Short* query, const Pages<Short>& pages, const Pages<Short>& after, int64_t at, int64_t count,
            int64_t heads) {
    const Short* rows[kMost + 1];
    for (int64_t r = 0; r < count; ++r) rows[r] = pages.row(at + r);
    rows[count] = zeros_.data();
    const int64_t num_pairs = (count + 1) / 2, steps = count / kScoreRows + width_ / kWide * up_to(heads, 8) / 8;
    int64_t step = 0;
    const auto ahead = [&] {  // the next block's rows come to the second cache while this one's are used
      for (int64_t r = most_ * step / steps; r < most_ * (step + 1) / steps; ++r)
        fetch(row_of(pages, after, at + count + r), width_, 0, 1);
      ++step;
    };
    int64_t r = 0;
    for (; r + kScoreRows <= count; r += kScoreRows, ahead())
      score_pairs<kScoreRows>(rows + r, query, width_, heads, width_, scores_ + r * kHeads, kHeads);
    for (; r < count; ++r)
      score_pairs<1>(rows + r, query, width_, heads, width_, scores_ + r * kHeads, kHeads);
    if (const float* less = softmax_.take(scores_, count))
      for (int64_t h = 0; h < heads; ++h) scale(mixed_.get() + h * stride_, less[h]);
    for (int64_t p = 0; p < num_pairs; ++p) {
      const float* even = scores_ + 2 * p * kHeads;
      _mm512_store_si512(shares_ + p * kHeads, paired(load(even), 2 * p + 1 < count ? load(even + kHeads) : none()));
    }
    const auto sums_so_far = [&](int64_t h, int64_t c) {
      const float* from = mixed_.get() + h * stride_ + c;
      return Sums{load(from), load(from + kLanes)};
    };
    const auto keep = [&](int64_t h, int64_t c, const Sums& sums) {
      float* to = mixed_.get() + h * stride_ + c;
      store(to, sums.first), store(to + kLanes, sums.second);
    };
    mix_pairs(rows, num_pairs, width_, shares_, kHeads, heads, kept_, sums_so_far, keep, ahead);
  }

  void scale(float* row, float by) const {
    for (int64_t c = 0; by != 1.0f && c < width_; c += kLanes) store(row + c, times(load(row + c), all(by)));
  }

  int64_t width_, stride_, padded_, most_;
  std::vector<Short> zeros_;
  Floats mixed_;
  Softmax softmax_;
  alignas(64) float scores_[kMost * kHeads] = {};
  alignas(64) uint32_t shares_[kMost / 2 * kHeads] = {};
  Pairs kept_[kMost / 2];
};

// The projections around attention, of one head with its weight [head_dim, width]; `after` is the weight read next.
class PairWeight {
 public:
  PairWeight(int64_t width, int64_t head_dim, int64_t queries)
      : width_(width), dim_(head_dim), padded_(up_to(head_dim, kLanes)), queries_(up_to(queries, kMixHeads)),
        rows_(std::max(queries, head_dim + 1)), zeros_(width), own_(padded_), shares_(padded_ / 2 * queries_),
        found_(kScoreRows * padded_), kept_(padded_ / 2) {}

  // Absorb queries, rows of which this head's part begins at query, to rows of out.
  void absorb(const Short* weight, const Short* after, const Short* query, int64_t query_stride, float scale,
              int64_t queries, Short* out, int64_t out_stride) {
    for (int64_t q = 0; q < queries; ++q) {
      for (int64_t i = 0; i < dim_; ++i) own_[i] = static_cast<float>(query[q * query_stride + i]) * scale;
      for (int64_t i = 0; i < padded_ / 2; ++i) std::memcpy(&shares_[i * queries_ + q], &own_[2 * i], sizeof(uint32_t));
    }
    for (int64_t i = 0; i < dim_; ++i) rows_[i] = weight + i * width_;
    rows_[dim_] = zeros_.data();
    const int64_t steps = width_ / kWide * queries_ / kMixHeads;
    int64_t step = 0;
    const auto give = [&](int64_t q, int64_t c, const Sums& sums) {
      if (q >= queries) return;
      Short* to = out + q * out_stride + c;
      narrow(sums.first, to), narrow(sums.second, to + kLanes);
    };
    mix_pairs(
        rows_.data(), (dim_ + 1) / 2, width_, shares_.data(), queries_, queries, kept_.data(),
        [](int64_t, int64_t) { return Sums{none(), none()}; }, give,
        [&] { fetch(after, dim_ * width_, step++, steps); });
  }

  // Project rows of z to this head's part of rows of out.
  void project(const Short* weight, const Short* after, const Short* z, int64_t z_stride, int64_t queries,
               const Short* bias, Short* out, int64_t out_stride) {
    for (int64_t q = 0; q < queries; ++q) rows_[q] = z + q * z_stride;
    for (int64_t q = 0; q < queries; q += kScoreRows) {
      const int64_t count = std::min<int64_t>(kScoreRows, queries - q);
      fetch(after, dim_ * width_, q / kScoreRows, (queries + kScoreRows - 1) / kScoreRows);
      if (count == kScoreRows) {
        score<kScoreRows>(q, 0, weight);
      } else {
        for (int64_t r = 0; r < count; ++r) score<1>(q + r, r, weight);
      }
      for (int64_t r = 0; r < count; ++r)
        for (int64_t i = 0; i < dim_; ++i)
          out[(q + r) * out_stride + i] =
              found_[r * padded_ + i] + (bias == nullptr ? 0.0f : static_cast<float>(bias[i]));
    }
  }

 private:
  template <int kR>
  void score(int64_t query, int64_t at, const Short* weight) {
    score_pairs<kR>(&rows_[query], weight, width_, dim_, width_, &found_[at * padded_], padded_);
  }

  int64_t width_, dim_, padded_, queries_;
  std::vector<const Short*> rows_;
  std::vector<Short> zeros_, own_;
  std::vector<uint32_t> shares_;
  std::vector<float> found_;
  std::vector<Pairs> kept_;
};

}  // namespace relserve

#endif
