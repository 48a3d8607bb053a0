// The miss path (vocabulary look-up, then merges by rank) and the loop over documents.
#include "encoder.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>

#include "shares.hpp"

// Such a function is compiled twice, and the processor decides when the module is loaded.
#if defined(__x86_64__) && defined(__linux__)
#define MEGACPP_FASTEST [[gnu::target_clones("avx2", "default")]]
#else
#define MEGACPP_FASTEST
#endif

namespace megacpp {

namespace {
constexpr std::size_t kCachedWord = 255;  // longer words are seldom seen twice
constexpr unsigned kPlaceBits = 7;        // of a symbol in a word that is merged in a lane
constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;
constexpr std::size_t kShortWord = kPlaces - 2;  // bytes up to which scanning beats a heap
constexpr std::size_t kFewPlaces = 24;           // of most words; all of them are scanned, without a branch
constexpr std::int32_t kGone = 0x7FFFFFFF;       // no pair: above every rank
constexpr std::size_t kLanes = 24;               // words that are merged in turn
constexpr std::size_t kWordsAtOnce = 1024;       // read ahead of the table

// Of each place in a word that nothing was merged in.
struct Neighbours {
  Byte before[kPlaces] = {}, behind[kPlaces] = {};
  constexpr Neighbours() {
    for (std::size_t i = 0; i < kPlaces; ++i) {
      before[i] = static_cast<Byte>(i - 1);
      behind[i] = static_cast<Byte>(i + 1);
    }
  }
};
constexpr Neighbours kNeighbours;

// A rank, then the place of its pair: the least one is the leftmost of the lowest rank.
constexpr std::int32_t place_rank(std::int32_t rank, std::size_t place) {
  return rank << kPlaceBits | static_cast<std::int32_t>(place);
}

// Vectors of the compiler, which makes of them what the processor has.
using Four [[gnu::vector_size(16)]] = std::int32_t;
using Eight [[gnu::vector_size(32)]] = std::int32_t;
using Merges [[gnu::vector_size(32)]] = std::uint64_t;

// `count`: 8, or a multiple.
inline std::int32_t lowest_of(const std::int32_t* values, std::size_t count) {
  Eight lowest, next;
  std::memcpy(&lowest, values, sizeof lowest);
  for (std::size_t i = 8; i < count; i += 8) {
    std::memcpy(&next, values + i, sizeof next);
    lowest = next < lowest ? next : lowest;
  }
  const Four low = __builtin_shufflevector(lowest, lowest, 0, 1, 2, 3);
  const Four high = __builtin_shufflevector(lowest, lowest, 4, 5, 6, 7);
  Four least = low < high ? low : high;
  const Four halves = __builtin_shufflevector(least, least, 2, 3, 0, 1);
  least = halves < least ? halves : least;
  return std::min(least[0], least[1]);
}
}  // namespace

inline Encoder::Pair Encoder::pair(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t key = std::uint64_t{left} << kIdBits | right;
  return {key, key * kSeed1 >> group_shift_ << kGroupBits};
}

Encoder::Encoder(const Splitter& splitter, Vocabulary vocabulary, unsigned threads)
    : splitter_(splitter), vocabulary_(std::move(vocabulary)) {
  lengths_.reserve(vocabulary_.tokens.size());
  for (const std::string& token : vocabulary_.tokens) lengths_.push_back(static_cast<std::uint32_t>(token.size()));
  std::fill(std::begin(byte_ids_), std::end(byte_ids_), kNone);
  for (const std::uint32_t id : vocabulary_.reachable) {
    const std::string& token = vocabulary_.tokens.at(id);
    if (token.size() == 1) byte_ids_[static_cast<Byte>(token[0])] = id;
  }
  for (const std::uint32_t id : byte_ids_)
    if (id == kNone) throw std::invalid_argument("a byte has no token");
  for (const std::string& guard : splitter_.guards()) {
    if (guard.size() > kInline) throw std::invalid_argument("a guard string has at most 15 bytes");
    const auto* p = reinterpret_cast<const Byte*>(guard.data());
    ShortKey key = short_key(p, guard.size(), p);
    key.high |= Word::kGuard;
    guards_.push_back({key, hash_key(key), nullptr});
  }
  if (vocabulary_.guard_ids.size() != guards_.size()) throw std::invalid_argument("as many ids as guards are needed");
  for (const std::uint32_t id : vocabulary_.guard_ids)
    if (id >= vocabulary_.tokens.size()) throw std::invalid_argument("a guard has an id that is not in the vocabulary");
  const std::size_t merges = vocabulary_.left.size();
  if (vocabulary_.tokens.size() >= std::size_t{1} << kIdBits || merges >= static_cast<std::size_t>(kNoRank))
    throw std::invalid_argument("a vocabulary has fewer than 4,194,304 ids and 1,048,575 merges");
  for (const auto* ids : {&vocabulary_.left, &vocabulary_.right, &vocabulary_.product})
    for (const std::uint32_t id : *ids)
      if (id >= vocabulary_.tokens.size())
        throw std::invalid_argument("a merge has an id that is not in the vocabulary");
  unsigned group_bits = 8;
  while (std::size_t{1} << group_bits < merges) ++group_bits;  // then few groups are full
  merges_.assign(kGroup << group_bits, kEmpty);
  group_shift_ = 64 - group_bits;
  for (std::uint32_t rank = 0; rank < merges; ++rank) add_merge(vocabulary_.left[rank], vocabulary_.right[rank], rank);
  for (unsigned pair = 0; pair < byte_ranks_.size(); ++pair)
    byte_ranks_[pair] = place_rank(find_rank(this->pair(byte_ids_[pair & 0xFF], byte_ids_[pair >> 8])), 0);
  known_ = std::make_unique<KnownWords>(vocabulary_.reachable.size() + guards_.size(),
                                        [this](WordStore& store, WordWriter& writer) { return seed(store, writer); });
  start_threads(threads);
}

// Words that are a token as a whole: no merge is needed for them, and most words are among them.
bool Encoder::seed(WordStore& store, WordWriter& writer) const {
  for (std::size_t i = 0; i < guards_.size(); ++i)
    if (!store.add(guards_[i], list(&vocabulary_.guard_ids[i], 1), writer) && store.find(guards_[i]) == nullptr)
      return false;
  for (const std::uint32_t id : vocabulary_.reachable) {
    const std::string& token = vocabulary_.tokens[id];
    const auto* p = reinterpret_cast<const Byte*>(token.data());
    const Word word = Word::at(p, token.size(), p);
    if (store.find(word) != nullptr) throw std::invalid_argument("two ids for one string");
    if (!store.add(word, list(&id, 1), writer)) return false;
  }
  return true;
}

void Encoder::start_threads(unsigned threads) {
  while (threads_.size() < std::max(1u, threads)) threads_.push_back(std::make_unique<Thread>(*known_));
}

void Encoder::add_merge(std::uint32_t left, std::uint32_t right, std::uint32_t rank) {
  const Pair pair = this->pair(left, right);
  if (find_rank(pair) != kNoRank) throw std::invalid_argument("a pair is merged twice");
  std::size_t group = pair.group;
  while (merges_[group + kGroup - 1] != kEmpty) group = next_group(group);
  std::size_t i = group;
  while (merges_[i] != kEmpty) ++i;
  merges_[i] = pair.key << kRankBits | rank;
}

// Asks for the memory that `find_rank` will read. GCC drops calls of functions that do nothing else, so it is inlined.
[[gnu::always_inline]] inline void Encoder::prefetch_rank(const Pair& pair) const {
  __builtin_prefetch(&merges_[pair.group]);
}

// No branch asks whether the pair merges: neither answer is likely enough to be predicted.
inline std::int32_t Encoder::find_rank(const Pair& pair) const {
  std::size_t group = pair.group;
  std::uint64_t found = find_in(group, pair.key);
  while (found == kEmpty && merges_[group + kGroup - 1] != kEmpty) [[unlikely]] {
    group = next_group(group);
    found = find_in(group, pair.key);
  }
  return static_cast<std::int32_t>(found & kNoRank);
}

// The merge of a group that has the key, or `kEmpty`.
inline std::uint64_t Encoder::find_in(std::size_t group, std::uint64_t key) const {
  Merges merges;
  static_assert(sizeof merges == kGroup * sizeof merges[0]);
  std::memcpy(&merges, &merges_[group], sizeof merges);
  const Merges found = merges | reinterpret_cast<Merges>((merges >> kRankBits) != key);  // all bits set in the others
  return found[0] & found[1] & found[2] & found[3];
}

// A word of at most `kShortWord` bytes that is merged beside others. Its symbols are a list, in which the byte at i has
// place i + 1. The places before the first one and behind the last one hold a symbol that merges with nothing. A merge
// leaves the left symbol in its place and takes the right one out, so that nothing moves.
struct Encoder::Lane {
  Word word;
  Pair left, right;               // of the newest symbol with the one before it, and with the one behind it
  std::uint32_t newest, scanned;  // its place; places that are read to find the lowest rank
  std::uint32_t ids[kPlaces];
  alignas(32) std::int32_t ranks[kPlaces];  // of the pair that begins there, then the place; kGone without a symbol
  Byte before[kPlaces], behind[kPlaces];    // places of the neighbours
};

void Encoder::start(Lane& lane, const Word& word) const {
  const std::size_t size = word.length();
  lane.word = word;
  lane.scanned = static_cast<std::uint32_t>(std::max(kFewPlaces, (size + 8) / 8 * 8));
  lane.ids[0] = lane.ids[size + 1] = kBorder;
  lane.ranks[0] = kGone;
  std::memcpy(lane.before, kNeighbours.before, size < 32 ? 32 : kPlaces);
  std::memcpy(lane.behind, kNeighbours.behind, size < 32 ? 32 : kPlaces);
  for (std::size_t i = 1; i <= size; ++i) lane.ids[i] = byte_ids_[word.start[i - 1]];
  for (std::size_t i = 1; i < size; ++i) {
    std::uint16_t two;
    std::memcpy(&two, word.start + i - 1, 2);
    lane.ranks[i] = byte_ranks_[two] | static_cast<std::int32_t>(i);
  }
  std::fill(lane.ranks + size, lane.ranks + lane.scanned, kGone);
}

// Merges the pair of the lowest rank, leftmost first among equals, and asks for the memory that tells of the two pairs of
// the new symbol. False if no pair merges.
inline bool Encoder::merge_lowest(Lane& lane) const {
  std::int32_t lowest = lowest_of(lane.ranks, kFewPlaces);
  if (lane.scanned > kFewPlaces) [[unlikely]]
    lowest = std::min(lowest, lowest_of(lane.ranks + kFewPlaces, lane.scanned - kFewPlaces));
  if (lowest >= place_rank(kNoRank, 0)) return false;
  const std::uint32_t place = static_cast<std::uint32_t>(lowest) % kPlaces;
  const std::uint32_t id = vocabulary_.product[static_cast<std::uint32_t>(lowest) / kPlaces];
  const Byte gone = lane.behind[place], behind = lane.behind[gone], before = lane.before[place];
  lane.ids[place] = id;
  lane.ranks[gone] = kGone;
  lane.behind[place] = behind;
  lane.before[behind] = static_cast<Byte>(place);
  lane.newest = place;
  lane.left = pair(lane.ids[before], id);
  lane.right = pair(id, lane.ids[behind]);
  prefetch_rank(lane.left);
  prefetch_rank(lane.right);
  return true;
}

inline void Encoder::find_new_ranks(Lane& lane) const {
  const Byte before = lane.before[lane.newest];
  const std::int32_t right = find_rank(lane.right), left = find_rank(lane.left);
  lane.ranks[lane.newest] = place_rank(right, lane.newest);
  lane.ranks[before] = place_rank(left, before);
  for (const std::int32_t rank : {right, left}) __builtin_prefetch(&vocabulary_.product[rank == kNoRank ? 0 : rank]);
}

// Puts the symbols that are left beside each other, from the first place on; returns their number.
std::size_t Encoder::finish(Lane& lane) {
  std::size_t size = 0;
  for (std::size_t i = lane.behind[0]; lane.ids[i] != kBorder; i = lane.behind[i]) lane.ids[size++] = lane.ids[i];
  return size;
}

// As a lane does with one word, with a heap over linked symbols: n log n for a word of any length.
void Encoder::merge_long(const Word& word, std::vector<std::uint32_t>& ids) const {
  struct Link {
    std::uint32_t previous, next;
  };
  struct Candidate {
    std::int32_t rank;
    std::uint32_t place, left, right;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  const auto size = static_cast<std::uint32_t>(word.length());
  ids.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) ids[i] = byte_ids_[word.start[i]];
  std::vector<Link> links(size);
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::uint32_t place) {
    const std::uint32_t next = links[place].next;
    if (next == size) return;
    const std::int32_t rank = find_rank(pair(ids[place], ids[next]));
    if (rank != kNoRank) queue.push({rank, place, ids[place], ids[next]});
  };
  for (std::uint32_t i = 0; i < size; ++i) links[i] = {i - 1, i + 1};
  for (std::uint32_t i = 0; i < size; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const std::uint32_t next = ids[top.place] == kNone ? size : links[top.place].next;
    if (next == size || ids[top.place] != top.left || ids[next] != top.right) continue;
    ids[top.place] = vocabulary_.product[static_cast<std::size_t>(top.rank)];
    ids[next] = kNone;
    links[top.place].next = links[next].next;
    if (links[next].next != size) links[links[next].next].previous = top.place;
    offer(top.place);
    if (top.place > 0) offer(links[top.place].previous);
  }
  ids.erase(std::remove(ids.begin(), ids.end(), kNone), ids.end());
}

