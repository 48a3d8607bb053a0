// The miss path (vocabulary look-up, then merges by rank) and the loop over documents.
#include "encoder.hpp"

#include <algorithm>
#include <atomic>
#include <queue>
#include <stdexcept>
#include <thread>

namespace megacpp {

namespace {
constexpr std::size_t kCachedWord = 256;          // longer words are seldom seen twice
constexpr std::size_t kCacheMemory = 256u << 20;  // bytes per thread; then the cache starts anew
constexpr std::size_t kShortWord = 64;            // symbols up to which scanning beats a heap
constexpr std::size_t kShareBytes = 256u << 10;   // of texts that a thread takes at once
constexpr std::size_t kWordsAtOnce = 256;         // read ahead of the table
std::uint64_t pair_hash(std::uint64_t key) { return mix(key ^ kSeed0, kSeed1); }

}  // namespace

Encoder::Encoder(const Splitter& splitter, Vocabulary vocabulary)
    : splitter_(splitter), vocabulary_(std::move(vocabulary)) {
  lengths_.reserve(vocabulary_.tokens.size());
  for (const std::string& token : vocabulary_.tokens) lengths_.push_back(static_cast<std::uint32_t>(token.size()));
  std::fill(std::begin(byte_ids_), std::end(byte_ids_), kNoRank);
  for (const std::uint32_t id : vocabulary_.reachable) {
    const std::string& token = vocabulary_.tokens.at(id);
    if (token.size() == 1) byte_ids_[static_cast<Byte>(token[0])] = id;
  }
  for (const std::uint32_t id : byte_ids_)
    if (id == kNoRank) throw std::invalid_argument("a byte has no token");
  std::size_t slots = 1024;
  while (slots < 2 * vocabulary_.left.size()) slots *= 2;
  merges_.resize(slots);
  merging_.resize(slots / 16);
  for (std::uint32_t rank = 0; rank < vocabulary_.left.size(); ++rank)
    add_merge(vocabulary_.left[rank], vocabulary_.right[rank], rank, vocabulary_.product[rank]);
  for (unsigned pair = 0; pair < byte_merges_.size(); ++pair)
    byte_merges_[pair] = find_merge(byte_ids_[pair >> 8], byte_ids_[pair & 0xFF]);
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

void Encoder::add_merge(std::uint32_t left, std::uint32_t right, std::uint32_t rank, std::uint32_t product) {
  const std::uint64_t key = pair_key(left, right), hash = pair_hash(key);
  std::size_t i = hash & (merges_.size() - 1);
  while (merges_[i].key != ~std::uint64_t{0}) {
    if (merges_[i].key == key) throw std::invalid_argument("a pair is merged twice");
    i = (i + 1) & (merges_.size() - 1);
  }
  merges_[i] = {key, {rank, product}};
  const std::uint64_t bit = hash & (64 * merging_.size() - 1);
  merging_[bit / 64] |= std::uint64_t{1} << bit % 64;
}

// Most pairs do not merge, which the bits of `merging_` tell: they are few enough to stay near the core.
inline Encoder::Merge Encoder::find_merge(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t key = pair_key(left, right), hash = pair_hash(key);
  const std::uint64_t bit = hash & (64 * merging_.size() - 1);
  if ((merging_[bit / 64] >> bit % 64 & 1) == 0) return {};
  for (std::size_t i = hash & (merges_.size() - 1);; i = (i + 1) & (merges_.size() - 1)) {
    if (merges_[i].key == key) return merges_[i].merge;
    if (merges_[i].key == ~std::uint64_t{0}) return {};
  }
}

// Tokens of a word that is none as a whole.
void Encoder::merge(const Byte* word, std::size_t length, std::vector<std::uint32_t>& ids) const {
  ids.resize(length);
  for (std::size_t i = 0; i < length; ++i) ids[i] = byte_ids_[word[i]];
  if (length <= kShortWord)
    ids.resize(merge_short(word, ids.data(), length));
  else
    merge_long(ids);
}

// Lowest rank first, leftmost first among equals, by scanning. Returns how many symbols of `ids` are left.
std::size_t Encoder::merge_short(const Byte* word, std::uint32_t* ids, std::size_t size) const {
  Merge merges[kShortWord];  // of a symbol with the one behind it
  for (std::size_t i = 0; i + 1 < size; ++i) merges[i] = byte_merges_[word[i] << 8 | word[i + 1]];
  for (; size > 1; --size) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) best = merges[i].rank < merges[best].rank ? i : best;
    if (merges[best].rank == kNoRank) break;
    ids[best] = merges[best].product;
    for (std::size_t i = best + 1; i + 1 < size; ++i) {
      ids[i] = ids[i + 1];
      merges[i - 1] = merges[i];
    }
    if (best + 2 < size) merges[best] = find_merge(ids[best], ids[best + 1]);
    if (best > 0) merges[best - 1] = find_merge(ids[best - 1], ids[best]);
  }
  return size;
}

