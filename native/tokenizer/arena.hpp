// Memory that grows and never moves. Each thread writes into a chunk of its own, and reads what any other has published the
// place of.
#pragma once

#include <algorithm>
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
    // Room for `units` units, and its place, which is never 0; null if there is no more memory.
    Unit* allocate(Arena& arena, std::size_t units, std::uint32_t& place) {
      if (units > left_) {
        left_ = 0;
        if (!arena.add_chunk(units, next_, left_)) return nullptr;
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

  // Bytes of all chunks.
  std::size_t memory() const { return memory_.load(std::memory_order_relaxed); }

  const Unit* at(std::uint32_t place) const { return chunks_[place / kChunk].get() + place % kChunk; }
  Unit* at(std::uint32_t place) { return chunks_[place / kChunk].get() + place % kChunk; }

 private:
  struct Free {
    void operator()(Unit* memory) const { std::free(memory); }
  };
  // Places are numbered as if each chunk had so many units, 4 MB.
  static constexpr std::size_t kChunk = std::size_t{1} << 19;
  static constexpr std::size_t kLeastChunk = std::size_t{1} << 13;
  static constexpr std::size_t kMostChunks = std::size_t{1} << 13;

  // Makes a chunk with room for `units`; false if there is no memory. The first ones are small, since each thread has one.
  // A piece that is longer than a chunk gets one of its own.
  bool add_chunk(std::size_t units, std::uint32_t& place, std::size_t& room) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (next_ == kMostChunks) return false;
    const std::size_t size = std::max(units, std::clamp(memory() / sizeof(Unit) / 8, kLeastChunk, kChunk));
    try {
      chunks_[next_].reset(static_cast<Unit*>(allocate_large(size * sizeof(Unit))));
    } catch (const std::bad_alloc&) { return false; }
    memory_.fetch_add(size * sizeof(Unit), std::memory_order_relaxed);
    room = size;
    place = static_cast<std::uint32_t>(next_++ * kChunk);
    return true;
  }

  std::unique_ptr<Unit[], Free> chunks_[kMostChunks];  // never moved, so that it is read without the lock
  std::size_t next_ = 1;                               // chunk 0 is none: no place is 0
  std::atomic<std::size_t> memory_{0};
  std::mutex mutex_;
};

}  // namespace megacpp
