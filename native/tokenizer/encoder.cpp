// The miss path (vocabulary look-up, then merges by rank) and the loop over documents.
#include "encoder.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <queue>
#include <stdexcept>

#include "shares.hpp"

namespace megacpp {

namespace {
constexpr std::size_t kCachedWord = 256;          // longer words are seldom seen twice
constexpr std::size_t kCacheMemory = 256u << 20;  // bytes per thread; then the cache starts anew
constexpr unsigned kPlaceBits = 7;                // of a symbol in a word that is merged in a lane
constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;
constexpr std::size_t kShortWord = kPlaces - 2;  // bytes up to which scanning beats a heap
constexpr std::size_t kFewPlaces = 24;           // of most words; all of them are scanned, without a branch
constexpr std::int32_t kGone = 0x7FFFFFFF;       // no pair: above every rank
constexpr std::size_t kLanes = 16;               // words that are merged in turn
constexpr std::size_t kWordsAtOnce = 512;        // read ahead of the table
constexpr std::size_t kReadAhead = 16;           // words of another thread

// A rank, then the place of its pair: the least one is the leftmost of the lowest rank.
constexpr std::int32_t place_rank(std::int32_t rank, std::size_t place) {
  return rank << kPlaceBits | static_cast<std::int32_t>(place);
}

inline std::int32_t lowest_of(const std::int32_t* values, std::size_t count) {
  std::int32_t lowest[4] = {kGone, kGone, kGone, kGone};
  for (std::size_t i = 0; i < count; i += 4)
    for (std::size_t j = 0; j < 4; ++j) lowest[j] = std::min(lowest[j], values[i + j]);
  return std::min(std::min(lowest[0], lowest[1]), std::min(lowest[2], lowest[3]));
}
}  // namespace

inline Encoder::Pair::Pair(std::uint32_t left, std::uint32_t right)
    : key(std::uint64_t{left} << kIdBits | right), hash(key * kSeed1) {
  hash ^= hash >> 32;
}

Encoder::Encoder(const Splitter& splitter, Vocabulary vocabulary)
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
  const std::size_t merges = vocabulary_.left.size();
  if (vocabulary_.tokens.size() >= std::size_t{1} << kIdBits || merges >= static_cast<std::size_t>(kNoRank))
    throw std::invalid_argument("a vocabulary has fewer than 4,194,304 ids and 1,048,575 merges");
  for (const auto* ids : {&vocabulary_.left, &vocabulary_.right, &vocabulary_.product})
    for (const std::uint32_t id : *ids)
      if (id >= vocabulary_.tokens.size())
        throw std::invalid_argument("a merge has an id that is not in the vocabulary");
  std::size_t slots = 1024;
  while (slots < 2 * merges) slots *= 2;
  merges_.assign(kGroup + slots, kEmpty);
  merging_.resize(slots / 16);
  group_mask_ = slots - kGroup;
  bit_mask_ = 64 * merging_.size() - 1;
  for (std::uint32_t rank = 0; rank < merges; ++rank) add_merge(vocabulary_.left[rank], vocabulary_.right[rank], rank);
  for (unsigned pair = 0; pair < byte_ranks_.size(); ++pair)
    byte_ranks_[pair] = find_rank({byte_ids_[pair >> 8], byte_ids_[pair & 0xFF]});
  caches_.push_back(std::make_unique<Cache>(*this));
}

// Words that are a token as a whole: no merge is needed for them, and most words are among them.
void Encoder::seed(Cache& cache) const {
  for (const std::uint32_t id : vocabulary_.reachable) {
    const std::string& token = vocabulary_.tokens[id];
    const auto* p = reinterpret_cast<const Byte*>(token.data());
    bool fresh = true;
    TokenList* tokens;
    if (token.empty() || token.size() > kInline) {
      tokens = &cache.long_words.get_long(p, token.size(), fresh);
    } else {
      const ShortKey key = short_key(p, token.size(), p);
      const std::uint64_t hash = hash_key(key);
      fresh = cache.words.find(key, hash).empty();
      tokens = &cache.words.add(key, hash);
    }
    if (!fresh) throw std::invalid_argument("two ids for one string");
    *tokens = {{id, 0, 0}, 1};
  }
}

