// The words whose tokens an encoder knows. All its threads share them: what one of them has merged, no other merges again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "arena.hpp"
#include "long_table.hpp"
#include "text.hpp"
#include "token_table.hpp"

namespace megacpp {

// A word to look up. A long one has its length in `low`, and its hash is that of its bytes. Keys of long words and of guards
// have a bit above the length, so that no other word has the same.
struct Word {
  static constexpr std::uint64_t kGuard = std::uint64_t{1} << 62, kLong = std::uint64_t{1} << 61;
  ShortKey key;
  std::uint64_t hash;
  const Byte* start;

  // `limit` is the end of readable memory.
  static Word at(const Byte* start, std::size_t length, const Byte* limit) {
    if (length > kInline) [[unlikely]]
      return {{length, kLong}, hash_bytes(start, length), start};
    const ShortKey key = short_key(start, length, limit);
    return {key, hash_key(key), start};
  }

  bool is_long() const { return key.high == kLong; }
  std::size_t length() const { return is_long() ? key.low : key.high >> 56 & kInline; }
  bool is_ascii() const { return is_long() ? megacpp::is_ascii(start, start + key.low) : is_short_ascii(); }
  bool is_short_ascii() const { return ((key.low | key.high) & 0x8080808080808080u) == 0; }
};

// What a thread adds words with.
struct WordWriter {
  Arena::Writer arena;
  std::size_t short_words = 0, long_words = 0;  // added, and not counted by the tables yet
};

// Words and their tokens. Threads read and add without a lock.
class WordStore {
 public:
  // With room for twice as many as `words`.
  explicit WordStore(std::size_t words)
      : short_(std::make_shared<TokenTable>(2 * words)),
        long_(std::make_shared<LongTable>(words)),
        arena_(std::make_shared<Arena>()) {}

  // What `other` has, and twice the room where that is full. What threads add meanwhile may be missing: it is merged again.
  WordStore(const WordStore& other)
      : short_(other.short_->is_full() ? std::make_shared<TokenTable>(*other.short_) : other.short_),
        long_(other.long_->is_full() ? std::make_shared<LongTable>(*other.long_) : other.long_),
        arena_(other.arena_) {}
  WordStore& operator=(const WordStore&) = delete;

  const TokenTable& short_words() const { return *short_; }
  std::size_t memory() const { return short_->memory() + long_->memory() + arena_->memory(); }
  bool is_full() const { return short_->is_full() || long_->is_full(); }
  bool has_arena_of(const WordStore& other) const { return arena_ == other.arena_; }

  // Ask for the memory where a long word is looked up first, and then for the memory where its tokens are.
  [[gnu::always_inline]] void prefetch_slot(const Word& word) const { long_->prefetch(word.hash); }
  [[gnu::always_inline]] void prefetch_record(const Word& word) const { long_->prefetch_record(word.hash, *arena_); }

  // The tokens of a word, or null.
  const TokenList* find(const Word& word) const {
    return word.is_long() ? long_->find(word.start, word.length(), word.hash, *arena_)
                          : short_->find(word.key, word.hash);
  }

  // Adds a word that is not known. False if another thread has added it, or if there is no room for it.
  bool add(const Word& word, const TokenList& tokens, WordWriter& writer) {
    return word.is_long()
               ? long_->add(word.start, word.length(), word.hash, tokens, *arena_, writer.arena, writer.long_words)
               : short_->add(word.key, word.hash, tokens, writer.short_words);
  }
  bool has_room(const Word& word) const {
    return word.is_long() ? long_->has_room(word.hash) : short_->has_room(word.hash);
  }

  // The list of more tokens than fit in one; one without tokens if there is no memory.
  TokenList spill(const std::uint32_t* ids, std::size_t count, WordWriter& writer) {
    std::uint32_t place;
    Arena::Unit* memory = writer.arena.allocate(*arena_, (count + 1) / 2, place);
    if (memory == nullptr) return {};
    std::memcpy(memory, ids, count * sizeof *ids);
    return TokenList::elsewhere(reinterpret_cast<const std::uint32_t*>(memory), count);
  }

 private:
  std::shared_ptr<TokenTable> short_;
  std::shared_ptr<LongTable> long_;
  std::shared_ptr<Arena> arena_;
};

// What all threads of an encoder know: the newest store.
class KnownWords {
 public:
  // What one thread sees of it, and adds to.
  class View;
  // Adds the words that are known from the start; false if one has found no room.
  using Seed = std::function<bool(WordStore&, WordWriter&)>;

  // `words`: the number of those.
  KnownWords(std::size_t words, Seed seed);

 private:
  static constexpr std::size_t kMostLearned = std::size_t{256} << 20;  // bytes, by all threads; then it begins anew

  std::shared_ptr<WordStore> first() const;
  void replace(std::shared_ptr<WordStore> store);

  const std::size_t words_;
  const Seed seed_;
  std::mutex mutex_;  // of `store_`
  std::shared_ptr<WordStore> store_;
  std::atomic<std::uint64_t> version_{0};  // of `store_`
  std::size_t first_memory_;
};

class KnownWords::View {
 public:
  explicit View(KnownWords& all);

  const WordStore& store() const { return *store_; }

  bool has_room(const Word& word) const { return store_->has_room(word); }
  // Keeps the tokens of a word that was not known, if there is room. A full store is replaced, so a list found before is no
  // longer valid.
  void add(const Word& word, const TokenList& tokens) {
    store_->add(word, tokens, writer_);
    if (store_->is_full()) [[unlikely]]
      grow();
  }
  TokenList spill(const std::uint32_t* ids, std::size_t count) { return store_->spill(ids, count, writer_); }

  // Takes the newest store. A list found before is no longer valid.
  void refresh() {
    if (version_ != all_.version_.load(std::memory_order_acquire)) [[unlikely]]
      take(std::unique_lock(all_.mutex_));
  }

  // As `refresh`; a store that has learned too much is replaced by a first one.
  void limit();

 private:
  void grow();
  void take(std::unique_lock<std::mutex> lock);

  KnownWords& all_;
  std::shared_ptr<WordStore> store_;
  std::uint64_t version_;
  WordWriter writer_;
};

}  // namespace megacpp
