// Pairs by falling count, equal counts by rising key. Counts of queued pairs only fall, so the queue is a row of buckets,
// each put in order when its count is reached; rare large or risen counts go through a heap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <vector>

#include "memory.hpp"

namespace megacpp {

struct Queued {
  std::uint64_t key;
  std::uint32_t pair;
};

class PairQueue {
 public:
  PairQueue() : buckets_(kBuckets) {}

  void push(std::int64_t count, std::uint64_t key, std::uint32_t pair) {
    if (count >= kBuckets || count > level_)
      heap_.push({count, {key, pair}});
    else if (count == level_ && open_)
      late_.push({key, pair});
    else
      buckets_[static_cast<std::size_t>(count)].push_back({key, pair});
  }

  // The next pair whose queued count is its true one, or false. `count_of(pair)` is the true count; a pair whose count
  // fell is queued again under it.
  template <class CountOf>
  bool pop(CountOf&& count_of, std::int64_t& count, Queued& out) {
    for (;;) {
      if (!take(count_of, count, out)) return false;
      const std::int64_t now = count_of(out.pair);
      if (now == count) return true;
      if (now > 0) push(now, out.key, out.pair);
    }
  }

 private:
  static constexpr std::int64_t kBuckets = 1 << 16;

  struct Tall {
    std::int64_t count;
    Queued queued;
    bool operator<(const Tall& other) const {
      return count != other.count ? count < other.count : queued.key > other.queued.key;
    }
  };
  struct LargerKey {
    bool operator()(const Queued& a, const Queued& b) const { return a.key > b.key; }
  };

  template <class CountOf>
  bool take(CountOf&& count_of, std::int64_t& count, Queued& out) {
    while (heap_.empty() && now_.empty() && late_.empty()) {
      if (level_ == 0) return false;
      open_ = false;
      open(--level_, count_of);
    }
    if (!heap_.empty()) {  // taller than every bucket that is still open
      count = heap_.top().count;
      out = heap_.top().queued;
      heap_.pop();
      return true;
    }
    count = level_;
    if (now_.empty() || (!late_.empty() && late_.top().key < now_.back().key)) {
      out = late_.top();
      late_.pop();
    } else {
      out = now_.back();
      now_.pop_back();
    }
    return true;
  }

  // Makes the bucket of `level` the current one: pairs that fell since go to their own, the others are sorted.
  template <class CountOf>
  void open(std::int64_t level, CountOf&& count_of) {
    std::vector<Queued> bucket;
    bucket.swap(buckets_[static_cast<std::size_t>(level)]);
    for (const Queued& queued : bucket) {
      const std::int64_t count = count_of(queued.pair);
      if (count == level)
        now_.push_back(queued);
      else if (count > 0)
        push(count, queued.key, queued.pair);
    }
    std::sort(now_.begin(), now_.end(), [](const Queued& a, const Queued& b) { return a.key > b.key; });
    open_ = true;
  }

  std::vector<std::vector<Queued>> buckets_;
  std::vector<Queued> now_;  // of the current count, smallest key last
  std::priority_queue<Queued, std::vector<Queued>, LargerKey>
      late_;  // of the current count, queued since it was opened
  std::priority_queue<Tall> heap_;
  std::int64_t level_ = kBuckets;  // the current count
  bool open_ = false;
};

}  // namespace megacpp
