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
#include <vector>

#include "amx.hpp"
#include "brgemm.hpp"
#include "pages.hpp"

namespace {

using at::BFloat16;
using at::Tensor;
using relserve::Pages;

struct Task {
  int64_t query, sequence, length, first_head;
};

std::vector<Task> tasks_of(const Tensor& query_start, const Tensor& seq_lens, int64_t holds, int64_t heads, int64_t at_once) {
  const auto* starts = query_start.const_data_ptr<int32_t>();
  const auto* lengths = seq_lens.const_data_ptr<int32_t>();
  std::vector<Task> tasks;
  for (int64_t s = 0; s < seq_lens.size(0); ++s) {
    const int64_t queries = starts[s + 1] - starts[s], length = lengths[s];
    TORCH_CHECK(0 <= queries && queries <= length && length <= holds, "sequence ", s, " has ", length, " tokens and ",
                queries, " queries, and pages for ", holds, " tokens");
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t head = 0; head < heads; head += at_once)
        tasks.push_back({starts[s] + i, s, length - queries + i + 1, head});
  }
  return tasks;
}

template <typename T>
Pages<T> pages_of(const Task& task, const Tensor& pool, const Tensor& block_table) {
  const auto* table = block_table.const_data_ptr<int32_t>() + task.sequence * block_table.stride(0);
  const T* start = pool.const_data_ptr<T>();
  Pages<T> pages{{}, pool.size(1), pool.size(2), task.length};
  for (int64_t at = 0; at < task.length; at += pages.per_page) {
    const int64_t page = *table++;
    TORCH_CHECK(0 <= page && page < pool.size(0), "page ", page, " of sequence ", task.sequence, " is not in the pool");
    pages.starts.push_back(start + page * pool.stride(0));
  }
  return pages;
}

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

bool has_bf16() { return at::native::cpublas::could_pack(at::kBFloat16); }

}  // namespace

TORCH_LIBRARY(relserve_kernels, library) {
  library.def("mix_x(Tensor asked, Tensor query_start, Tensor pool, Tensor block_table, Tensor seq_lens,"
              " Tensor(a!) mixed) -> ()", &mix_x);
  library.def("store_x(Tensor x, Tensor(a!) pool, Tensor slots) -> ()", &store_x);
  library.def("has_bf16() -> bool", &has_bf16);
}