TokenList Encoder::list(const std::uint32_t* ids, std::size_t count) const {
  TokenList tokens;
  std::copy_n(ids, count, tokens.ids);
  tokens.shape = static_cast<std::uint32_t>(count);
  for (std::size_t i = 0, end = 0; i < count; ++i) tokens.shape |= ((end += lengths_[ids[i]]) & 0xFF) << 8 * (i + 1);
  return tokens;
}

// Keeps the tokens of a word that was merged.
void Encoder::keep(const Word& word, const std::uint32_t* ids, std::size_t count, KnownWords::View& known) const {
  if (count > TokenList::kMost && !known.has_room(word)) return;  // a list elsewhere would stay there unused
  const TokenList tokens = count <= TokenList::kMost ? list(ids, count) : known.spill(ids, count);
  if (tokens.count() != 0) known.add(word, tokens);
}

// A text on its way: words are looked up some at a time. By then their places in the table, which are all over memory,
// have arrived.
struct Encoder::Document {
  Thread& thread;
  Tokens& out;
  std::size_t at = 0;  // characters before the first waiting word
  std::size_t waiting = 0;
  std::size_t searched = 0;  // of the waiting words: of those before it, none is to be merged in a lane
  std::size_t long_words = 0;
  Word words[kWordsAtOnce];
  std::uint16_t long_at[kWordsAtOnce];  // where the long ones are

