// Exact encoding: split, look the word up, merge only one that is not known; character spans come out of the same pass.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "known_words.hpp"
#include "memory.hpp"
#include "splitter.hpp"
#include "tokens.hpp"

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
  // Ready for calls with `threads`; one with more of them makes what is missing.
  Encoder(const Splitter& splitter, Vocabulary vocabulary, unsigned threads);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Tokens of `texts`, one document each, beginning with BOS. The result does not depend on `threads`.
  Tokens encode(const std::vector<std::string_view>& texts, unsigned threads, bool spans);

  // Tokens of one word.
  std::size_t count_tokens(std::string_view word);

  // Bytes of `ids` without the special tokens; std::out_of_range for an id that is not in the vocabulary.
  std::string decode(const std::uint32_t* ids, std::size_t count) const;

 private:
  // What one thread works with.
  struct Thread {
    explicit Thread(KnownWords& words) : known(words) {}

    KnownWords::View known;
    std::vector<std::uint32_t> scratch;
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
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
  struct Hashes;
  struct Lane;

  Pair pair(std::uint32_t left, std::uint32_t right) const;
  void add_merge(std::uint32_t left, std::uint32_t right, std::uint32_t rank);
  std::size_t next_group(std::size_t group) const { return (group + kGroup) % merges_.size(); }
  std::uint64_t find_in(std::size_t group, std::uint64_t key) const;
  std::int32_t find_rank(const Pair& pair) const;
  void prefetch_rank(const Pair& pair) const;
  bool seed(WordStore& store, WordWriter& writer) const;
  void start_threads(unsigned threads);
  void start(Lane& lane, const Word& word) const;
  bool merge_lowest(Lane& lane) const;
  void find_new_ranks(Lane& lane) const;
  static std::size_t finish(Lane& lane);
  void merge_long(const Word& word, std::vector<std::uint32_t>& ids) const;
  void encode_range(const std::vector<std::string_view>& texts, std::size_t first, std::size_t last, Thread& thread,
                    Tokens& out) const;
  void encode_text(const Byte* p, const Byte* end, Thread& thread, Tokens& out) const;
  template <bool kSpans>
  void look_up(Document& document) const;
  template <bool kSpans>
  void add_tokens(Document& document, std::size_t index) const;
  TokenList list(const std::uint32_t* ids, std::size_t count) const;
  void keep(const Word& word, const std::uint32_t* ids, std::size_t count, KnownWords::View& known) const;
  static const Word* next_missing(Document& document, const Hashes& merging);
  void learn(Document& document) const;
  const TokenList* learned(Document& document, std::size_t index) const;
  const std::uint32_t* tokens_of(const Word& word, const TokenList* tokens, Thread& thread, std::size_t& count) const;
  void add_spans(const Word& word, const std::uint32_t* ids, std::size_t count, Document& document) const;

  const Splitter& splitter_;
  Vocabulary vocabulary_;
  std::vector<std::uint32_t> lengths_;
  std::uint32_t byte_ids_[256];
  std::vector<Word> guards_;  // in the splitter's order; they start nowhere
  Large<std::uint64_t> merges_;
  unsigned group_shift_;                                                        // of a hash: the number of its group
  std::vector<std::int32_t> byte_ranks_ = std::vector<std::int32_t>(1u << 16);  // of two bytes, as in a lane
  std::unique_ptr<KnownWords> known_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace megacpp