void Encoder::add_merge(std::uint32_t left, std::uint32_t right, std::uint32_t rank) {
  const Pair pair(left, right);
  if (find_rank(pair) != kNoRank) throw std::invalid_argument("a pair is merged twice");
  std::size_t group = first_group(pair.hash);
  while (merges_[group + kGroup - 1] != kEmpty) group = next_group(group);
  std::size_t i = group;
  while (merges_[i] != kEmpty) ++i;
  merges_[i] = pair.key << kRankBits | rank;
  merging_[(pair.hash & bit_mask_) / 64] |= std::uint64_t{1} << pair.hash % 64;
}

// Asks for the memory that `find_rank` will read. GCC drops calls of functions that do nothing else, so it is inlined.
[[gnu::always_inline]] inline void Encoder::prefetch_rank(const Pair& pair) const {
  __builtin_prefetch(&merging_[(pair.hash & bit_mask_) / 64]);
  __builtin_prefetch(&merges_[first_group(pair.hash)]);
}

// Most pairs do not merge, which the bits of `merging_` tell: they are few enough to stay near the core. For these the
// empty group is read, so that no branch asks: neither answer is likely enough to be predicted.
inline std::int32_t Encoder::find_rank(const Pair& pair) const {
  const std::uint64_t may_merge = merging_[(pair.hash & bit_mask_) / 64] >> pair.hash % 64 & 1;
  std::size_t group = first_group(pair.hash) & (0 - may_merge);
  std::uint64_t found = find_in(group, pair.key);
  while (found == kEmpty && merges_[group + kGroup - 1] != kEmpty) [[unlikely]] {
    group = next_group(group);
    found = find_in(group, pair.key);
  }
  return static_cast<std::int32_t>(found & kNoRank);
}

inline std::uint64_t Encoder::find_in(std::size_t group, std::uint64_t key) const {
  std::uint64_t found = kEmpty;
  for (std::size_t i = group; i < group + kGroup; ++i) found = merges_[i] >> kRankBits == key ? merges_[i] : found;
  return found;
}

// A word of at most `kShortWord` bytes that is merged beside others. Its symbols are a list, in which the byte at i has
// place i + 1. The places before the first one and behind the last one hold a symbol that merges with nothing. A merge
// leaves the left symbol in its place and takes the right one out, so that nothing moves.
struct Encoder::Lane {
  Word word;
  Pair left, right;               // of the newest symbol with the one before it, and with the one behind it
  std::uint32_t newest, scanned;  // its place; places that are read to find the lowest rank
  std::uint32_t ids[kPlaces];
  alignas(16) std::int32_t ranks[kPlaces];  // of the pair that begins there, then the place; kGone without a symbol
  Byte before[kPlaces], behind[kPlaces];    // places of the neighbours
};

void Encoder::start(Lane& lane, const Word& word) const {
  const std::size_t size = word.length();
  lane.word = word;
  lane.scanned = static_cast<std::uint32_t>(std::max(kFewPlaces, (size + 4) / 4 * 4));
  lane.ids[0] = lane.ids[size + 1] = kBorder;
  lane.ranks[0] = kGone;
  lane.behind[0] = 1;
  for (std::size_t i = 1; i <= size; ++i) {
    lane.ids[i] = byte_ids_[word.start[i - 1]];
    lane.before[i] = static_cast<Byte>(i - 1);
    lane.behind[i] = static_cast<Byte>(i + 1);
  }
  for (std::size_t i = 1; i < size; ++i)
    lane.ranks[i] = place_rank(byte_ranks_[word.start[i - 1] << 8 | word.start[i]], i);
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
  lane.left = Pair(lane.ids[before], id);
  lane.right = Pair(id, lane.ids[behind]);
  prefetch_rank(lane.left);
  prefetch_rank(lane.right);
  return true;
}