// As `merge_short`, with a heap over linked symbols: n log n for a word of any length.
void Encoder::merge_long(std::vector<std::uint32_t>& ids) const {
  struct Link {
    std::uint32_t previous, next;
  };
  struct Candidate {
    std::uint32_t rank, place, left, right;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  const auto size = static_cast<std::uint32_t>(ids.size());
  std::vector<Link> links(size);
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::uint32_t place) {
    const std::uint32_t next = links[place].next;
    if (next == size) return;
    const Merge merge = find_merge(ids[place], ids[next]);
    if (merge.rank != kNoRank) queue.push({merge.rank, place, ids[place], ids[next]});
  };
  for (std::uint32_t i = 0; i < size; ++i) links[i] = {i - 1, i + 1};
  for (std::uint32_t i = 0; i < size; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const std::uint32_t next = ids[top.place] == kNoRank ? size : links[top.place].next;
    if (next == size || ids[top.place] != top.left || ids[next] != top.right) continue;
    ids[top.place] = find_merge(top.left, top.right).product;
    ids[next] = kNoRank;
    links[top.place].next = links[next].next;
    if (links[next].next != size) links[links[next].next].previous = top.place;
    offer(top.place);
    if (top.place > 0) offer(links[top.place].previous);
  }
  ids.erase(std::remove(ids.begin(), ids.end(), kNoRank), ids.end());
}

void Encoder::fill(TokenList& tokens, const Byte* word, std::size_t length, Cache& cache) const {
  merge(word, length, cache.scratch);
  const auto count = static_cast<std::uint32_t>(cache.scratch.size());
  if (count <= TokenList::kMost) {
    tokens.count = count;
    std::copy(cache.scratch.begin(), cache.scratch.end(), tokens.ids);
  } else {
    tokens = {{static_cast<std::uint32_t>(cache.spill.size()), count, 0}, 0};
    cache.spill.insert(cache.spill.end(), cache.scratch.begin(), cache.scratch.end());
  }
}

// What is needed to look `length` bytes at `start` up; asks for the memory where the answer will be.
inline Encoder::Word Encoder::prepare(const Byte* start, std::size_t length, const Byte* limit, const Cache& cache) {
  if (length > kInline) [[unlikely]]
    return {{length, 0}, 0, start};
  const ShortKey key = short_key(start, length, limit);
  const std::uint64_t hash = hash_key(key);
  __builtin_prefetch(cache.words.lines() + (hash & cache.words.mask()));
  return {key, hash, start};
}

// Tokens of any word; valid until the next call.
const std::uint32_t* Encoder::tokens_of(const Word& word, Cache& cache, std::size_t& count) const {
  TokenList* tokens;
  bool fresh = false;
  if (!word.is_long()) {
    TokenTable::Slot& slot = cache.words.find(word.key, word.hash);
    fresh = slot.empty();
    tokens = fresh ? &cache.words.add(word.key, word.hash) : &slot.tokens;
  } else if (word.length() <= kCachedWord) {
    tokens = &cache.long_words.get_long(word.start, word.length(), fresh);
  } else {
    tokens = const_cast<TokenList*>(cache.long_words.find(word.start, word.length()));
    if (tokens == nullptr) {
      merge(word.start, word.length(), cache.scratch);
      count = cache.scratch.size();
      return cache.scratch.data();
    }
  }
  if (fresh) fill(*tokens, word.start, word.length(), cache);
  count = tokens->count != 0 ? tokens->count : tokens->ids[1];
  return tokens->count != 0 ? tokens->ids : cache.spill.data() + tokens->ids[0];
}

