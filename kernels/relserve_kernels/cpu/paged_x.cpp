// Storing X in pages and attention over it on a CPU, softmax in float32.
//
// One task is one query token and as many of its heads as go at once. Its pages are read once, block by block: scores,
// the greatest score and the sum of softmax so far (online softmax), and the weighted sum of the block's rows while
// they are still in the cache.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "absorb.hpp"
#include "amx.hpp"
#include "pairs.hpp"
#include "vectors.hpp"

namespace {

using at::BFloat16;
using at::Tensor;

#ifdef RELSERVE_LANES
template <typename T>
void in_vectors(const relserve::Absorbed& call, const std::optional<Tensor>& value_bias, Tensor& out) {
  relserve::attend<T, relserve::VectorRoom<T>, relserve::VectorWeight<T>>(call, value_bias, out);
}
#endif

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

// Attention with keys and values absorbed, [t, heads, head_dim]; weights are [heads, head_dim, d], contiguous. bf16 is
// multiplied by tiles of AMX or by AVX-512 where they fit, anything else in float32's vectors.
void attend_absorbed(const Tensor& query, const Tensor& query_start, const Tensor& pool, const Tensor& block_table,
                     const Tensor& seq_lens, const Tensor& wk, const Tensor& wv,
                     const std::optional<Tensor>& value_bias, double scale, Tensor out) {
#ifdef RELSERVE_LANES
  const relserve::Absorbed call{query, query_start, pool, block_table, seq_lens, wk, wv, scale};
  const auto type = pool.scalar_type();
#ifdef __AVX512BF16__
  if (type == at::kBFloat16 && pool.size(2) > 0 && pool.size(2) % relserve::kWide == 0) {
#ifdef __AMX_BF16__
    if (pool.size(1) % relserve::AmxRoom::kTile == 0)
      return relserve::attend<BFloat16, relserve::AmxRoom, relserve::PairWeight>(call, value_bias, out);
#endif
    return relserve::attend<BFloat16, relserve::PairRoom, relserve::PairWeight>(call, value_bias, out);
  }
#endif
  switch (type) {
    case at::kFloat: return in_vectors<float>(call, value_bias, out);
    case at::kBFloat16: return in_vectors<BFloat16>(call, value_bias, out);
    case at::kHalf: return in_vectors<at::Half>(call, value_bias, out);
    default: TORCH_CHECK(false, "X of ", type, " is not in float32, bf16 or fp16");
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

}  // namespace

TORCH_LIBRARY(relserve_kernels, library) {
  library.def("store_x(Tensor x, Tensor(a!) pool, Tensor slots) -> ()", &store_x);
  library.def("attend_absorbed(Tensor query, Tensor query_start, Tensor pool, Tensor block_table, Tensor seq_lens,"
              " Tensor wk, Tensor wv, Tensor? value_bias, float scale, Tensor(a!) out) -> ()", &attend_absorbed);
  library.def("has_vectors() -> bool", &has_vectors);
}