  Document(Thread& its_thread, Tokens& its_tokens) : thread(its_thread), out(its_tokens) {}

  const WordStore& known() const { return thread.known.store(); }
};

// Of the words that are in lanes, or were.
struct Encoder::Hashes {
  std::uint64_t hashes[kLanes] = {};

  bool have(std::uint64_t hash) const {
    std::uint64_t found = 0;
    for (const std::uint64_t other : hashes) found |= other == hash;
    return found != 0;
  }
};

// The next waiting word that is neither known nor in a lane, or null. Not one that is too long for a lane.
inline const Word* Encoder::next_missing(Document& document, const Hashes& merging) {
  const TokenTable::Places places = document.known().short_words().places();
  const Word *word = document.words + document.searched, *last = document.words + document.waiting;
  for (; word != last; ++word) {
    if (places[word->is_long() ? 0 : word->hash].holds(word->key)) [[likely]]
      continue;
    if (word->length() > kShortWord || document.known().find(*word) != nullptr || merging.have(word->hash)) continue;
    document.searched = static_cast<std::size_t>(word + 1 - document.words);
    return word;
  }
  document.searched = document.waiting;
  return nullptr;
}

// Finds the tokens of all waiting words that are not known. Words are merged in turn, a pair of each: a merge waits for
// memory that is all over the table, and the wait of one word is the time of the others.
MEGACPP_FASTEST void Encoder::learn(Document& document) const {
  Lane lanes[kLanes];
  Lane* going[kLanes];
  Hashes merging;
  for (std::size_t i = 0; i < kLanes; ++i) going[i] = &lanes[i];
  for (std::size_t count = 0;;) {
    while (count < kLanes) {
      const Word* word = next_missing(document, merging);
      if (word == nullptr) break;
      merging.hashes[going[count] - lanes] = word->hash;
      start(*going[count++], *word);
    }
    if (count == 0) return;
    for (std::size_t i = 0; i < count;) {
      Lane& lane = *going[i];
      if (merge_lowest(lane)) {
        ++i;
        continue;
      }
      const std::size_t size = finish(lane);
      keep(lane.word, lane.ids, size, document.thread.known);
      std::swap(going[i], going[--count]);
    }
    for (std::size_t i = 0; i < count; ++i) find_new_ranks(*going[i]);
  }
}

