// The pages of one sequence.

#pragma once

#include <cstdint>
#include <vector>

namespace relserve {

template <typename T>
struct Pages {
  std::vector<const T*> starts;  // of each page
  int64_t per_page, width;       // rows in a page, numbers in a row
  int64_t length;                // rows that count; those past them in the last page may hold anything

  const T* row(int64_t at) const { return starts[at / per_page] + at % per_page * width; }
};

// Row `at` of one sequence's pages followed by another's; null past both.
template <typename T>
const T* row_of(const Pages<T>& pages, const Pages<T>& after, int64_t at) {
  if (at < pages.length) return pages.row(at);
  return at - pages.length < after.length ? after.row(at - pages.length) : nullptr;
}

}  // namespace relserve
