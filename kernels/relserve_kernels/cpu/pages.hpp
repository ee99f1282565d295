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

}  // namespace relserve