// The tokens of a waiting word, or null. Valid until the next call.
const TokenList* Encoder::learned(Document& document, std::size_t index) const {
  const Word& word = document.words[index];
  const TokenList* tokens = document.known().find(word);
  if (tokens != nullptr || word.length() > kShortWord) return tokens;
  document.searched = std::max(document.searched, index);
  learn(document);
  return document.known().find(word);
}

// The tokens of a word that `learned` gave `tokens` for; valid until the next call. A word may be too long for a lane, and
// one that was merged in a lane may have found no room.
const std::uint32_t* Encoder::tokens_of(const Word& word, const TokenList* tokens, Thread& thread,
                                        std::size_t& count) const {
  if (tokens != nullptr) {
    count = tokens->count();
    return tokens->tokens();
  }
  merge_long(word, thread.scratch);
  if (word.length() <= kCachedWord) keep(word, thread.scratch.data(), thread.scratch.size(), thread.known);
  count = thread.scratch.size();
  return thread.scratch.data();
}

std::size_t Encoder::count_tokens(std::string_view word) {
  const auto* p = reinterpret_cast<const Byte*>(word.data());
  Tokens unused(false);
  Document document(*threads_[0], unused);
  document.words[document.waiting++] = Word::at(p, word.size(), p);
  std::size_t count;
  tokens_of(document.words[0], learned(document, 0), *threads_[0], count);
  return count;
}

