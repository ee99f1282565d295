// Storing X in pages and attention over it on a CPU, softmax in float32.
//
// One task is one query token and as many of its heads as go at once. Its pages are read once, block by block: scores,
// the greatest score and the sum of softmax so far (online softmax), and the weighted sum of the block's rows while
// they are still in the cache.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "amx.hpp"
#include "brgemm.hpp"
#include "tasks.hpp"
#include "absorb.hpp"

namespace {

using at::BFloat16;
using at::Tensor;
using relserve::pages_of;
using relserve::Task;
using relserve::tasks_of;

template <typename Room, typename T>
void run(const Tensor& asked, const Tensor& query_start, const Tensor& pool, const Tensor& block_table,
         const Tensor& seq_lens, Tensor& mixed) {
  const int64_t heads = asked.size(1), width = asked.size(2), at_once = std::min(heads, Room::kHeads);
  const auto tasks = tasks_of(query_start, seq_lens, block_table.size(1) * pool.size(1), heads, at_once);
  const T* queries = asked.const_data_ptr<T>();
  T* out = mixed.mutable_data_ptr<T>();
  std::atomic<size_t> claimed{0};
  at::parallel_for(0, std::min<int64_t>(at::get_num_threads(), tasks.size()), 1, [&](int64_t, int64_t) {
    Room room(at_once, width);
    for (size_t i = claimed++; i < tasks.size(); i = claimed++) {
      const Task& task = tasks[i];
      const int64_t at = (task.query * heads + task.first_head) * width;
      const auto pages = pages_of<T>(task, pool, block_table);
      room.attend(queries + at, std::min(at_once, heads - task.first_head), pages, out + at);
    }
  });
}

// Whether tiles of AMX take it; else oneDNN's products do.
bool fits_amx(const Tensor& pool) {
#ifdef __AMX_BF16__
  return pool.scalar_type() == at::kBFloat16 && pool.size(1) % relserve::AmxRoom::kTile == 0 &&
         pool.size(2) % relserve::AmxRoom::kWide == 0;
#else
  return false;
#endif
}

// The weighted sums of X, [t, heads, d], of all queries.
void mix_x(const Tensor& asked, const Tensor& query_start, const Tensor& pool, const Tensor& block_table,
           const Tensor& seq_lens, Tensor mixed) {
  auto with = run<relserve::BrgemmRoom<float>, float>;
  if (pool.scalar_type() == at::kBFloat16) with = run<relserve::BrgemmRoom<BFloat16>, BFloat16>;
#ifdef __AMX_BF16__
  if (fits_amx(pool)) with = run<relserve::AmxRoom, BFloat16>;
#endif
  with(asked, query_start, pool, block_table, seq_lens, mixed);
}

void store_x(const Tensor& x, Tensor pool, const Tensor& slots) {
  const int64_t per_page = pool.size(1), size = pool.element_size(), row = pool.size(2) * size;
  const int64_t from_stride = x.stride(0) * size, page_stride = pool.stride(0) * size;
  const auto* from = static_cast<const char*>(x.const_data_ptr());
  auto* to = static_cast<char*>(pool.mutable_data_ptr());
  const auto* places = slots.const_data_ptr<int64_t>();
  at::parallel_for(0, slots.size(0), 64, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t slot = places[t];
      if (slot < 0) continue;
      TORCH_CHECK(slot < pool.size(0) * per_page, "slot ", slot, " is not in the pool");
      std::memcpy(to + slot / per_page * page_stride + slot % per_page * row, from + t * from_stride, row);
    }
  });
}

// Attention with keys and values absorbed and all products in float32's vectors, [t, heads, head_dim]; weights are
// [heads, head_dim, d], contiguous.
void attend_in_vectors(const Tensor& query, const Tensor& query_start, const Tensor& pool, const Tensor& block_table,
                       const Tensor& seq_lens, const Tensor& wk, const Tensor& wv,
                       const std::optional<Tensor>& value_bias, double scale, Tensor out) {
#ifdef RELSERVE_LANES
  const relserve::Absorbed call{query, query_start, pool, block_table, seq_lens, wk, wv, scale};
  switch (pool.scalar_type()) {
    case at::kFloat: return relserve::attend_in_vectors<float>(call, value_bias, out);
    case at::kBFloat16: return relserve::attend_in_vectors<BFloat16>(call, value_bias, out);
    case at::kHalf: return relserve::attend_in_vectors<at::Half>(call, value_bias, out);
    default: TORCH_CHECK(false, "X of ", pool.scalar_type(), " is not in float32, bf16 or fp16");
  }
#endif
  TORCH_CHECK(false, "this CPU has neither AVX2 nor AVX-512");
}

bool has_vectors() {
#ifdef RELSERVE_LANES
  return true;
#else
  return false;
#endif
}

bool has_bf16() { return at::native::cpublas::could_pack(at::kBFloat16); }

}  // namespace

TORCH_LIBRARY(relserve_kernels, library) {
  library.def("mix_x(Tensor asked, Tensor query_start, Tensor pool, Tensor block_table, Tensor seq_lens,"
              " Tensor(a!) mixed) -> ()", &mix_x);
  library.def("store_x(Tensor x, Tensor(a!) pool, Tensor slots) -> ()", &store_x);
  library.def("attend_in_vectors(Tensor query, Tensor query_start, Tensor pool, Tensor block_table, Tensor seq_lens,"
              " Tensor wk, Tensor wv, Tensor? value_bias, float scale, Tensor(a!) out) -> ()", &attend_in_vectors);
  library.def("has_bf16() -> bool", &has_bf16);
  library.def("has_vectors() -> bool", &has_vectors);
}
