// Attention of one query over pages of X by oneDNN's brgemm, in float32 and in bf16 (AVX-512 or AMX).

#pragma once

#include <ATen/native/CPUBlas.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "pages.hpp"
#include "softmax.hpp"

namespace relserve {

// What one thread works with; T is the number type of X.
template <typename T>
class BrgemmRoom {
 public:
  static constexpr int64_t kHeads = 1 << 20;  // as many as a query has, at once

  BrgemmRoom(int64_t heads, int64_t width)
      : heads_(heads), width_(width), asked_(heads * width), block_(kPaired ? (kRows + kStep) * width : 0),
        shares_(heads * (kRows + kStep)), scores_(heads * kRows), turned_(heads * kRows), mixed_(heads * width),
        greatest_(heads), sum_(heads) {}

  ~BrgemmRoom() { at::native::cpublas::brgemm_release(kPaired); }

  // The weighted sum of X [heads, width] of an absorbed query [heads, width].
  void attend(const T* query, int64_t /*heads*/, const Pages<T>& pages, T* out) {
    ask(query);
    for (int64_t at = 0; at < pages.length;) {
      const int64_t readable = std::min(pages.per_page - at % pages.per_page, kRows);
      const int64_t count = std::min(readable, pages.length - at);
      take(pages.row(at), count, readable);
      at += count;
    }
    for (int64_t h = 0; h < heads_; ++h) {
      const float part = 1.0f / sum_[h];
      for (int64_t c = 0; c < width_; ++c) out[h * width_ + c] = static_cast<T>(mixed_[h * width_ + c] * part);
    }
  }

 private:
  static constexpr bool kPaired = std::is_same_v<T, c10::BFloat16>;
  static constexpr int64_t kRows = 256;  // of a block at most
  static constexpr int64_t kStep = 32;   // blocks are cut to multiples of it, so that brgemm compiles few sizes

  // The absorbed query as the right side of the scores: [width, heads], in bf16 by pairs of rows.
  void ask(const T* query) {
    constexpr int64_t pair = kPaired ? 2 : 1;
    for (int64_t h = 0; h < heads_; ++h)
      for (int64_t c = 0; c < width_; ++c)
        asked_[(c / pair * heads_ + h) * pair + c % pair] = query[h * width_ + c];
    std::fill(mixed_.begin(), mixed_.end(), 0.0f);
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    std::fill(greatest_.begin(), greatest_.end(), std::numeric_limits<float>::lowest());
  }

  // Take in rows of one page: count of them, while readable may be read and hold anything past count.
  void take(const T* rows, int64_t count, int64_t readable) {
    const int64_t asked_rows = std::min(readable, (count + kStep - 1) / kStep * kStep);
    const int64_t padded = kPaired ? asked_rows + asked_rows % 2 : count;
    at::native::cpublas::brgemm(
        asked_rows, heads_, width_, width_, heads_, heads_, false, rows, asked_.data(), scores_.data(), kPaired);
    for (int64_t h = 0; h < heads_; ++h) share(h, count, padded);
    const T* right = rows;
    if constexpr (kPaired) {
      interleave(rows, count, padded);
      right = block_.data();
    }
    at::native::cpublas::brgemm(
        heads_, width_, padded, padded, width_, width_, true, shares_.data(), right, mixed_.data(), kPaired);
  }

  // Softmax of one head's scores of a block against the greatest score so far.
  void share(int64_t h, int64_t count, int64_t padded) {
    float* own = turned_.data() + h * kRows;
    float most = greatest_[h];
    for (int64_t t = 0; t < count; ++t) own[t] = scores_[t * heads_ + h];
    for (int64_t t = 0; t < count; ++t) most = std::max(most, own[t]);
    if (most > greatest_[h] && sum_[h] > 0.0f) {
      const float less = exp_of(greatest_[h] - most);
      float* z = mixed_.data() + h * width_;
      for (int64_t c = 0; c < width_; ++c) z[c] *= less;
      sum_[h] *= less;
    }
    greatest_[h] = most;
    for (int64_t t = 0; t < count; ++t) own[t] = exp_of(own[t] - most);
    for (int64_t t = 0; t < count; ++t) sum_[h] += own[t];
    T* to = shares_.data() + h * padded;
    for (int64_t t = 0; t < count; ++t) to[t] = static_cast<T>(own[t]);
    for (int64_t t = count; t < padded; ++t) to[t] = static_cast<T>(0.0f);
  }

  // Rows 2i and 2i + 1 interleaved, the order in which brgemm wants its right side in bf16; rows past count are 0.
  void interleave(const T* rows, int64_t count, int64_t padded) {
    const auto* in = reinterpret_cast<const uint16_t*>(rows);
    auto* to = reinterpret_cast<uint32_t*>(block_.data());
    for (int64_t row = 0; row < padded; row += 2, to += width_) {
      const uint16_t* even = in + row * width_;
      const uint16_t* odd = even + width_;
      if (row + 1 < count) {
        for (int64_t c = 0; c < width_; ++c) to[c] = even[c] | (static_cast<uint32_t>(odd[c]) << 16);
      } else if (row < count) {
        for (int64_t c = 0; c < width_; ++c) to[c] = even[c];
      } else {
        std::memset(to, 0, width_ * sizeof(uint32_t));
      }
    }
  }

  int64_t heads_, width_;
  std::vector<T> asked_, block_, shares_;
  std::vector<float> scores_, turned_, mixed_, greatest_, sum_;
};

}  // namespace relserve
