// Functions that are compiled for each kind of processor, of which the loader takes one.
#pragma once

// ThreadSanitizer is not ready yet when the loader chooses among clones.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define GYM_FOR_EACH_PROCESSOR [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define GYM_FOR_EACH_PROCESSOR
#endif
