// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "relay/arena.hpp"

#include <cstdint>
#include <cstring>

#include "relay/bits.hpp"

namespace relay {

void* Arena::allocate(std::size_t size, std::size_t alignment) {
  auto start = alignUp(reinterpret_cast<std::uintptr_t>(next_), alignment);
  if (next_ == nullptr ||
      start + size > reinterpret_cast<std::uintptr_t>(limit_)) {
    addBlock(size + alignment);
    start = alignUp(reinterpret_cast<std::uintptr_t>(next_), alignment);
  }
  char* const result = reinterpret_cast<char*>(start);
  next_ = result + size;
  used_ += size;
  return result;
}

std::string_view Arena::intern(std::string_view text) {
  if (text.empty()) return {};
  char* copy = static_cast<char*>(allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

void Arena::addBlock(std::size_t atLeast) {
  const std::size_t payload = atLeast > blockSize_ ? atLeast : blockSize_;
  char* memory = static_cast<char*>(::operator new(sizeof(Block) + payload));
  block_ = ::new (memory) Block{block_};
  next_ = memory + sizeof(Block);
  limit_ = next_ + payload;
  ++blockCount_;
}

void Arena::addCleanup(void* object, void (*destroy)(void*)) {
  void* memory = allocate(sizeof(Cleanup), alignof(Cleanup));
  cleanups_ = ::new (memory) Cleanup{cleanups_, object, destroy};
}

void Arena::reset() {
  while (cleanups_ != nullptr) {
    Cleanup* const cleanup = cleanups_;
    cleanups_ = cleanup->previous;
    cleanup->destroy(cleanup->object);
  }
  while (block_ != nullptr) {
    ::operator delete(std::exchange(block_, block_->previous));
  }
  next_ = limit_ = nullptr;
  used_ = blockCount_ = 0;
}

}  // namespace relay
