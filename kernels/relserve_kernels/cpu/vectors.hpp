// Absorbed attention over pages of X in float32's fused products, whatever X's number type: for CPUs without products
// of shorter numbers.
//
// A block of rows is widened to float32 once, into memory that stays in the core's cache, and taken by all heads:
// scores, softmax so far (online softmax), weighted sums. The absorbed query and the sums are float32 throughout. The
// products before and after it are of the same two kinds: q Wk_h sums rows of Wk_h weighted by q, z Wv_h is z's
// products with rows of Wv_h.

#pragma once

#include "lanes.hpp"

#ifdef RELSERVE_LANES

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "pages.hpp"
#include "softmax.hpp"

namespace relserve {

// Rows that fit a third of a core's second cache of 512 KB or more, in whole tiles.
inline int64_t rows_of_block(int64_t stride) {
  const int64_t fit = (160 << 10) / (stride * static_cast<int64_t>(sizeof(float)));
  return std::clamp<int64_t>(fit, kTileRows, 96) / kTileRows * kTileRows;
}

// What one thread works with; T is the number type of X.
template <typename T>
class VectorRoom {
 public:
  VectorRoom(int64_t heads, int64_t width)
      : width_(width), stride_(stride_of(width)), padded_(up_to(heads, kLanes)), most_(rows_of_block(stride_)),
        block_(most_ * stride_), scores_(most_ * padded_), greatest_(padded_), sum_(padded_), less_(padded_) {}

  // The weighted sum of X of each head, [heads, stride_of(width)], of an absorbed query of that shape. Both have
  // zeros after their width.
  void attend(const float* query, int64_t heads, const Pages<T>& pages, float* out) {
    std::fill_n(out, heads * stride_, 0.0f);
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    std::fill(greatest_.begin(), greatest_.end(), std::numeric_limits<float>::lowest());
    for (int64_t at = 0; at < pages.length; at += most_) {
      const int64_t count = std::min(most_, pages.length - at);
      for (int64_t r = 0; r < count; ++r) widen(pages.row(at + r), width_, block_.get() + r * stride_, stride_);
      const Block rows{block_.get(), count, stride_, width_};
      score(rows, query, stride_, heads, scores_.data(), padded_);
      share(heads, count, out);
      const int64_t next = at + count, left = std::min(most_, pages.length - next);
      mix(rows, scores_.data(), padded_, heads, out, stride_, [&](int64_t tile, int64_t of) {
        for (int64_t r = left * tile / of; r < left * (tile + 1) / of; ++r) fetch(pages.row(next + r));
      });
    }
    for (int64_t h = 0; h < heads; ++h) scale(out + h * stride_, 1.0f / sum_[h]);
  }

 private:
  // Have a row of X come to the second cache while other work goes on.
  void fetch(const T* row) const {
    const auto* bytes = reinterpret_cast<const char*>(row);
    for (size_t at = 0; at < width_ * sizeof(T); at += 64) _mm_prefetch(bytes + at, _MM_HINT_T1);
  }

  // Softmax of a block's scores against each head's greatest so far; lanes past the heads hold anything finite.
  void share(int64_t heads, int64_t count, float* out) {
    std::copy(greatest_.begin(), greatest_.end(), less_.begin());
    for (int64_t r = 0; r < count; ++r)
      for (int64_t h = 0; h < padded_; ++h) greatest_[h] = std::max(greatest_[h], scores_[r * padded_ + h]);
    const bool grows = sum_[0] > 0.0f && less_ != greatest_;
    for (int64_t h = 0; h < padded_; ++h) less_[h] = exp_of(less_[h] - greatest_[h]);
    for (int64_t h = 0; h < padded_; ++h) sum_[h] *= less_[h];
    for (int64_t h = 0; grows && h < heads; ++h) scale(out + h * stride_, less_[h]);
    for (int64_t r = 0; r < count; ++r) {
      float* own = scores_.data() + r * padded_;
      for (int64_t h = 0; h < padded_; ++h) own[h] = exp_of(own[h] - greatest_[h]);
      for (int64_t h = 0; h < padded_; ++h) sum_[h] += own[h];
    }
  }

  void scale(float* row, float by) const {
    for (int64_t c = 0; c < width_; c += kLanes) store(row + c, times(load(row + c), all(by)));
  }

  int64_t width_, stride_, padded_, most_;
  Floats block_;
  std::vector<float> scores_, greatest_, sum_, less_;
};

// The projections around attention, of one head: its weight's rows [head_dim, width] are widened block by block.
template <typename T>
class HeadWeight {
 public:
  explicit HeadWeight(int64_t width)
      : stride_(stride_of(width)), width_(width), most_(rows_of_block(stride_)), block_(most_ * stride_) {}

  // Absorb: out [queries, stride_of(width)] of q [head_dim, padded queries], rows of out out_stride apart.
  void absorb(const T* weight, int64_t head_dim, const float* query, int64_t padded, int64_t queries, float* out,
              int64_t out_stride) {
    for (int64_t t = 0; t < queries; ++t) std::fill_n(out + t * out_stride, stride_, 0.0f);
    for (int64_t at = 0; at < head_dim; at += most_)
      mix(take(weight, head_dim, at), query + at * padded, padded, queries, out, out_stride, [](int64_t, int64_t) {});
  }

  // Project: out [head_dim, padded queries] of z [queries, stride_of(width)], rows of z z_stride apart.
  void project(const T* weight, int64_t head_dim, const float* z, int64_t z_stride, int64_t queries, float* out,
               int64_t padded) {
    for (int64_t at = 0; at < head_dim; at += most_)
      score(take(weight, head_dim, at), z, z_stride, queries, out + at * padded, padded);
  }

 private:
  Block take(const T* weight, int64_t head_dim, int64_t at) {
    const int64_t count = std::min(most_, head_dim - at);
    for (int64_t r = 0; r < count; ++r) widen(weight + (at + r) * width_, width_, block_.get() + r * stride_, stride_);
    return {block_.get(), count, stride_, width_};
  }

  int64_t stride_, width_, most_;
  Floats block_;
};

}  // namespace relserve

#endif
