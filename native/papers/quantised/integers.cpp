#include "integers.hpp"

#include <array>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace gym::quantised {

namespace {

void sums_plain(const std::uint8_t* in, std::size_t rows, std::size_t groups,
                const std::int8_t* matrix, std::size_t outs, std::int32_t* sums) {
  std::memset(sums, 0, rows * outs * sizeof(*sums));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t j = 0; j < outs; ++j) {
      for (std::size_t i = 0; i < groups * kGroup; ++i) {
        sums[row * outs + j] += in[row * groups * kGroup + i] * matrix[place_of(i, j, groups)];
      }
    }
  }
}

#ifdef __x86_64__

// Four inputs as 32 bits.
inline std::int32_t four(const std::uint8_t* codes) {
  std::int32_t bits;
  std::memcpy(&bits, codes, sizeof(bits));
  return bits;
}

// Of eight outputs: products of 16-bit numbers, as sums of 8-bit ones would be cut off.
[[gnu::target("avx2")]]
void sums_avx2(const std::uint8_t* in, std::size_t rows, std::size_t groups,
               const std::int8_t* matrix, std::size_t outs, std::int32_t* sums) {
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint8_t* x = in + row * groups * kGroup;
    for (std::size_t j = 0; j < outs; j += 8) {
      __m256i low = _mm256_setzero_si256();
      __m256i high = low;
      for (std::size_t group = 0; group < groups; ++group) {
        const __m128i codes = _mm_set1_epi32(four(x + group * kGroup));
        const __m256i wide = _mm256_cvtepu8_epi16(codes);
        const auto* w =
            reinterpret_cast<const __m128i*>(matrix + place_of(group * kGroup, j, groups));
        low = _mm256_add_epi32(low,
                               _mm256_madd_epi16(wide, _mm256_cvtepi8_epi16(_mm_loadu_si128(w))));
        high = _mm256_add_epi32(
            high, _mm256_madd_epi16(wide, _mm256_cvtepi8_epi16(_mm_loadu_si128(w + 1))));
      }
      // Neighbours belong to one output; halves of 128 bits are crossed.
      const __m256i crossed = _mm256_hadd_epi32(low, high);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + row * outs + j),
                          _mm256_permute4x64_epi64(crossed, 0b11011000));
    }
  }
}

// Of 16 times `strips` outputs and `block` rows side by side.
template <std::size_t block, std::size_t strips>
[[gnu::target("avx512f,avx512vnni"), gnu::always_inline]]
inline void block_vnni(const std::uint8_t* in, std::size_t groups, const std::int8_t* strip,
                       std::size_t outs, std::int32_t* sums) {
  __m512i sum[block][strips];
  for (std::size_t r = 0; r < block; ++r) {
    for (std::size_t s = 0; s < strips; ++s) sum[r][s] = _mm512_setzero_si512();
  }
  for (std::size_t group = 0; group < groups; ++group) {
    __m512i weights[strips];
    for (std::size_t s = 0; s < strips; ++s) {
      weights[s] = _mm512_loadu_si512(strip + (s * groups + group) * 16 * kGroup);
    }
    for (std::size_t r = 0; r < block; ++r) {
      const __m512i codes = _mm512_set1_epi32(four(in + (r * groups + group) * kGroup));
      for (std::size_t s = 0; s < strips; ++s) {
        sum[r][s] = _mm512_dpbusd_epi32(sum[r][s], codes, weights[s]);
      }
    }
  }
  for (std::size_t r = 0; r < block; ++r) {
    for (std::size_t s = 0; s < strips; ++s) {
      _mm512_storeu_si512(sums + r * outs + 16 * s, sum[r][s]);
    }
  }
}

[[gnu::target("avx512f,avx512vnni")]]
void sums_vnni(const std::uint8_t* in, std::size_t rows, std::size_t groups,
               const std::int8_t* matrix, std::size_t outs, std::int32_t* sums) {
  const std::size_t blocked = rows - rows % 4;
  for (std::size_t j = 0; j < outs; j += 16) {
    for (std::size_t r = 0; r < blocked; r += 4) {
      block_vnni<4, 1>(in + r * groups * kGroup, groups, matrix + place_of(0, j, groups), outs,
                       sums + r * outs + j);
    }
  }
  for (std::size_t r = blocked; r < rows; ++r) {
    const std::uint8_t* x = in + r * groups * kGroup;
    std::size_t j = 0;
    for (; j + 64 <= outs; j += 64) {
      block_vnni<1, 4>(x, groups, matrix + place_of(0, j, groups), outs, sums + r * outs + j);
    }
    for (; j < outs; j += 16) {
      block_vnni<1, 1>(x, groups, matrix + place_of(0, j, groups), outs, sums + r * outs + j);
    }
  }
}

#endif

constexpr std::array kAll = {Kernel{"plain", sums_plain},
#ifdef __x86_64__
                             Kernel{"avx2", sums_avx2}, Kernel{"avx512vnni", sums_vnni}
#endif
};

}  // namespace

Kernels kernels() {
  std::size_t count = 1;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) count = 2;
  if (count == 2 && __builtin_cpu_supports("avx512vnni")) count = 3;
#endif
  return {kAll.data(), count};
}

}  // namespace gym::quantised
