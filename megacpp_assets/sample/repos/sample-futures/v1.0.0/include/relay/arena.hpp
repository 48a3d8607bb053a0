// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace relay {

/// Hands out memory that is all released at once. Objects made here have
/// their destructors run in reverse order of creation.
class Arena {
 public:
  explicit Arena(std::size_t blockSize = 4096) : blockSize_(blockSize) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { reset(); }

  void* allocate(std::size_t size,
                 std::size_t alignment = alignof(std::max_align_t));

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    T* object = ::new (allocate(sizeof(T), alignof(T)))
        T(std::forward<Args>(args)...);
    if constexpr (!std::is_trivially_destructible_v<T>) {
      addCleanup(object, [](void* p) { static_cast<T*>(p)->~T(); });
    }
    return object;
  }

  /// A copy of `text` that lives as long as the arena.
  std::string_view intern(std::string_view text);

  /// Destroys every object and gives every block back.
  void reset();

  std::size_t bytesUsed() const { return used_; }
  std::size_t blockCount() const { return blockCount_; }

 private:
  struct Block {
    Block* previous;
  };
  struct Cleanup {
    Cleanup* previous;
    void* object;
    void (*destroy)(void*);
  };

  void addBlock(std::size_t atLeast);
  void addCleanup(void* object, void (*destroy)(void*));

  std::size_t blockSize_;
  Block* block_ = nullptr;
  Cleanup* cleanups_ = nullptr;
  char* next_ = nullptr;
  char* limit_ = nullptr;
  std::size_t used_ = 0;
  std::size_t blockCount_ = 0;
};

}  // namespace relay
