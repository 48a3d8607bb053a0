// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "relay/bits.hpp"
#include "relay/move_function.hpp"

namespace relay {

/// Lets readers use shared objects without locks while writers replace them.
/// A retired object is destroyed once every reader that might have seen it
/// has left its critical section.
class EpochDomain {
 public:
  static constexpr std::size_t kMaxReaders = 64;

  EpochDomain() = default;
  EpochDomain(const EpochDomain&) = delete;
  EpochDomain& operator=(const EpochDomain&) = delete;
  ~EpochDomain();

  /// A reader's critical section. Pointers loaded in it stay good until then.
  class Guard {
   public:
    explicit Guard(EpochDomain& domain)
        : domain_(domain), slot_(domain.enter()) {}
    ~Guard() { domain_.leave(slot_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    EpochDomain& domain_;
    std::size_t slot_;
  };

  /// Destroys `object` when no reader can hold it any more.
  template <typename T>
  void retire(T* object) {
    defer([object] { delete object; });
  }

  /// Runs what has become safe; says how many callbacks that was.
  std::size_t collect();

  std::size_t pendingCount() const;

 private:
  using Epoch = std::uint64_t;
  static constexpr Epoch kIdle = 0;

  struct alignas(kCacheLine) Reader {
    std::atomic<Epoch> epoch{kIdle};
  };
  struct Retired {
    Epoch epoch;
    Task destroy;
  };

  std::size_t enter();
  void leave(std::size_t slot);
  void defer(Task destroy);
  Epoch oldestReader() const;

  std::atomic<Epoch> current_{1};
  Reader readers_[kMaxReaders];
  mutable std::mutex mutex_;
  std::vector<Retired> retired_;
};

/// A pointer that is read under a Guard and replaced as a whole.
template <typename T>
class EpochPtr {
 public:
  EpochPtr(EpochDomain& domain, T* initial)
      : domain_(domain), current_(initial) {}
  ~EpochPtr() { delete current_.load(std::memory_order_relaxed); }

  const T* load(const EpochDomain::Guard&) const {
    return current_.load(std::memory_order_seq_cst);
  }
  void replace(T* next) {
    domain_.retire(current_.exchange(next, std::memory_order_seq_cst));
  }

 private:
  EpochDomain& domain_;
  std::atomic<T*> current_;
};

}  // namespace relay
