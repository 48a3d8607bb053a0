// The miss path (vocabulary look-up, then merges by rank) and the loop over documents.
#include "encoder.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>
#include <thread>

namespace megacpp {

namespace {
constexpr std::size_t kCachedWord = 256;          // longer words are seldom seen twice
constexpr std::size_t kCacheMemory = 256u << 20;  // bytes per thread; then the cache starts anew
constexpr std::size_t kShortWord = 64;            // symbols up to which scanning beats a heap
constexpr std::size_t kWordsAtOnce = 256;         // read ahead of the table
constexpr std::uint32_t kNoRank = 0xFFFFFFFFu;
}  // namespace

Encoder::Encoder(const Splitter& splitter, Vocabulary vocabulary)
    : splitter_(splitter), vocabulary_(std::move(vocabulary)) {
  lengths_.reserve(vocabulary_.tokens.size());
  for (const std::string& token : vocabulary_.tokens) lengths_.push_back(static_cast<std::uint32_t>(token.size()));
  std::fill(std::begin(byte_ids_), std::end(byte_ids_), kNoRank);
  for (const std::uint32_t id : vocabulary_.reachable) {
    const std::string& token = vocabulary_.tokens.at(id);
    bool fresh;
    const auto* p = reinterpret_cast<const Byte*>(token.data());
    words_.get(p, token.size(), p, fresh) = id;
    if (!fresh) throw std::invalid_argument("two ids for one string");
    if (token.size() == 1) byte_ids_[static_cast<Byte>(token[0])] = id;
  }
  for (const std::uint32_t id : byte_ids_)
    if (id == kNoRank) throw std::invalid_argument("a byte has no token");
  std::size_t slots = 1024;
  while (slots < 2 * vocabulary_.left.size()) slots *= 2;
  merges_.resize(slots);
  for (std::uint32_t rank = 0; rank < vocabulary_.left.size(); ++rank)
    add_merge(vocabulary_.left[rank], vocabulary_.right[rank], rank, vocabulary_.product[rank]);
}

void Encoder::add_merge(std::uint32_t left, std::uint32_t right, std::uint32_t rank, std::uint32_t product) {
  const std::uint64_t key = static_cast<std::uint64_t>(left) << 32 | right;
  std::size_t i = mix(key ^ kSeed0, kSeed1) & (merges_.size() - 1);
  while (merges_[i].key != ~std::uint64_t{0}) {
    if (merges_[i].key == key) throw std::invalid_argument("a pair is merged twice");
    i = (i + 1) & (merges_.size() - 1);
  }
  merges_[i] = {key, rank, product};
}

const Encoder::Slot* Encoder::find_merge(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t key = static_cast<std::uint64_t>(left) << 32 | right;
  for (std::size_t i = mix(key ^ kSeed0, kSeed1) & (merges_.size() - 1);; i = (i + 1) & (merges_.size() - 1)) {
    if (merges_[i].key == key) return &merges_[i];
    if (merges_[i].key == ~std::uint64_t{0}) return nullptr;
  }
}

void Encoder::tokenize(const Byte* word, std::size_t length, std::vector<std::uint32_t>& ids) const {
  ids.clear();
  if (const std::uint32_t* whole = words_.find(word, length)) {
    ids.push_back(*whole);
    return;
  }
  for (std::size_t i = 0; i < length; ++i) ids.push_back(byte_ids_[word[i]]);
  if (length <= kShortWord)
    merge_short(ids);
  else
    merge_long(ids);
}

// Lowest rank first, leftmost first among equals, by scanning.
void Encoder::merge_short(std::vector<std::uint32_t>& ids) const {
  const Slot* slots[kShortWord];
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) slots[i] = find_merge(ids[i], ids[i + 1]);
  for (std::size_t size = ids.size(); size > 1; --size) {
    std::size_t best = size;
    for (std::size_t i = 0; i + 1 < size; ++i)
      if (slots[i] != nullptr && (best == size || slots[i]->rank < slots[best]->rank)) best = i;
    if (best == size) break;
    ids[best] = slots[best]->product;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    for (std::size_t i = best + 1; i + 2 < size; ++i) slots[i] = slots[i + 1];
    if (best + 2 < size) slots[best] = find_merge(ids[best], ids[best + 1]);
    if (best > 0) slots[best - 1] = find_merge(ids[best - 1], ids[best]);
  }
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
    if (const Slot* slot = find_merge(ids[place], ids[next])) queue.push({slot->rank, place, ids[place], ids[next]});
  };
  for (std::uint32_t i = 0; i < size; ++i) links[i] = {i - 1, i + 1};
  for (std::uint32_t i = 0; i < size; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const std::uint32_t next = ids[top.place] == kNoRank ? size : links[top.place].next;
    if (next == size || ids[top.place] != top.left || ids[next] != top.right) continue;
    ids[top.place] = find_merge(top.left, top.right)->product;
    ids[next] = kNoRank;
    links[top.place].next = links[next].next;
    if (links[next].next != size) links[links[next].next].previous = top.place;
    offer(top.place);
    if (top.place > 0) offer(links[top.place].previous);
  }
  ids.erase(std::remove(ids.begin(), ids.end(), kNoRank), ids.end());
}