// Writes four spans, of which as many count as the word has tokens. `shape`: of its TokenList; `at`: its first character.
inline void write_spans(std::uint32_t shape, std::size_t at, std::int32_t* starts, std::int32_t* ends) {
  const auto first = static_cast<std::int32_t>(at);
  shape &= ~0xFFu;
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128(), bytes = _mm_cvtsi32_si128(static_cast<int>(shape));
  const __m128i places = _mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, zero), zero);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(starts), _mm_add_epi32(places, _mm_set1_epi32(first)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(ends), _mm_add_epi32(_mm_srli_si128(places, 4), _mm_set1_epi32(first)));
#else
  for (unsigned i = 0; i < 4; ++i) starts[i] = first + static_cast<std::int32_t>(shape >> 8 * i & 0xFF);
  for (unsigned i = 0; i < 3; ++i) ends[i] = starts[i + 1];
#endif
}

// Writes the tokens of the waiting words. Of each, four ids and spans are written, and as many are kept as it has tokens:
// their number changes from word to word, so no branch asks for it.
template <bool kSpans>
void Encoder::look_up(Document& document) const {
  Tokens& out = document.out;
  document.thread.known.refresh();
  for (std::size_t i = 0; i < document.long_words; ++i)
    document.known().prefetch_record(document.words[document.long_at[i]]);
  out.reserve(4 * document.waiting);
  std::size_t size = out.size, at = document.at;
  for (std::size_t i = 0; i < document.waiting; ++i) {
    // What the loop reads is the same until a word needs another look.
    const TokenTable::Places places = document.known().short_words().places();
    std::uint32_t* ids = out.ids.data();
    std::int32_t *starts = out.starts.data(), *ends = out.ends.data();
    for (const Word *word = document.words + i, *last = document.words + document.waiting; word != last; ++word, ++i) {
      const TokenTable::Line& line = places[word->is_long() ? 0 : word->hash];
      const TokenTable::Slot& slot = line.slots[line.slots[0].holds(word->key) ? 0 : 1];
      const std::uint32_t shape = slot.holds(word->key) ? slot.tokens.shape : 0;
      if ((shape == 0) | (kSpans && !word->is_short_ascii())) [[unlikely]]
        break;
      std::memcpy(ids + size, &slot.tokens, sizeof slot.tokens);
      if (kSpans) {
        write_spans(shape, at, starts + size, ends + size);
        at += word->key.high >> 56 & kInline;
      }
      size += shape & 0xFF;
    }
    out.size = size;
    document.at = at;
    if (i == document.waiting) break;
    add_tokens<kSpans>(document, i);
    size = out.size;
    at = document.at;
  }
  document.waiting = document.searched = document.long_words = 0;
}

// Adds the tokens of any waiting word.
template <bool kSpans>
void Encoder::add_tokens(Document& document, std::size_t index) const {
  const Word& word = document.words[index];
  Tokens& out = document.out;
  const TokenList* tokens = learned(document, index);
  std::size_t count;
  const std::uint32_t* ids = tokens_of(word, tokens, document.thread, count);
  out.reserve(count + 4 * (document.waiting - index));
  std::copy_n(ids, count, out.ids.data() + out.size);
  if (kSpans) add_spans(word, out.ids.data() + out.size, count, document);
  out.size += count;
}

