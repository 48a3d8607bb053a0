// Memory that grows and never moves. Each thread writes into a chunk of its own, and reads what any other has published the
// place of.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "memory.hpp"

namespace megacpp {

class Arena {
 public:
  using Unit = std::uint64_t;

  // What one thread writes with.
  class Writer {
   public:
    // Room for `units` units, and its place, which is never 0; null if the arena is full.
    Unit* allocate(Arena& arena, std::size_t units, std::uint32_t& place) {
      if (units > left_) {
        next_ = arena.add_chunk(units);
        left_ = next_ == 0 ? 0 : std::max(units, kChunk);
        if (left_ == 0) return nullptr;
      }
      place = next_;
      next_ += static_cast<std::uint32_t>(units);
      left_ -= units;
      return arena.at(place);
    }

   private:
    std::uint32_t next_ = 0;  // a place
    std::size_t left_ = 0;    // units
  };

  std::size_t memory() const { return memory_.load(std::memory_order_relaxed); }

  const Unit* at(std::uint32_t place) const { return chunks_[place / kChunk].get() + place % kChunk; }
  Unit* at(std::uint32_t place) { return chunks_[place / kChunk].get() + place % kChunk; }

 private:
  struct Free {
    void operator()(Unit* memory) const { std::free(memory); }
  };
  static constexpr std::size_t kChunk = std::size_t{1} << 19;  // units: 4 MB
  static constexpr std::size_t kMostChunks = std::size_t{1} << 13;

  // The place of a new chunk, or 0. One that is longer than others is for one piece.
  std::uint32_t add_chunk(std::size_t units) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (next_ == kMostChunks) return 0;
    const std::size_t bytes = std::max(units, kChunk) * sizeof(Unit);
    chunks_[next_].reset(static_cast<Unit*>(allocate_large(bytes)));
    memory_.fetch_add(bytes, std::memory_order_relaxed);
    return static_cast<std::uint32_t>(next_++ * kChunk);
  }

  std::unique_ptr<Unit[], Free> chunks_[kMostChunks];  // never moved, so that it is read without the lock
  std::size_t next_ = 1;                               // chunk 0 is none: no place is 0
  std::atomic<std::size_t> memory_{0};
  std::mutex mutex_;
};

}  // namespace megacpp