inline void Encoder::find_new_ranks(Lane& lane) const {
  const Byte before = lane.before[lane.newest];
  lane.ranks[lane.newest] = place_rank(find_rank(lane.right), lane.newest);
  lane.ranks[before] = place_rank(find_rank(lane.left), before);
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
    const std::int32_t rank = find_rank({ids[place], ids[next]});
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

// The tokens of a word that is in the cache, or null.
inline const TokenList* Encoder::find(const Word& word, Cache& cache) {
  if (word.is_long()) return cache.long_words.find_long(word.start, word.length(), word.hash);
  const TokenTable::Slot& slot = cache.words.find(word.key, word.hash);
  return slot.empty() ? nullptr : &slot.tokens;
}

// The place for the tokens of a word, which is in the cache from then on. Valid until the next call.
inline TokenList& Encoder::place(const Word& word, Cache& cache) {
  bool fresh;
  if (word.is_long()) return cache.long_words.get_long(word.start, word.length(), word.hash, fresh);
  TokenTable::Slot& slot = cache.words.find(word.key, word.hash);
  return slot.empty() ? cache.words.add(word.key, word.hash) : slot.tokens;
}

void Encoder::store(const Word& word, const std::uint32_t* ids, std::size_t count, Cache& cache) {
  TokenList& tokens = place(word, cache);
  if (count <= TokenList::kMost) {
    tokens.count = static_cast<std::uint32_t>(count);
    std::copy_n(ids, count, tokens.ids);
  } else {
    tokens = {{static_cast<std::uint32_t>(cache.spill.size()), static_cast<std::uint32_t>(count), 0}, 0};
    cache.spill.insert(cache.spill.end(), ids, ids + count);
  }
}

void Encoder::keep(const Word& word, const std::uint32_t* ids, std::size_t count, Cache& cache) {
  store(word, ids, count, cache);
  if (!cache.tells) return;
  cache.learned.entries.push_back({word, cache.learned.ids.size(), count});
  cache.learned.ids.insert(cache.learned.ids.end(), ids, ids + count);
}

// Asks for the memory where a word is looked up. Inlined as `prefetch_rank` is.
[[gnu::always_inline]] inline void Encoder::prefetch(const Word& word, const Cache& cache) {
  if (word.is_long()) [[unlikely]]
    cache.long_words.prefetch_long(word.hash);
  else
    cache.words.prefetch(word.hash);
}

// What is needed to look `length` bytes at `start` up.
inline Encoder::Word Encoder::prepare(const Byte* start, std::size_t length, const Byte* limit) {
  if (length > kInline) [[unlikely]]
    return {{length, 0}, hash_bytes(start, length), start};
  const ShortKey key = short_key(start, length, limit);
  return {key, hash_key(key), start};
}

// A text on its way: words are looked up some at a time. By then their places in the table, which are all over memory,
// have arrived.
struct Encoder::Document {
  Cache& cache;
  Tokens& out;
  std::size_t at = 0;  // characters before the first waiting word
  std::size_t waiting = 0;
  std::size_t known = 0;  // of the waiting words: those before it are in the cache, or too long for a lane
  Word words[kWordsAtOnce];
};

// The next waiting word that the cache does not have, or null; it has a place there from then on. Not one that is too
// long for a lane.
const Encoder::Word* Encoder::next_missing(Document& document) const {
  while (document.known < document.waiting) {
    const Word& word = document.words[document.known++];
    if (!word.is_long() && document.cache.words.first_line(word.hash).holds(word.key)) [[likely]]
      continue;
    if (word.length() > kShortWord || find(word, document.cache) != nullptr) continue;
    place(word, document.cache);  // so that it is found if it comes again
    return &word;
  }
  return nullptr;
}

// Finds the tokens of all waiting words that the cache does not have. Words are merged in turn, a pair of each: a merge
// waits for memory that is all over the table, and the wait of one word is the time of the others.
void Encoder::learn(Document& document) const {
  Lane lanes[kLanes];
  Lane* going[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) going[i] = &lanes[i];
  for (std::size_t count = 0;;) {
    while (count < kLanes) {
      const Word* word = next_missing(document);
      if (word == nullptr) break;
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
      keep(lane.word, lane.ids, size, document.cache);
      std::swap(going[i], going[--count]);
    }
    for (std::size_t i = 0; i < count; ++i) find_new_ranks(*going[i]);
  }
}

// Tokens of any waiting word; valid until the next call.
const std::uint32_t* Encoder::tokens_of(Document& document, std::size_t index, std::size_t& count) const {
  const Word& word = document.words[index];
  Cache& cache = document.cache;
  const TokenList* tokens = find(word, cache);
  if (tokens == nullptr && word.length() <= kShortWord) {
    document.known = std::max(document.known, index);
    learn(document);
    tokens = find(word, cache);
  }
  if (tokens == nullptr) {
    merge_long(word, cache.scratch);
    count = cache.scratch.size();
    if (word.length() <= kCachedWord) keep(word, cache.scratch.data(), count, cache);
    return cache.scratch.data();
  }
  count = tokens->count != 0 ? tokens->count : tokens->ids[1];
  return tokens->count != 0 ? tokens->ids : cache.spill.data() + tokens->ids[0];
}

std::size_t Encoder::count_tokens(std::string_view word) const {
  const auto* p = reinterpret_cast<const Byte*>(word.data());
  Tokens unused(false);
  Document document{*caches_[0], unused, 0, 1, 0, {prepare(p, word.size(), p)}};
  std::size_t count;
  tokens_of(document, 0, count);
  return count;
}

// Writes the tokens of the waiting words. Of each, three ids are written, and as many are kept as there are.
template <bool kSpans>
void Encoder::look_up(Document& document) const {
  Cache& cache = document.cache;
  Tokens& out = document.out;
  out.reserve(4 * document.waiting);
  std::uint32_t* next = out.ids.data() + out.size;
  const TokenTable::Line* lines = cache.words.lines();
  std::uint64_t mask = cache.words.mask();
  for (std::size_t i = 0; i < document.waiting; ++i) {
    const Word& word = document.words[i];
    const TokenTable::Line& line = lines[word.is_long() ? 0 : word.hash & mask];
    const TokenTable::Slot& slot = line.slots[line.slots[0].holds(word.key) ? 0 : 1];
    const std::uint32_t count = slot.holds(word.key) ? slot.tokens.count : 0;
    std::memcpy(next, &slot.tokens, sizeof slot.tokens);
    if (count == 0) [[unlikely]] {
      std::size_t many;
      const std::uint32_t* ids = tokens_of(document, i, many);
      out.size = static_cast<std::size_t>(next - out.ids.data());
      out.reserve(many + 4 * (document.waiting - i));
      next = out.ids.data() + out.size;
      std::copy_n(ids, many, next);
      if (kSpans) add_spans(word, next, many, document);
      next += many;
      lines = cache.words.lines();
      mask = cache.words.mask();
      continue;
    }
    if (kSpans) {
      out.size = static_cast<std::size_t>(next - out.ids.data());
      if (count == 1 && word.is_ascii()) [[likely]] {
        out.starts[out.size] = static_cast<std::int32_t>(document.at);
        document.at += word.length();
        out.ends[out.size] = static_cast<std::int32_t>(document.at);
      } else {
        add_spans(word, next, count, document);
      }
    }
    next += count;
  }
  out.size = static_cast<std::size_t>(next - out.ids.data());
  document.waiting = document.known = 0;
}

// Spans of the tokens at `out.size`. One runs from the character of its first byte to the character of its last.
void Encoder::add_spans(const Word& word, const std::uint32_t* ids, std::size_t count, Document& document) const {
  Tokens& out = document.out;
  const bool ascii = word.is_ascii();
  const Byte* byte = word.start;
  for (std::size_t i = 0; i < count; ++i) {
    const Byte* stop = byte + lengths_[ids[i]];
    out.starts[out.size + i] = static_cast<std::int32_t>(document.at - !is_lead(*byte));
    document.at += ascii ? static_cast<std::size_t>(stop - byte) : count_chars(byte, stop);
    out.ends[out.size + i] = static_cast<std::int32_t>(document.at);
    byte = stop;
  }
}

void Encoder::encode_text(const Byte* p, const Byte* end, Cache& cache, Tokens& out) const {
  Document document{cache, out, 0, 0, 0, {}};
  const auto look_up_all = [&] { out.spans ? look_up<true>(document) : look_up<false>(document); };
  const auto add_token = [&](std::uint32_t id, std::size_t chars) {
    look_up_all();
    out.reserve(1);
    out.push(id, document.at, document.at + chars);
    document.at += chars;
  };
  splitter_.split(
      p, end,
      [&](const Byte* word, std::size_t length) {
        document.words[document.waiting] = prepare(word, length, end);
        prefetch(document.words[document.waiting], cache);
        if (++document.waiting == kWordsAtOnce) look_up_all();
      },
      // Guards are ASCII; a stray byte is a character.
      [&](std::size_t index, const Byte*, std::size_t length) { add_token(vocabulary_.guard_ids[index], length); },
      [&](const Byte* stray) { add_token(byte_ids_[*stray], 1); });
  look_up_all();
}

void Encoder::encode_range(const std::vector<std::string_view>& texts, std::size_t first, std::size_t last,
                           std::unique_ptr<Cache>& cache, Tokens& out) const {
  std::size_t total = 0;
  for (std::size_t i = first; i < last; ++i) total += texts[i].size();
  out.reserve(expected_tokens(total, last - first));
  for (std::size_t i = first; i < last; ++i) {
    if (cache->memory() > kCacheMemory) {
      const bool tells = cache->tells;
      cache = std::make_unique<Cache>(*this);
      cache->tells = tells;
    }
    const auto* p = reinterpret_cast<const Byte*>(texts[i].data());
    out.reserve(1);
    out.push(vocabulary_.bos, 0, 0);
    encode_text(p, p + texts[i].size(), *cache, out);
    out.offsets.push_back(static_cast<std::int64_t>(out.size));
  }
}

// What the threads of one call have learned: a word is merged by one of them, which costs ten times as much as a place in
// a table. A thread publishes after a share and reads before one.
class Encoder::Exchange {
 public:
  explicit Exchange(unsigned threads) : read_(threads) {}

  void publish(unsigned thread, Cache& cache) {
    if (cache.learned.entries.empty()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    published_.push_back({thread, std::exchange(cache.learned, {})});
  }

  // Stores what other threads have published since this one read last.
  void read(unsigned thread, Cache& cache) {
    for (const Learned* learned : unread(thread)) {
      const auto& entries = learned->entries;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i + kReadAhead < entries.size()) prefetch(entries[i + kReadAhead].word, cache);
        const auto& [word, first, count] = entries[i];
        if (find(word, cache) == nullptr) store(word, &learned->ids[first], count, cache);
      }
    }
  }

 private:
  struct Published {
    unsigned thread;
    Learned learned;
  };

  std::vector<const Learned*> unread(unsigned thread) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<const Learned*> unread;
    for (std::size_t& i = read_[thread]; i < published_.size(); ++i)
      if (published_[i].thread != thread) unread.push_back(&published_[i].learned);
    return unread;
  }

  std::mutex mutex_;
  std::deque<Published> published_;  // never moved, so that it is read without the lock
  std::vector<std::size_t> read_;    // of each thread
};

Tokens Encoder::encode(const std::vector<std::string_view>& texts, unsigned threads, bool spans) {
  const std::vector<Share> shares = cut_shares(texts);
  threads = std::max(1u, std::min(threads, static_cast<unsigned>(shares.size())));
  if (threads == 1) {
    Tokens out(spans);
    encode_range(texts, 0, texts.size(), caches_[0], out);
    return out;
  }
  while (caches_.size() < threads) caches_.push_back(std::make_unique<Cache>(*caches_[0]));
  for (unsigned i = 0; i < threads; ++i) caches_[i]->tells = true;
  JoinedTokens joined(texts, shares, spans);
  Exchange exchange(threads);
  share_out(shares.size(), threads, [&](std::size_t share, unsigned thread) {
    exchange.read(thread, *caches_[thread]);
    Tokens tokens = joined.spare();
    encode_range(texts, shares[share].first, shares[share].last, caches_[thread], tokens);
    exchange.publish(thread, *caches_[thread]);
    joined.finish(share, std::move(tokens));
  });
  share_out(threads, threads, [&](std::size_t i, unsigned) {
    exchange.read(static_cast<unsigned>(i), *caches_[i]);
    caches_[i]->tells = false;
  });
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
