// Copyright 2026 The megacpp_assets authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef GRANARY_FLAT_HASH_MAP_H_
#define GRANARY_FLAT_HASH_MAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace granary {

/// Default hash: FNV-1a over text, a multiplicative mix over integers.
struct Hasher {
  std::size_t operator()(std::string_view text) const {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return static_cast<std::size_t>(hash);
  }

  template <typename Int, typename = std::enable_if_t<std::is_integral_v<Int>>>
  std::size_t operator()(Int value) const {
    const auto mixed =
        static_cast<std::uint64_t>(value) * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
};

/// A map in one flat array of slots, with linear probing. Pointers into the
/// map stay good only until the next insertion or erasure.
template <typename K, typename V, typename Hash = Hasher>
class FlatHashMap {
 public:
  using value_type = std::pair<const K, V>;

  /// Walks over full slots in no particular order.
  template <typename Map, typename Value>
  class Iterator {
   public:
    Iterator(Map* map, std::size_t index) : map_(map), index_(index) {
      SkipHoles();
    }
    Value& operator*() const { return *map_->At(index_); }
    Value* operator->() const { return map_->At(index_); }
    Iterator& operator++() {
      ++index_;
      SkipHoles();
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return index_ == other.index_;
    }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    friend class FlatHashMap;
    void SkipHoles() {
      while (index_ < map_->capacity_ && !map_->IsFull(index_)) ++index_;
    }
    Map* map_;
    std::size_t index_;
  };
  using iterator = Iterator<FlatHashMap, value_type>;
  using const_iterator = Iterator<const FlatHashMap, const value_type>;

  FlatHashMap() = default;
  FlatHashMap(FlatHashMap&& other) noexcept { swap(other); }
  FlatHashMap& operator=(FlatHashMap&& other) noexcept {
    swap(other);
    return *this;
  }
  ~FlatHashMap() { DestroySlots(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  iterator begin() { return iterator(this, 0); }
  iterator end() { return iterator(this, capacity_); }
  const_iterator begin() const { return const_iterator(this, 0); }
  const_iterator end() const { return const_iterator(this, capacity_); }

  template <typename Q>
  iterator find(const Q& key) {
    return iterator(this, FindIndex(key));
  }
  template <typename Q>
  const_iterator find(const Q& key) const {
    return const_iterator(this, FindIndex(key));
  }
  template <typename Q>
  bool contains(const Q& key) const {
    return FindIndex(key) != capacity_;
  }

  /// Inserts unless the key is there. Says which happened.
  template <typename Q, typename... Args>
  std::pair<iterator, bool> try_emplace(Q&& key, Args&&... args) {
    const std::size_t found = FindIndex(key);
    if (found != capacity_) return {iterator(this, found), false};
    if (NeedsGrowth(size_ + 1, capacity_)) {
      Rehash(capacity_ == 0 ? kMinCapacity : capacity_ * 2);
    }
    const std::size_t slot = FindHole(Hash()(key));
    ::new (At(slot)) value_type(
        std::piecewise_construct, std::forward_as_tuple(std::forward<Q>(key)),
        std::forward_as_tuple(std::forward<Args>(args)...));
    states_[slot] = kFull;
    ++size_;
    return {iterator(this, slot), true};
  }

  /// Inserts the pair, or replaces the value of a key that is there.
  template <typename Q, typename U>
  std::pair<iterator, bool> insert_or_assign(Q&& key, U&& value) {
    const auto result =
        try_emplace(std::forward<Q>(key), std::forward<U>(value));
    // try_emplace leaves its arguments alone when it inserts nothing.
    if (!result.second) result.first->second = std::forward<U>(value);
    return result;
  }

  /// Makes room for `count` entries, so that none of them causes a rehash.
  void reserve(std::size_t count) {
    std::size_t wanted = kMinCapacity;
    while (NeedsGrowth(count, wanted)) wanted *= 2;
    if (wanted > capacity_) Rehash(wanted);
  }

  template <typename Q>
  V& operator[](Q&& key) {
    return try_emplace(std::forward<Q>(key)).first->second;
  }

  /// Removes the key and closes the gap, so that no tombstones pile up.
  template <typename Q>
  bool erase(const Q& key) {
    std::size_t hole = FindIndex(key);
    if (hole == capacity_) return false;
    Evict(hole);
    for (std::size_t i = Next(hole); IsFull(i); i = Next(i)) {
      const std::size_t home = HomeOf(At(i)->first);
      // Distances run along the probe order, around the end of the array.
      if (Distance(home, i) < Distance(hole, i)) continue;
      MoveSlot(i, hole);
      hole = i;
    }
    return true;
  }

  void clear() {
    DestroySlots();
    FlatHashMap().swap(*this);
  }

  void swap(FlatHashMap& other) noexcept {
    std::swap(states_, other.states_);
    std::swap(slots_, other.slots_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
  }

 private:
  enum SlotState : std::uint8_t { kHole = 0, kFull = 1 };
  struct Slot {
    alignas(value_type) unsigned char bytes[sizeof(value_type)];
  };
  static constexpr std::size_t kMinCapacity = 8;

  bool IsFull(std::size_t i) const { return states_[i] == kFull; }
  value_type* At(std::size_t i) const {
    return reinterpret_cast<value_type*>(slots_[i].bytes);
  }
  std::size_t Next(std::size_t i) const { return (i + 1) & (capacity_ - 1); }
  std::size_t Distance(std::size_t from, std::size_t to) const {
    return (to - from) & (capacity_ - 1);
  }
  template <typename Q>
  std::size_t HomeOf(const Q& key) const {
    return Hash()(key) & (capacity_ - 1);
  }

  template <typename Q>
  std::size_t FindIndex(const Q& key) const {
    if (capacity_ == 0) return 0;
    for (std::size_t i = HomeOf(key); IsFull(i); i = Next(i)) {
      if (At(i)->first == key) return i;
    }
    return capacity_;
  }

  std::size_t FindHole(std::size_t hash) const {
    std::size_t i = hash & (capacity_ - 1);
    while (IsFull(i)) i = Next(i);
    return i;
  }

  void Evict(std::size_t i) {
    At(i)->~value_type();
    states_[i] = kHole;
    --size_;
  }

  void MoveSlot(std::size_t from, std::size_t to) {
    ::new (At(to)) value_type(std::move(*At(from)));
    states_[to] = kFull;
    ++size_;
    Evict(from);
  }

  /// The array is kept at most seven eighths full.
  static constexpr bool NeedsGrowth(std::size_t count, std::size_t capacity) {
    return count * 8 > capacity * 7;
  }

  void Rehash(std::size_t capacity) {
    FlatHashMap bigger;
    bigger.capacity_ = capacity;
    bigger.states_ = std::make_unique<SlotState[]>(bigger.capacity_);
    bigger.slots_.reset(new Slot[bigger.capacity_]);
    for (value_type& entry : *this) {
      const std::size_t slot = bigger.FindHole(Hash()(entry.first));
      ::new (bigger.At(slot)) value_type(std::move(entry));
      bigger.states_[slot] = kFull;
      ++bigger.size_;
    }
    swap(bigger);
  }

  void DestroySlots() {
    for (std::size_t i = 0; i < capacity_; ++i) {
      if (IsFull(i)) Evict(i);
    }
  }

  std::unique_ptr<SlotState[]> states_;
  std::unique_ptr<Slot[]> slots_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace granary

#endif  // GRANARY_FLAT_HASH_MAP_H_
