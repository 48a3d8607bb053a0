// Exact encoding: split, look the word up in a cache, merge only on a miss; character spans come out of the same pass.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory.hpp"
#include "splitter.hpp"
#include "token_table.hpp"
#include "tokens.hpp"
#include "word_table.hpp"

namespace megacpp {

struct Vocabulary {
  std::vector<std::string> tokens;                  // bytes of each id
  std::vector<std::uint32_t> reachable;             // ids that a word may equal as a whole
  std::vector<std::uint32_t> left, right, product;  // merges in rank order
  std::vector<std::uint32_t> guard_ids;             // of the splitter's guards, in its order
  std::uint32_t bos = 0, first_ordinary = 0;
};

class Encoder {
 public:
  // Ready for calls with `threads`; one with more of them makes what it lacks.
  Encoder(const Splitter& splitter, Vocabulary vocabulary, unsigned threads);

  // Tokens of `texts`, one document each, beginning with BOS. The result does not depend on `threads`.
  Tokens encode(const std::vector<std::string_view>& texts, unsigned threads, bool spans);

  // Tokens of one word.
  std::size_t count_tokens(std::string_view word);

  // Bytes of `ids` without the special tokens; std::out_of_range for an id that is not in the vocabulary.
  std::string decode(const std::uint32_t* ids, std::size_t count) const;

 private:
  // A word that waits to be looked up. A long one has `high` 0 and its length in `low`; its hash is that of its bytes. The
  // key of a guard has a bit above the length, so that no other word has the same.
  struct Word {
    ShortKey key;
    std::uint64_t hash;
    const Byte* start;

    bool is_long() const { return key.high == 0; }
    std::size_t length() const { return is_long() ? key.low : key.high >> 56 & kInline; }
    bool is_ascii() const { return is_long() ? megacpp::is_ascii(start, start + key.low) : is_short_ascii(); }
    bool is_short_ascii() const { return ((key.low | key.high) & 0x8080808080808080u) == 0; }
  };
  // Words that a thread has merged, for the other threads. They point into the texts.
  struct Learned {
    struct Entry {
      Word word;
      std::size_t first, count;  // of `ids`
    };
    std::vector<Entry> entries;
    std::vector<std::uint32_t> ids;
  };
  // What one thread has learned of words. The whole words of the vocabulary are in it from the start.
  struct Cache {
    // With room for as many words as the vocabulary has, twice: to grow takes as long as to merge the words added.
    explicit Cache(const Encoder& encoder) : Cache(encoder, encoder.vocabulary_.reachable.size()) {}
    Cache(const Encoder& encoder, std::size_t known) : words(2 * known), long_words(known) {
      encoder.seed(*this);
      seeded = memory();
    }

    std::size_t memory() const { return words.memory() + long_words.memory() + 4 * spill.capacity(); }

    TokenTable words;
    WordTable<TokenList> long_words;
    std::vector<std::uint32_t> spill, scratch;
    std::size_t seeded;  // its memory before anything was learned
    bool tells = false;  // other threads encode beside this one
    Learned learned;     // since it was published last; kept if the cache `tells`
  };
  class Exchange;
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  static constexpr std::uint64_t kGuard = std::uint64_t{1} << 62;  // of a key
  // A merge is one integer in its table, which stays near the core as it is small: left id, right id, rank. The table is
  // cut in groups, all of whose places are compared at once.
  static constexpr unsigned kIdBits = 22, kRankBits = 20;
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static constexpr std::int32_t kNoRank = (1 << kRankBits) - 1;
  static constexpr std::uint32_t kBorder = (1u << kIdBits) - 1;  // no id
  static constexpr unsigned kGroupBits = 2;
  static constexpr std::size_t kGroup = std::size_t{1} << kGroupBits;
  struct Pair {
    std::uint64_t key;
    std::size_t group;  // where the table has it, or the first one of those
  };
  struct Document;
  struct Lane;

  Pair pair(std::uint32_t left, std::uint32_t right) const;
  void add_merge(std::uint32_t left, std::uint32_t right, std::uint32_t rank);
  std::size_t next_group(std::size_t group) const { return (group + kGroup) % merges_.size(); }
  std::uint64_t find_in(std::size_t group, std::uint64_t key) const;
  std::int32_t find_rank(const Pair& pair) const;
  void prefetch_rank(const Pair& pair) const;
  void seed(Cache& cache) const;
  std::unique_ptr<Cache>& cache_of(unsigned thread);
  void start(Lane& lane, const Word& word) const;
  bool merge_lowest(Lane& lane) const;
  void find_new_ranks(Lane& lane) const;
  static std::size_t finish(Lane& lane);
  void merge_long(const Word& word, std::vector<std::uint32_t>& ids) const;
  Tokens encode_shares(const std::vector<std::string_view>& texts, unsigned threads, bool spans);
  void encode_range(const std::vector<std::string_view>& texts, std::size_t first, std::size_t last,
                    std::unique_ptr<Cache>& cache, Tokens& out) const;
  void encode_text(const Byte* p, const Byte* end, Cache& cache, Tokens& out) const;
  static void prefetch(const Word& word, const Cache& cache);
  static Word prepare(const Byte* start, std::size_t length, const Byte* limit);
  template <bool kSpans>
  void look_up(Document& document) const;
  template <bool kSpans>
  void add_tokens(Document& document, std::size_t index) const;
  static const TokenList* find(const Word& word, Cache& cache);
  static TokenList& place(const Word& word, Cache& cache, bool& fresh);
  TokenList list(const std::uint32_t* ids, std::size_t count) const;
  void store(const std::uint32_t* ids, std::size_t count, TokenList& place, Cache& cache) const;
  void keep(const Word& word, const std::uint32_t* ids, std::size_t count, Cache& cache) const;
  const Word* next_missing(Document& document) const;
  void learn(Document& document) const;
  const TokenList* learned(Document& document, std::size_t index) const;
  const std::uint32_t* tokens_of(const Word& word, const TokenList* tokens, Cache& cache, std::size_t& count) const;
  void add_spans(const Word& word, const std::uint32_t* ids, std::size_t count, Document& document) const;

  const Splitter& splitter_;
  Vocabulary vocabulary_;
  std::vector<std::uint32_t> lengths_;
  std::uint32_t byte_ids_[256];
  std::vector<Word> guards_;  // in the splitter's order; they start nowhere
  Large<std::uint64_t> merges_;
  unsigned group_shift_;                                                        // of a hash: the number of its group
  std::vector<std::int32_t> byte_ranks_ = std::vector<std::int32_t>(1u << 16);  // of two bytes, as in a lane
  std::vector<std::unique_ptr<Cache>> caches_;
};

}  // namespace megacpp
