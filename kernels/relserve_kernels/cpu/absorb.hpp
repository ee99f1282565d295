// A whole call of absorbed attention in float32's vectors: absorb the queries, attend, project what they found.

#pragma once

#include "vectors.hpp"

#ifdef RELSERVE_LANES

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "tasks.hpp"

namespace relserve {

struct Absorbed {  // the tensors of one call; weights are [heads, head_dim, d]
  const at::Tensor &query, &query_start, &pool, &block_table, &seq_lens, &wk, &wv;
  double scale;

  int64_t queries() const { return query.size(0); }
  int64_t heads() const { return query.size(1); }
  int64_t head_dim() const { return query.size(2); }
  int64_t width() const { return pool.size(2); }
};

// Have each thread take pieces of work, the next one that nobody has.
template <typename Make>
void share_out(int64_t pieces, const Make& make) {
  std::atomic<int64_t> claimed{0};
  at::parallel_for(0, std::min<int64_t>(at::get_num_threads(), pieces), 1, [&](int64_t, int64_t) {
    auto work = make();
    for (int64_t i = claimed++; i < pieces; i = claimed++) work(i);
  });
}

// Heads that one thread takes at once: all, or fewer where there would be too little to share out.
inline int64_t heads_at_once(int64_t heads, int64_t queries) {
  const int64_t pieces = 4 * at::get_num_threads();
  if (at::get_num_threads() == 1 || queries >= pieces) return heads;
  return std::min(heads, std::max(up_to(heads * queries / pieces, kTileHeads), 2 * kTileHeads));
}

template <typename T>
void attend_in_vectors(const Absorbed& call, const std::optional<at::Tensor>& value_bias, at::Tensor& out) {
  const int64_t t = call.queries(), heads = call.heads(), e = call.head_dim(), width = call.width();
  const int64_t stride = stride_of(width), row = heads * stride, padded = up_to(t, kTileHeads);
  static thread_local Floats held(0);  // kept: pages of memory that are new to the process cost more than the products
  static thread_local int64_t has = 0;
  if (has < 2 * t * row) held = Floats(has = 2 * t * row);
  float *asked = held.get(), *mixed = asked + t * row;
  const T *query = call.query.const_data_ptr<T>(), *wk = call.wk.const_data_ptr<T>(), *wv = call.wv.const_data_ptr<T>();
  const T* bias = value_bias.has_value() ? value_bias->const_data_ptr<T>() : nullptr;
  T* to = out.mutable_data_ptr<T>();

  share_out(heads, [&] {
    return [&, weight = HeadWeight<T>(width), own = std::vector<float>(e * padded)](int64_t h) mutable {
      for (int64_t q = 0; q < t; ++q)
        for (int64_t i = 0; i < e; ++i)
          own[i * padded + q] = static_cast<float>(query[(q * heads + h) * e + i]) * static_cast<float>(call.scale);
      weight.absorb(wk + h * e * width, e, own.data(), padded, t, asked + h * stride, row);
    };
  });

  const int64_t at_once = heads_at_once(heads, t), holds = call.block_table.size(1) * call.pool.size(1);
  const auto tasks = tasks_of(call.query_start, call.seq_lens, holds, heads, at_once);
  share_out(tasks.size(), [&] {
    return [&, room = VectorRoom<T>(at_once, width)](int64_t i) mutable {
      const Task& task = tasks[i];
      const int64_t at = task.query * row + task.first_head * stride;
      const auto pages = pages_of<T>(task, call.pool, call.block_table);
      room.attend(asked + at, std::min(at_once, heads - task.first_head), pages, mixed + at);
    };
  });

  share_out(heads, [&] {
    return [&, weight = HeadWeight<T>(width), own = std::vector<float>(e * padded)](int64_t h) mutable {
      weight.project(wv + h * e * width, e, mixed + h * stride, row, t, own.data(), padded);
      for (int64_t q = 0; q < t; ++q)
        for (int64_t i = 0; i < e; ++i)
          to[(q * heads + h) * e + i] =
              static_cast<T>(own[i * padded + q] + (bias == nullptr ? 0.0f : static_cast<float>(bias[h * e + i])));
    };
  });
}

}  // namespace relserve

#endif
