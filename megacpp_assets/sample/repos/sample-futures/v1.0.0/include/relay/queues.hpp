// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "relay/bits.hpp"

namespace relay {

/// Bounded queue for any number of producers and consumers. Each cell carries
/// a ticket: it equals the position a producer may fill, one more once filled,
/// and the position of the next lap once emptied.
template <typename T>
class MpmcQueue {
 public:
  explicit MpmcQueue(std::size_t capacity)
      : mask_(nextPowerOfTwo(capacity < 2 ? 2 : capacity) - 1),
        cells_(std::make_unique<Cell[]>(mask_ + 1)) {
    for (std::size_t i = 0; i <= mask_; ++i) {
      cells_[i].ticket.store(i, std::memory_order_relaxed);
    }
  }

  std::size_t capacity() const { return mask_ + 1; }

  /// False when full; `value` is then left as it was.
  bool tryPush(T&& value) {
    Cell* cell = claim(&head_, 0);
    if (cell == nullptr) return false;
    cell->value = std::move(value);
    publish(cell, 1);
    return true;
  }

  bool tryPop(T* out) {
    Cell* cell = claim(&tail_, 1);
    if (cell == nullptr) return false;
    *out = std::move(cell->value);
    cell->value = T();
    publish(cell, mask_);
    return true;
  }

 private:
  struct alignas(kCacheLine) Cell {
    std::atomic<std::size_t> ticket{0};
    T value{};
  };
  using Cursor = std::atomic<std::size_t>;

  /// Wins the next position whose ticket is `position + lead`, if any.
  Cell* claim(Cursor* cursor, std::size_t lead) {
    std::size_t position = cursor->load(std::memory_order_relaxed);
    for (;;) {
      Cell* cell = &cells_[position & mask_];
      const std::size_t ticket = cell->ticket.load(std::memory_order_acquire);
      const auto gap = static_cast<std::ptrdiff_t>(ticket - (position + lead));
      if (gap < 0) return nullptr;
      if (gap > 0) {
        position = cursor->load(std::memory_order_relaxed);
      } else if (cursor->compare_exchange_weak(position, position + 1,
                                               std::memory_order_relaxed)) {
        return cell;
      }
    }
  }

  // Only the thread that claimed the cell writes its ticket.
  static void publish(Cell* cell, std::size_t advance) {
    const std::size_t ticket = cell->ticket.load(std::memory_order_relaxed);
    cell->ticket.store(ticket + advance, std::memory_order_release);
  }

  const std::size_t mask_;
  std::unique_ptr<Cell[]> cells_;
  alignas(kCacheLine) Cursor head_{0};
  alignas(kCacheLine) Cursor tail_{0};
};

/// Ring for one producer and one consumer. Each side keeps a copy of the
/// other's cursor and looks at the real one only when it seems to be stuck.
template <typename T, std::size_t Capacity>
class SpscRing {
  static_assert(isPowerOfTwo(Capacity), "capacity must be a power of two");

 public:
  bool tryPush(T value) {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head - seenTail_ == Capacity) {
      seenTail_ = tail_.load(std::memory_order_acquire);
      if (head - seenTail_ == Capacity) return false;
    }
    slots_[head % Capacity] = std::move(value);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  bool tryPop(T* out) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == seenHead_) {
      seenHead_ = head_.load(std::memory_order_acquire);
      if (tail == seenHead_) return false;
    }
    *out = std::move(slots_[tail % Capacity]);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

 private:
  T slots_[Capacity] = {};
  alignas(kCacheLine) std::atomic<std::size_t> head_{0};
  std::size_t seenTail_ = 0;
  alignas(kCacheLine) std::atomic<std::size_t> tail_{0};
  std::size_t seenHead_ = 0;
};

}  // namespace relay
