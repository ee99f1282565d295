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
  using Number = float;                       // of absorbed queries and of what attention finds, [heads, stride]
  static constexpr int64_t kHeads = 1 << 20;  // as many as a query has, at once
  static int64_t stride(int64_t width) { return stride_of(width); }

  VectorRoom(int64_t heads, int64_t width)
      : width_(width), stride_(stride_of(width)), padded_(up_to(heads, kLanes)), most_(rows_of_block(stride_)),
        block_(most_ * stride_), scores_(most_ * padded_), softmax_(padded_) {}

  // The weighted sum of X of each head, [heads, stride_of(width)], of an absorbed query of that shape. Both have
  // zeros after their width. `after` are the pages read next.
  void attend(const float* query, int64_t heads, const Pages<T>& pages, const Pages<T>& after, float* out) {
    std::fill_n(out, heads * stride_, 0.0f);
    softmax_.begin();
    for (int64_t at = 0; at < pages.length; at += most_) {
      const int64_t count = std::min(most_, pages.length - at);
      for (int64_t r = 0; r < count; ++r) widen(pages.row(at + r), width_, block_.get() + r * stride_, stride_);
      const Block rows{block_.get(), count, stride_, width_};
      score(rows, query, stride_, heads, scores_.data(), padded_);
      if (const float* less = softmax_.take(scores_.data(), count))
        for (int64_t h = 0; h < heads; ++h) scale(out + h * stride_, less[h]);
      mix(rows, scores_.data(), padded_, heads, out, stride_, [&](int64_t tile, int64_t of) {
        for (int64_t r = most_ * tile / of; r < most_ * (tile + 1) / of; ++r)
          fetch(row_of(pages, after, at + count + r));
      });
    }
    for (int64_t h = 0; h < heads; ++h) scale(out + h * stride_, 1.0f / softmax_.sum(h));
  }

 private:
  // Have a row of X come to the second cache while other work goes on.
  void fetch(const T* row) const {
    const auto* bytes = reinterpret_cast<const char*>(row);
    for (size_t at = 0; row != nullptr && at < width_ * sizeof(T); at += 64) _mm_prefetch(bytes + at, _MM_HINT_T1);
  }

  void scale(float* row, float by) const {
    for (int64_t c = 0; c < width_; c += kLanes) store(row + c, times(load(row + c), all(by)));
  }

  int64_t width_, stride_, padded_, most_;
  Floats block_;
  std::vector<float> scores_;
  Softmax softmax_;
};

// The projections around attention, of one head with its weight [head_dim, width], widened block by block.
template <typename T>
class VectorWeight {
 public:
  VectorWeight(int64_t width, int64_t head_dim, int64_t queries)
      : stride_(stride_of(width)), width_(width), dim_(head_dim), padded_(up_to(queries, kTileHeads)),
        most_(rows_of_block(stride_)), block_(most_ * stride_), own_(head_dim * padded_) {}

  // Absorb queries, rows of heads * head_dim numbers of which this head's begin at query, to rows of out.
  void absorb(const T* weight, const T* /*after*/, const T* query, int64_t query_stride, float scale, int64_t queries,
              float* out, int64_t out_stride) {
    for (int64_t q = 0; q < queries; ++q)
      for (int64_t i = 0; i < dim_; ++i)
        own_[i * padded_ + q] = static_cast<float>(query[q * query_stride + i]) * scale;
    for (int64_t q = 0; q < queries; ++q) std::fill_n(out + q * out_stride, stride_, 0.0f);
    for (int64_t at = 0; at < dim_; at += most_)
      mix(take(weight, at), &own_[at * padded_], padded_, queries, out, out_stride, [](int64_t, int64_t) {});
  }

  // Project rows of z to this head's part of rows of out.
  void project(const T* weight, const T* /*after*/, const float* z, int64_t z_stride, int64_t queries, const T* bias,
               T* out, int64_t out_stride) {
    for (int64_t at = 0; at < dim_; at += most_)
      score(take(weight, at), z, z_stride, queries, &own_[at * padded_], padded_);
    for (int64_t q = 0; q < queries; ++q)
      for (int64_t i = 0; i < dim_; ++i)
        out[q * out_stride + i] =
            static_cast<T>(own_[i * padded_ + q] + (bias == nullptr ? 0.0f : static_cast<float>(bias[i])));
  }

 private:
  Block take(const T* weight, int64_t at) {
    const int64_t count = std::min(most_, dim_ - at);
    for (int64_t r = 0; r < count; ++r) widen(weight + (at + r) * width_, width_, block_.get() + r * stride_, stride_);
    return {block_.get(), count, stride_, width_};
  }

  int64_t stride_, width_, dim_, padded_, most_;
  Floats block_;
  std::vector<float> own_;
};

}  // namespace relserve

#endif
