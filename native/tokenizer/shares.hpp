// Texts cut in shares that threads take in turn, and the arrays in which the tokens of all shares are laid end to end.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tokens.hpp"

namespace megacpp {

inline constexpr std::size_t kShareBytes = 128u << 10;  // of texts that a thread takes at once

// Texts [first, last).
struct Share {
  std::size_t first, last;
};

inline std::vector<Share> cut_shares(const std::vector<std::string_view>& texts) {
  std::vector<Share> shares;
  std::size_t bytes = 0, first = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    bytes += texts[i].size();
    if (bytes < kShareBytes && i + 1 < texts.size()) continue;
    shares.push_back({first, i + 1});
    first = i + 1;
    bytes = 0;
  }
  return shares;
}

// Calls `work(index, thread)` for every index below `count`; a thread that has finished one takes the next. The first error
// ends all threads, and is thrown once they have ended.
template <class Work>
void share_out(std::size_t count, unsigned threads, Work&& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex mutex;
  const auto fail = [&] {
    next = count;
    const std::lock_guard<std::mutex> lock(mutex);
    if (!error) error = std::current_exception();
  };
  const auto run = [&](unsigned thread) {
    try {
      for (std::size_t index; (index = next.fetch_add(1)) < count;) work(index, thread);
    } catch (...) { fail(); }
  };
  std::vector<std::thread> workers;
  try {
    for (unsigned t = 1; t < threads; ++t) workers.emplace_back(run, t);
  } catch (...) { fail(); }
  run(0);
  for (auto& worker : workers) worker.join();
  if (error) std::rethrow_exception(error);
}

// Tokens of shares that are finished in any order. A share is encoded into memory that stays near the core, and copied to
// its place once all shares before it are finished: the pages of the result are touched once.
class JoinedTokens {
 public:
  JoinedTokens(const std::vector<std::string_view>& texts, const std::vector<Share>& shares, bool spans)
      : shares_(shares), out_(spans), finished_(shares.size()) {
    std::size_t bytes = 0;
    for (const auto& text : texts) bytes += text.size();
    out_.offsets.resize(texts.size() + 1);
    out_.reserve(expected_tokens(bytes, texts.size()));
  }

  // Empty tokens to encode a share into.
  Tokens spare() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (spare_.empty()) return Tokens(out_.spans);
    Tokens tokens = std::move(spare_.back());
    spare_.pop_back();
    return tokens;
  }

  // Takes the tokens of a share, and copies those whose place is known by now.
  void finish(std::size_t share, Tokens&& tokens) {
    for (Placed& placed : place(share, std::move(tokens))) {
      copy(placed);
      placed.tokens.clear();
      const std::lock_guard<std::mutex> lock(mutex_);
      spare_.push_back(std::move(placed.tokens));
    }
  }

  // All tokens, once every share is finished.
  Tokens take() { return std::move(out_); }

 private:
  struct Placed {
    std::size_t share, start;  // `start`: tokens before it
    Tokens tokens;
  };

  std::vector<Placed> place(std::size_t share, Tokens&& tokens) {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_[share].push_back(std::move(tokens));
    std::vector<Placed> placed;
    for (; next_ < finished_.size() && !finished_[next_].empty(); ++next_) {
      placed.push_back({next_, out_.size, std::move(finished_[next_].back())});
      const std::size_t more = placed.back().tokens.size;
      if (out_.size + more > out_.capacity) {
        const std::lock_guard<std::shared_mutex> alone(memory_);
        out_.reserve(more);
      }
      out_.size += more;
    }
    return placed;
  }

  void copy(Placed& placed) {
    const std::shared_lock<std::shared_mutex> lock(memory_);
    Tokens& from = placed.tokens;
    std::copy_n(from.ids.data(), from.size, out_.ids.data() + placed.start);
    if (out_.spans) {
      std::copy_n(from.starts.data(), from.size, out_.starts.data() + placed.start);
      std::copy_n(from.ends.data(), from.size, out_.ends.data() + placed.start);
    }
    std::int64_t* offsets = out_.offsets.data() + shares_[placed.share].first;
    for (std::size_t i = 1; i < from.offsets.size(); ++i)
      offsets[i] = from.offsets[i] + static_cast<std::int64_t>(placed.start);
  }

  const std::vector<Share>& shares_;
  Tokens out_;
  std::vector<std::vector<Tokens>> finished_;  // of each share none or one, until it has its place
  std::vector<Tokens> spare_;
  std::size_t next_ = 0;      // the first share that has no place
  std::mutex mutex_;          // of all but the arrays
  std::shared_mutex memory_;  // of the arrays: shared by those who copy, held alone by who makes them grow
};

}  // namespace megacpp