// Spans of the tokens at `out.size`. One runs from the character of its first byte to the character of its last.
void Encoder::add_spans(const Word& word, const std::uint32_t* ids, std::size_t count, Document& document) const {
  Tokens& out = document.out;
  std::int32_t *starts = out.starts.data() + out.size, *ends = out.ends.data() + out.size;
  std::size_t at = document.at;
  if (word.is_ascii()) {
    for (std::size_t i = 0; i < count; ++i) {
      starts[i] = static_cast<std::int32_t>(at);
      at += lengths_[ids[i]];
      ends[i] = static_cast<std::int32_t>(at);
    }
  } else {
    const Byte* byte = word.start;
    for (std::size_t i = 0; i < count; ++i) {
      const Byte* stop = byte + lengths_[ids[i]];
      starts[i] = static_cast<std::int32_t>(at - !is_lead(*byte));
      at += count_chars(byte, stop);
      ends[i] = static_cast<std::int32_t>(at);
      byte = stop;
    }
  }
  document.at = at;
}

void Encoder::encode_text(const Byte* p, const Byte* end, Thread& thread, Tokens& out) const {
  Document document(thread, out);
  const auto look_up_all = [&] { out.spans ? look_up<true>(document) : look_up<false>(document); };
  splitter_.split(
      p, end,
      [&](const Byte* word, const Byte* const* ends, std::size_t count) {
        for (std::size_t room; count != 0; count -= room) {
          room = std::min(count, kWordsAtOnce - document.waiting);
          Word* words = document.words + document.waiting;
          const TokenTable::Places places = document.known().short_words().places();
          for (std::size_t i = 0; i < room; ++i) {
            words[i] = Word::at(word, static_cast<std::size_t>(ends[i] - word), end);
            if (words[i].is_long()) [[unlikely]] {
              document.known().prefetch_slot(words[i]);
              document.long_at[document.long_words++] = static_cast<std::uint16_t>(document.waiting + i);
            } else {
              __builtin_prefetch(&places[words[i].hash]);
            }
            word = ends[i];
          }
          ends += room;
          document.waiting += room;
          if (document.waiting == kWordsAtOnce) look_up_all();
        }
      },
      [&](std::size_t index, const Byte* guard, std::size_t) {
        document.words[document.waiting] = {guards_[index].key, guards_[index].hash, guard};
        __builtin_prefetch(&document.known().short_words().places()[guards_[index].hash]);
        if (++document.waiting == kWordsAtOnce) look_up_all();
      },
      [&](const Byte* stray) {  // a character of its own
        look_up_all();
        out.reserve(1);
        out.push(byte_ids_[*stray], document.at, document.at + 1);
        ++document.at;
      });
  look_up_all();
}

void Encoder::encode_range(const std::vector<std::string_view>& texts, std::size_t first, std::size_t last,
                           Thread& thread, Tokens& out) const {
  std::size_t total = 0;
  for (std::size_t i = first; i < last; ++i) total += texts[i].size();
  out.reserve(expected_tokens(total, last - first));
  for (std::size_t i = first; i < last; ++i) {
    thread.known.limit();
    const auto* p = reinterpret_cast<const Byte*>(texts[i].data());
    out.reserve(1);
    out.push(vocabulary_.bos, 0, 0);
    encode_text(p, p + texts[i].size(), thread, out);
    out.offsets.push_back(static_cast<std::int64_t>(out.size));
  }
}

Tokens Encoder::encode(const std::vector<std::string_view>& texts, unsigned threads, bool spans) {
  const std::vector<Share> shares = cut_shares(texts);
  threads = std::max(1u, std::min(threads, static_cast<unsigned>(shares.size())));
  start_threads(threads);
  for (const auto& thread : threads_) thread->known.refresh();  // so that an older store is given back
  if (threads == 1) {
    Tokens out(spans);
    encode_range(texts, 0, texts.size(), *threads_[0], out);
    return out;
  }
  JoinedTokens joined(texts, shares, spans);
  share_out(shares.size(), threads, [&](std::size_t share, unsigned thread) {
    Tokens tokens = joined.spare();
    encode_range(texts, shares[share].first, shares[share].last, *threads_[thread], tokens);
    joined.finish(share, std::move(tokens));
  });
  for (const auto& thread : threads_) thread->known.refresh();
  return joined.take();
}

std::string Encoder::decode(const std::uint32_t* ids, std::size_t count) const {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& token = vocabulary_.tokens.at(ids[i]);
    if (ids[i] >= vocabulary_.first_ordinary) text += token;
  }
  return text;
}

}  // namespace megacpp