std::size_t Encoder::count_tokens(std::string_view word) const {
  const auto* p = reinterpret_cast<const Byte*>(word.data());
  std::size_t count;
  tokens_of(prepare(p, word.size(), p, *caches_[0]), *caches_[0], count);
  return count;
}

// A text on its way: words are looked up some at a time. By then their places in the table, which are all over memory,
// have arrived.
struct Encoder::Document {
  Cache& cache;
  Tokens& out;
  std::size_t at = 0;  // characters before the first waiting word
  std::size_t waiting = 0;
  Word words[kWordsAtOnce];
};

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
    const TokenTable::Line& line = lines[word.hash & mask];
    const TokenTable::Slot& slot = line.slots[line.slots[0].holds(word.key) ? 0 : 1];
    const std::uint32_t count = slot.holds(word.key) ? slot.tokens.count : 0;
    std::memcpy(next, &slot.tokens, sizeof slot.tokens);
    if (count == 0) [[unlikely]] {
      std::size_t many;
      const std::uint32_t* ids = tokens_of(word, cache, many);
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
  document.waiting = 0;
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
  Document document{cache, out, 0, 0, {}};
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
        document.words[document.waiting] = prepare(word, length, end, cache);
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
  out.reserve(total / 3 + last - first);  // code has more bytes a token; untouched memory costs nothing
  for (std::size_t i = first; i < last; ++i) {
    if (cache->memory() > kCacheMemory) cache = std::make_unique<Cache>(*this);
    const auto* p = reinterpret_cast<const Byte*>(texts[i].data());
    out.reserve(1);
    out.push(vocabulary_.bos, 0, 0);
    encode_text(p, p + texts[i].size(), *cache, out);
    out.offsets.push_back(static_cast<std::int64_t>(out.size));
  }
}

// Texts in shares of about `kShareBytes`: the end of each share.
static std::vector<std::size_t> cut_shares(const std::vector<std::string_view>& texts) {
  std::vector<std::size_t> ends;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    bytes += texts[i].size();
    if (bytes < kShareBytes && i + 1 < texts.size()) continue;
    ends.push_back(i + 1);
    bytes = 0;
  }
  return ends;
}

// Calls `work(share, thread)` for every share; a thread that has finished one takes the next.
template <class Work>
static void share_out(std::size_t shares, unsigned threads, Work&& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&](unsigned thread) {
    for (std::size_t share; (share = next.fetch_add(1)) < shares;) work(share, thread);
  };
  std::vector<std::thread> workers;
  for (unsigned t = 1; t < threads; ++t) workers.emplace_back(run, t);
  run(0);
  for (auto& worker : workers) worker.join();
}

Tokens Encoder::encode(const std::vector<std::string_view>& texts, unsigned threads, bool spans) {
  const std::vector<std::size_t> ends = cut_shares(texts);
  threads = std::max(1u, std::min(threads, static_cast<unsigned>(ends.size())));
  if (threads == 1) {
    Tokens out(spans);
    encode_range(texts, 0, texts.size(), caches_[0], out);
    return out;
  }
  while (caches_.size() < threads) caches_.push_back(std::make_unique<Cache>(*this));
  std::vector<Tokens> parts;
  parts.reserve(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i) parts.emplace_back(spans);
  share_out(ends.size(), threads, [&](std::size_t share, unsigned thread) {
    encode_range(texts, share == 0 ? 0 : ends[share - 1], ends[share], caches_[thread], parts[share]);
  });
  Tokens out(spans);
  std::vector<std::size_t> places;
  std::size_t tokens = 0;
  for (const Tokens& part : parts) {
    places.push_back(tokens);
    for (std::size_t i = 1; i < part.offsets.size(); ++i)
      out.offsets.push_back(part.offsets[i] + static_cast<std::int64_t>(tokens));
    tokens += part.size;
  }
  out.reserve(tokens);
  out.size = tokens;
  share_out(parts.size(), threads, [&](std::size_t share, unsigned) {
    Tokens part = std::move(parts[share]);  // its memory is given back here
    std::copy_n(part.ids.data(), part.size, out.ids.data() + places[share]);
    if (!spans) return;
    std::copy_n(part.starts.data(), part.size, out.starts.data() + places[share]);
    std::copy_n(part.ends.data(), part.size, out.ends.data() + places[share]);
  });
  return out;
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
