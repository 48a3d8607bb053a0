// Vectors for tables that are read at random: on Linux their memory asks for huge pages, which saves most TLB misses.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace megacpp {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
inline constexpr std::size_t kCacheLine = 64;

// Memory to be given back with std::free; a large piece asks for huge pages. Untouched parts cost nothing.
inline void* allocate_large(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes < 2 * kHugePage) {
    memory = std::aligned_alloc(kCacheLine, (bytes + kCacheLine) / kCacheLine * kCacheLine);
  } else {
    memory = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
#if defined(__linux__)
    if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);  // advice only: nothing depends on it
#endif
  }
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

template <class T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <class U>
  explicit LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { std::free(memory); }

  bool operator==(const LargeAllocator&) const { return true; }
};

template <class T>
using Large = std::vector<T, LargeAllocator<T>>;

}  // namespace megacpp
