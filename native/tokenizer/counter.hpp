// Word counts of a corpus: splits texts on one or more threads, keeps unique words only.
#pragma once

#include <string_view>
#include <thread>
#include <vector>

#include "splitter.hpp"
#include "word_table.hpp"

namespace megacpp {

class Counter {
 public:
  explicit Counter(const Splitter& splitter) : splitter_(splitter), tables_(1) {}

  // Counts the words of `texts` on `threads` threads; the sums do not depend on their number.
  void add(const std::vector<std::string_view>& texts, unsigned threads) {
    std::size_t total = 0;
    for (const auto& text : texts) total += text.size();
    bytes_ += total;
    if (threads > tables_.size()) tables_.resize(threads);
    std::vector<std::thread> workers;
    std::size_t next = 0, given = 0;
    for (unsigned t = 0; t < threads; ++t) {
      const std::size_t first = next;
      const std::size_t share = total / threads * (t + 1);
      while (next < texts.size() && (t + 1 == threads || given < share)) given += texts[next++].size();
      auto work = [this, &texts, t, first, last = next] { count(texts, first, last, tables_[t]); };
      if (threads == 1)
        work();
      else
        workers.emplace_back(work);
    }
    for (auto& worker : workers) worker.join();
  }

  // Adds `count` occurrences of one word that is already split.
  void add_word(std::string_view word, std::int64_t count) { add_to(tables_[0], word, count); }

  // All words in one table; the per-thread tables are folded into the first.
  const WordTable<std::int64_t>& fold() {
    for (std::size_t t = 1; t < tables_.size(); ++t) {
      tables_[t].each([&](std::string_view word, std::int64_t count) { add_to(tables_[0], word, count); });
      tables_[t].clear();
    }
    return tables_[0];
  }

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t words() const { return words_of(tables_); }

 private:
  static std::uint64_t words_of(const std::vector<WordTable<std::int64_t>>& tables) {
    std::uint64_t total = 0;
    for (const auto& table : tables) table.each([&](std::string_view, std::int64_t count) { total += count; });
    return total;
  }

  static void add_to(WordTable<std::int64_t>& table, std::string_view word, std::int64_t count) {
    bool fresh;
    const auto* p = reinterpret_cast<const Byte*>(word.data());
    table.get(p, word.size(), p, fresh) += count;
  }

  void count(const std::vector<std::string_view>& texts, std::size_t first, std::size_t last,
             WordTable<std::int64_t>& table) const {
    std::vector<Recent> recent(kRecent);
    for (std::size_t i = first; i < last; ++i) {
      const auto* p = reinterpret_cast<const Byte*>(texts[i].data());
      const Byte* end = p + texts[i].size();
      splitter_.split(
          p, end,
          [&](const Byte* word, const Byte* const* ends, std::size_t words) {
            for (std::size_t j = 0; j < words; word = ends[j++])
              count_word(word, static_cast<std::size_t>(ends[j] - word), end, recent, table);
          },
          [](std::size_t, const Byte*, std::size_t) {},  // a guard is one token: nothing to learn
          [](const Byte*) {});                           // nor from a stray byte
    }
    for (const Recent& entry : recent) flush(entry, table);
  }

  // A word in use now, and its occurrences that the table has not been told of. Most words of a text are among a few
  // thousand, so most counts stay near the core.
  struct Recent {
    ShortKey key{0, 0};
    std::int64_t count = 0;
  };
  static constexpr std::size_t kRecent = 2048;

  static void count_word(const Byte* word, std::size_t length, const Byte* limit, std::vector<Recent>& recent,
                         WordTable<std::int64_t>& table) {
    bool fresh;
    if (length > kInline) {
      ++table.get(word, length, limit, fresh);
      return;
    }
    const ShortKey key = short_key(word, length, limit);
    Recent& entry = recent[hash_key(key) >> 32 & (kRecent - 1)];
    if (entry.key.low != key.low || entry.key.high != key.high) {
      flush(entry, table);
      entry = {key, 0};
    }
    ++entry.count;
  }

  static void flush(const Recent& entry, WordTable<std::int64_t>& table) {
    bool fresh;
    if (entry.count != 0) table.get_short(entry.key, hash_key(entry.key), fresh) += entry.count;
  }

  const Splitter& splitter_;
  std::vector<WordTable<std::int64_t>> tables_;
  std::uint64_t bytes_ = 0;
};

}  // namespace megacpp
