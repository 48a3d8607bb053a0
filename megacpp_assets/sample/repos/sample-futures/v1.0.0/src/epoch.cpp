// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#include "relay/epoch.hpp"

#include <thread>

#include "relay/hash.hpp"

namespace relay {
namespace {

// Spreads threads over the slots, so that they seldom try the same one.
std::size_t preferredSlot() {
  static std::atomic<std::uint64_t> counter{0};
  thread_local const std::uint64_t id = mix64(counter.fetch_add(1));
  return static_cast<std::size_t>(id % EpochDomain::kMaxReaders);
}

}  // namespace

EpochDomain::~EpochDomain() {
  for (Retired& retired : retired_) retired.destroy();
}

std::size_t EpochDomain::enter() {
  for (std::size_t slot = preferredSlot();; slot = (slot + 1) % kMaxReaders) {
    Epoch expected = kIdle;
    if (readers_[slot].epoch.compare_exchange_strong(
            expected, current_.load(std::memory_order_seq_cst),
            std::memory_order_seq_cst)) {
      return slot;
    }
    if (slot + 1 == kMaxReaders) std::this_thread::yield();
  }
}

void EpochDomain::leave(std::size_t slot) {
  readers_[slot].epoch.store(kIdle, std::memory_order_release);
}

void EpochDomain::defer(Task destroy) {
  const Epoch epoch = current_.fetch_add(1, std::memory_order_seq_cst);
  std::lock_guard<std::mutex> lock(mutex_);
  retired_.push_back(Retired{epoch, std::move(destroy)});
}

EpochDomain::Epoch EpochDomain::oldestReader() const {
  Epoch oldest = ~Epoch{0};
  for (const Reader& reader : readers_) {
    const Epoch epoch = reader.epoch.load(std::memory_order_seq_cst);
    if (epoch != kIdle && epoch < oldest) oldest = epoch;
  }
  return oldest;
}

std::size_t EpochDomain::collect() {
  std::vector<Retired> safe;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const Epoch oldest = oldestReader();
    std::vector<Retired> kept;
    for (Retired& retired : retired_) {
      (retired.epoch < oldest ? safe : kept).push_back(std::move(retired));
    }
    retired_.swap(kept);
  }
  // Destructors run unlocked, since they may well retire something else.
  for (Retired& retired : safe) retired.destroy();
  return safe.size();
}

std::size_t EpochDomain::pendingCount() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return retired_.size();
}

}  // namespace relay