void Encoder::fill(Entry& entry, const Byte* word, std::size_t length, Cache& cache) const {
  tokenize(word, length, cache.scratch);
  entry.count = static_cast<std::uint32_t>(cache.scratch.size());
  if (entry.count <= 3) {
    std::copy(cache.scratch.begin(), cache.scratch.end(), entry.ids);
  } else {
    entry.ids[0] = static_cast<std::uint32_t>(cache.spill.size());
    cache.spill.insert(cache.spill.end(), cache.scratch.begin(), cache.scratch.end());
  }
}

// What is needed to look `length` bytes at `start` up; asks for the memory where the answer will be.
inline Encoder::Word Encoder::prepare(const Byte* start, std::size_t length, const Byte* limit, const Cache& cache) {
  if (length > kInline) [[unlikely]]
    return {start, length, {}, 0};
  const ShortKey key = short_key(start, length, limit);
  const std::uint64_t hash = hash_key(key);
  cache.words.prefetch_short(hash);
  return {start, length, key, hash};
}

inline const std::uint32_t* Encoder::tokens_of(const Entry& entry, const Cache& cache, std::size_t& count) {
  count = entry.count;
  return count <= 3 ? entry.ids : cache.spill.data() + entry.ids[0];
}

// Tokens of one word; valid until the next call.
inline const std::uint32_t* Encoder::lookup(const Word& word, Cache& cache, std::size_t& count) const {
  if (word.length > kInline) [[unlikely]]
    return lookup_long(word, cache, count);
  bool fresh;
  Entry& entry = cache.words.get_short(word.key, word.hash, fresh);
  if (fresh) fill(entry, word.start, word.length, cache);
  return tokens_of(entry, cache, count);
}

const std::uint32_t* Encoder::lookup_long(const Word& word, Cache& cache, std::size_t& count) const {
  if (word.length > kCachedWord) {
    tokenize(word.start, word.length, cache.scratch);
    count = cache.scratch.size();
    return cache.scratch.data();
  }
  bool fresh;
  Entry& entry = cache.words.get_long(word.start, word.length, fresh);
  if (fresh) fill(entry, word.start, word.length, cache);
  return tokens_of(entry, cache, count);
}

// One byte is one character. Words are looked up some at a time: by then their places in the table, which are all over
// memory, have arrived.
void Encoder::encode_ascii(const Byte* p, const Byte* end, Cache& cache, Tokens& out) const {
  const Byte* base = p;
  Word words[kWordsAtOnce];
  std::size_t waiting = 0;
  const auto look_up = [&] {
    for (std::size_t i = 0; i < waiting; ++i) push_ascii(words[i], base, cache, out);
    waiting = 0;
  };
  splitter_.split_valid(
      p, end,
      [&](const Byte* word, std::size_t length) {
        words[waiting] = prepare(word, length, end, cache);
        if (++waiting == kWordsAtOnce) look_up();
      },
      [&](std::size_t index, const Byte* guard, std::size_t length) {
        look_up();
        out.reserve(1);
        const auto at = static_cast<std::size_t>(guard - base);
        out.push(vocabulary_.guard_ids[index], at, at + length);
      });
  look_up();
}

