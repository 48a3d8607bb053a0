// Vectors for tables that are read at random: on Linux their memory asks for huge pages, which saves most TLB misses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
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

// Memory of results, which come and go in pieces of similar sizes. The system clears each new page, which takes up to a
// fifth of the time of encoding into it, so large pieces that are given back are kept for the next result: together with
// those in use, never more than were in use at once before.
class ResultMemory {
 public:
  // To be given back with `free`.
  static void* allocate(std::size_t bytes) {
    bytes += kCacheLine;
    Piece piece = is_large(bytes) ? take(bytes) : Piece{};
    if (piece.start == nullptr) {
      piece = {allocate_large(bytes), bytes};
      if (is_large(bytes)) count(piece);
    }
    *static_cast<std::size_t*>(piece.start) = piece.bytes;  // in front of what the caller gets
    return static_cast<char*>(piece.start) + kCacheLine;
  }

  static void free(void* memory) {
    if (memory == nullptr) return;
    void* start = static_cast<char*>(memory) - kCacheLine;
    const Piece piece{start, *static_cast<std::size_t*>(start)};
    if (is_large(piece.bytes))
      keep(piece);
    else
      std::free(start);
  }

 private:
  static constexpr std::size_t kMostKept = std::size_t{512} << 20;  // bytes
  static constexpr std::size_t kMostPieces = kMostKept / (2 * kHugePage);
  struct Piece {
    void* start = nullptr;
    std::size_t bytes = 0;
  };
  struct State {
    std::mutex mutex;
    std::vector<Piece> kept;  // oldest first
    std::size_t kept_bytes = 0, used_bytes = 0, most_used = 0;

    State() { kept.reserve(kMostPieces); }

    void drop_oldest() {
      kept_bytes -= kept.front().bytes;
      std::free(kept.front().start);
      kept.erase(kept.begin());
    }
  };

  // Never destroyed: results may be freed while the process ends.
  static State& state() {
    static State& state = *new State;
    return state;
  }

  static bool is_large(std::size_t bytes) { return bytes >= 2 * kHugePage; }

  // The smallest kept piece with room for `bytes`, unless most of it would stay unused.
  static Piece take(std::size_t bytes) {
    State& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    auto best = all.kept.end();
    for (auto piece = all.kept.begin(); piece != all.kept.end(); ++piece)
      if (piece->bytes >= bytes && piece->bytes / 2 <= bytes && (best == all.kept.end() || piece->bytes < best->bytes))
        best = piece;
    if (best == all.kept.end()) return {};
    const Piece piece = *best;
    all.kept.erase(best);
    all.kept_bytes -= piece.bytes;
    all.used_bytes += piece.bytes;
    return piece;
  }

  // Counts a new piece; kept ones make room for it.
  static void count(const Piece& piece) {
    State& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.used_bytes += piece.bytes;
    all.most_used = std::max(all.most_used, all.used_bytes);
    while (!all.kept.empty() && all.used_bytes + all.kept_bytes > all.most_used) all.drop_oldest();
  }

  static void keep(const Piece& piece) {
    State& all = state();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.used_bytes -= piece.bytes;
    if (piece.bytes > kMostKept || all.kept.size() == kMostPieces) {
      std::free(piece.start);
      return;
    }
    all.kept.push_back(piece);  // allocates nothing
    all.kept_bytes += piece.bytes;
    while (all.kept_bytes > kMostKept) all.drop_oldest();
  }
};

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
