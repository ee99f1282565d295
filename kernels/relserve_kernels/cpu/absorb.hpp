// A whole call of absorbed attention: absorb the queries, attend, project what they found.

#pragma once

#include "lanes.hpp"

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

constexpr int64_t kMostKept = 16 << 20;  // float32, 64 MB

// T is the number type of X, of the queries and of the weights.
template <typename T, typename Room, typename Weight>
void attend(const Absorbed& call, const std::optional<at::Tensor>& value_bias, at::Tensor& out) {
  const int64_t t = call.queries(), heads = call.heads(), e = call.head_dim(), width = call.width();
  const int64_t stride = Room::stride(width), row = heads * stride;
  using Number = typename Room::Number;
  constexpr int64_t floats = sizeof(float) / sizeof(Number);
  // Kept, up to a size: pages of memory that are new to the process cost more than the products.
  static thread_local Floats kept(0);
  static thread_local int64_t has = 0;
  const int64_t needs = 2 * t * row / floats + 1;
  Floats once(needs > kMostKept ? needs : 0);
  if (needs <= kMostKept && has < needs) kept = Floats(needs), has = needs;
  auto* asked = reinterpret_cast<Number*>((needs > kMostKept ? once : kept).get());
  Number* mixed = asked + t * row;
  const T *query = call.query.const_data_ptr<T>(), *wk = call.wk.const_data_ptr<T>(), *wv = call.wv.const_data_ptr<T>();
  const T* bias = value_bias.has_value() ? value_bias->const_data_ptr<T>() : nullptr;
  T* to = out.mutable_data_ptr<T>();
  const auto scale = static_cast<float>(call.scale);

  const auto of_head = [&](const T* weight, int64_t h) { return h < heads ? weight + h * e * width : nullptr; };
  const int64_t threads = at::get_num_threads();
  share_out(heads, [&] {
    return [&, weight = Weight(width, e, t)](int64_t h) mutable {
      weight.absorb(of_head(wk, h), of_head(wk, h + threads), query + h * e, heads * e, scale, t, asked + h * stride,
                    row);
    };
  });

  const int64_t at_once = std::min(heads_at_once(heads, t), Room::kHeads);
  const int64_t holds = call.block_table.size(1) * call.pool.size(1);
  const auto tasks = tasks_of(call.query_start, call.seq_lens, holds, heads, at_once);
  const auto pages_at = [&](size_t i) {
    return i < tasks.size() ? pages_of<T>(tasks[i], call.pool, call.block_table) : Pages<T>{{}, 1, width, 0};
  };
  share_out(tasks.size(), [&] {
    return [&, room = Room(at_once, width)](int64_t i) mutable {
      const Task& task = tasks[i];
      const int64_t at = task.query * row + task.first_head * stride;
      room.attend(asked + at, std::min(at_once, heads - task.first_head), pages_at(i), pages_at(i + threads),
                  mixed + at);
    };
  });

  share_out(heads, [&] {
    return [&, weight = Weight(width, e, t)](int64_t h) mutable {
      weight.project(of_head(wv, h), of_head(wv, h + threads), mixed + h * stride, row, t,
                     bias == nullptr ? nullptr : bias + h * e, to + h * e, heads * e);
    };
  });
}

}  // namespace relserve

#endif