inline void Encoder::push_ascii(const Word& word, const Byte* base, Cache& cache, Tokens& out) const {
  std::size_t count;
  const std::uint32_t* ids = lookup(word, cache, count);
  out.reserve(count);
  auto at = static_cast<std::size_t>(word.start - base);
  if (count == 1) {
    out.push(ids[0], at, at + word.length);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t next = at + lengths_[ids[i]];
    out.push(ids[i], at, next);
    at = next;
  }
}

// A token's span runs from the character of its first byte to the character of its last; a stray byte is a character.
void Encoder::encode_wide(const Byte* p, const Byte* end, Cache& cache, Tokens& out) const {
  std::size_t at = 0;  // characters before the word
  splitter_.split(
      p, end,
      [&](const Byte* word, std::size_t length) {
        std::size_t count;
        const std::uint32_t* ids = lookup(prepare(word, length, end, cache), cache, count);
        out.reserve(count);
        const Byte* byte = word;
        for (std::size_t i = 0; i < count; ++i) {
          const Byte* stop = byte + lengths_[ids[i]];
          const std::size_t start = at - !is_lead(*byte);
          at += count_chars(byte, stop);
          out.push(ids[i], start, at);
          byte = stop;
        }
      },
      [&](std::size_t index, const Byte*, std::size_t length) {
        out.reserve(1);
        out.push(vocabulary_.guard_ids[index], at, at + length);  // guards are ASCII
        at += length;
      },
      [&](const Byte* stray) {
        out.reserve(1);
        out.push(byte_ids_[*stray], at, at + 1);
        ++at;
      });
}

void Encoder::encode_range(const std::vector<std::string_view>& texts, std::size_t first, std::size_t last,
                           Cache& cache, Tokens& out) const {
  std::size_t total = 0;
  for (std::size_t i = first; i < last; ++i) total += texts[i].size();
  out.reserve(total / 3 + last - first);  // code has more bytes a token; untouched memory costs nothing
  for (std::size_t i = first; i < last; ++i) {
    if (cache.words.memory() + 4 * cache.spill.capacity() > kCacheMemory) {
      cache.words.clear();
      cache.spill.clear();
    }
    const auto* p = reinterpret_cast<const Byte*>(texts[i].data());
    const Byte* end = p + texts[i].size();
    out.reserve(1);
    out.push(vocabulary_.bos, 0, 0);
    if (is_ascii(p, end))
      encode_ascii(p, end, cache, out);
    else
      encode_wide(p, end, cache, out);
    out.offsets.push_back(static_cast<std::int64_t>(out.size));
  }
}

Tokens Encoder::encode(const std::vector<std::string_view>& texts, unsigned threads, bool spans) {
  threads = std::max(1u, std::min(threads, static_cast<unsigned>(std::max<std::size_t>(texts.size(), 1))));
  while (caches_.size() < threads) caches_.push_back(std::make_unique<Cache>());
  std::vector<Tokens> parts;
  for (unsigned t = 0; t < threads; ++t) parts.emplace_back(spans);
  if (threads == 1) {
    encode_range(texts, 0, texts.size(), *caches_[0], parts[0]);
    return std::move(parts[0]);
  }
  std::size_t total = 0, next = 0, given = 0;
  for (const auto& text : texts) total += text.size();
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    const std::size_t first = next;
    while (next < texts.size() && (t + 1 == threads || given < total / threads * (t + 1)))
      given += texts[next++].size();
    workers.emplace_back([&, t, first, last = next] { encode_range(texts, first, last, *caches_[t], parts[t]); });
  }
  for (auto& worker : workers) worker.join();
  Tokens out(spans);
  std::size_t tokens = 0;
  for (const Tokens& part : parts) tokens += part.size;
  out.reserve(tokens);
  for (Tokens& part : parts) {
    std::copy_n(part.ids.data(), part.size, out.ids.data() + out.size);
    if (spans) {
      std::copy_n(part.starts.data(), part.size, out.starts.data() + out.size);
      std::copy_n(part.ends.data(), part.size, out.ends.data() + out.size);
    }
    for (std::size_t i = 1; i < part.offsets.size(); ++i)
      out.offsets.push_back(part.offsets[i] + static_cast<std::int64_t>(out.size));
    out.size += part.size;
  }
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
