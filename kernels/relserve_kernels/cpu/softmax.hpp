// Softmax over blocks of scores (online softmax), in loops that become vectors.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace relserve {

// exp(x) for x <= 0, relative error below 2e-7 (Cephes' expf without its branches).
inline float exp_of(float x) {
  x = std::max(x, -87.0f);
  const float n = std::nearbyint(x * 1.44269504088896341f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof(power));
  return p * power;
}

// Of some heads side by side: the greatest score so far and the sum of exponentials against it.
class Softmax {
 public:
  explicit Softmax(int64_t heads) : heads_(heads), greatest_(heads), sum_(heads), less_(heads) {}

  void begin() {
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    std::fill(greatest_.begin(), greatest_.end(), std::numeric_limits<float>::lowest());
  }

  // Make exponentials of a block's scores [row][head], in place. Returns by how much sums so far become less, of each
  // head, or null where none does.
  const float* take(float* scores, int64_t count) {
    std::copy(greatest_.begin(), greatest_.end(), less_.begin());
    for (int64_t r = 0; r < count; ++r)
      for (int64_t h = 0; h < heads_; ++h) greatest_[h] = std::max(greatest_[h], scores[r * heads_ + h]);
    const bool grows = sum_[0] > 0.0f && less_ != greatest_;
    for (int64_t h = 0; h < heads_; ++h) less_[h] = exp_of(less_[h] - greatest_[h]);
    for (int64_t h = 0; h < heads_; ++h) sum_[h] *= less_[h];
    for (int64_t r = 0; r < count; ++r) {
      float* own = scores + r * heads_;
      for (int64_t h = 0; h < heads_; ++h) own[h] = exp_of(own[h] - greatest_[h]);
      for (int64_t h = 0; h < heads_; ++h) sum_[h] += own[h];
    }
    return grows ? less_.data() : nullptr;
  }

  float sum(int64_t head) const { return sum_[head]; }

 private:
  int64_t heads_;
  std::vector<float> greatest_, sum_, less_;
};

}  // namespace relserve
