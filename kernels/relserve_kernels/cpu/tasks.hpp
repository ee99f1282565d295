// Which queries attend over which pages.

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "pages.hpp"

namespace relserve {

struct Task {
  int64_t query, sequence, length, first_head;
};

inline std::vector<Task> tasks_of(const at::Tensor& query_start, const at::Tensor& seq_lens, int64_t holds,
                                  int64_t heads, int64_t at_once) {
  const auto* starts = query_start.const_data_ptr<int32_t>();
  const auto* lengths = seq_lens.const_data_ptr<int32_t>();
  std::vector<Task> tasks;
  for (int64_t s = 0; s < seq_lens.size(0); ++s) {
    const int64_t queries = starts[s + 1] - starts[s], length = lengths[s];
    TORCH_CHECK_VALUE(0 <= starts[s] && 0 <= queries && queries <= length && length <= holds, "sequence ", s, " has ", length, " tokens and ",
                queries, " queries, and pages for ", holds, " tokens");
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t head = 0; head < heads; head += at_once)
        tasks.push_back({starts[s] + i, s, length - queries + i + 1, head});
  }
  return tasks;
}

template <typename T>
Pages<T> pages_of(const Task& task, const at::Tensor& pool, const at::Tensor& block_table) {
  const auto* table = block_table.const_data_ptr<int32_t>() + task.sequence * block_table.stride(0);
  const T* start = pool.const_data_ptr<T>();
  Pages<T> pages{{}, pool.size(1), pool.size(2), task.length};
  for (int64_t at = 0; at < task.length; at += pages.per_page) {
    const int64_t page = *table++;
    TORCH_CHECK_VALUE(0 <= page && page < pool.size(0), "page ", page, " of sequence ", task.sequence, " is not in the pool");
    pages.starts.push_back(start + page * pool.stride(0));
  }
  return pages;
}

}  // namespace relserve
