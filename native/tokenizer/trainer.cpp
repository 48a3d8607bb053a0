// Incremental merges: each step touches only the places where its pair occurs. Symbols lie in one array over all unique
// words; a symbol writes its id at its first and last byte, so both neighbours are found without links.
#include "trainer.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <stdexcept>
#include <unordered_map>

namespace bpe {

namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFu;

std::array<std::uint32_t, 256> make_alphabet() {
  std::array<std::uint32_t, 256> ids{};
  std::uint32_t next = 0;
  const auto printable = [](unsigned b) { return (b >= 33 && b <= 126) || (b >= 161 && b != 173); };
  for (unsigned b = 0; b < 256; ++b)
    if (printable(b)) ids[b] = next++;
  for (unsigned b = 0; b < 256; ++b)
    if (!printable(b)) ids[b] = next++;
  return ids;
}

const std::array<std::uint32_t, 256> kAlphabet = make_alphabet();

std::uint64_t pair_key(std::uint32_t left, std::uint32_t right) { return static_cast<std::uint64_t>(left) << 32 | right; }

// The places of a pair, as stretches of the occurrence array; a second stretch arises only when a product id is reused.
struct Stretch {
  std::uint64_t start;
  std::uint32_t length, next;
};

struct Pair {
  std::uint64_t key;
  std::int64_t count = 0;
  std::uint32_t stretches = kNone;
  std::uint32_t fresh = 0;  // occurrences made by the running step
};

struct Candidate {
  std::int64_t count;
  std::uint64_t key;
  std::uint32_t pair;
};

struct Worse {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.count != b.count ? a.count < b.count : a.key > b.key;
  }
};

class PairIndex {
 public:
  PairIndex() : slots_(1u << 16, kNone) {}

  std::uint32_t get(std::uint64_t key, std::vector<Pair>& pairs) {
    for (std::size_t i = slot(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i] == kNone) {
        if (2 * (pairs.size() + 1) > slots_.size()) {
          grow(pairs);
          return get(key, pairs);
        }
        slots_[i] = static_cast<std::uint32_t>(pairs.size());
        pairs.push_back({key});
        return slots_[i];
      }
      if (pairs[slots_[i]].key == key) return slots_[i];
    }
  }

 private:
  std::size_t slot(std::uint64_t key) const { return mix(key ^ kSeed0, kSeed1) & (slots_.size() - 1); }

  void grow(const std::vector<Pair>& pairs) {
    slots_.assign(slots_.size() * 2, kNone);
    for (std::uint32_t pair = 0; pair < pairs.size(); ++pair) {
      std::size_t i = slot(pairs[pair].key);
      while (slots_[i] != kNone) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = pair;
    }
  }

  std::vector<std::uint32_t> slots_;
};

class Trainer {
 public:
  Trainer(const WordTable<std::int64_t>& words, const TrainOptions& options) : options_(options) {
    load(words);
    for (unsigned b = 0; b < 256; ++b) {
      strings_.resize(256);
      strings_[kAlphabet[b]] = std::string(1, static_cast<char>(b));
    }
    for (std::uint32_t id = 0; id < 256; ++id) ids_.emplace(strings_[id], id);
    first_pairs();
  }

  TrainResult run(const TrainProgress& progress) {
    std::uint64_t made = 0;
    while (made < options_.new_tokens && !queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      Pair& pair = pairs_[top.pair];
      if (pair.count != top.count) {  // stale: the count fell since it was queued
        if (pair.count > 0) queue_.push({pair.count, pair.key, top.pair});
        continue;
      }
      if (top.count < 1 || top.count < options_.min_count) break;
      const auto left = static_cast<std::uint32_t>(pair.key >> 32), right = static_cast<std::uint32_t>(pair.key);
      std::string text = strings_[left] + strings_[right];
      if (options_.forbidden.count(text) != 0) {
        ++result_.dropped;
        continue;
      }
      const bool counts = options_.known.count(text) == 0 && ids_.count(text) == 0;
      const std::uint32_t product = id_of(std::move(text));
      result_.left.push_back(left);
      result_.right.push_back(right);
      result_.product.push_back(product);
      result_.counts.push_back(top.count);
      merge(top.pair, left, right, product);
      pairs_[top.pair].count = 0;
      made += counts;
      if (progress && (result_.left.size() & 1023) == 0) progress(made, options_.new_tokens);
    }
    return std::move(result_);
  }

 private:
  // Lays the words out, each followed by a separator, so that no symbol meets its neighbour's.
  void load(const WordTable<std::int64_t>& words) {
    std::uint64_t total = 0;
    words.each([&](std::string_view word, std::int64_t) { total += word.size() > 1 ? word.size() + 1 : 0; });
    if (total + 1 >= kNone) throw std::length_error("more than 4 GiB of unique words");
    symbols_.reserve(total + 1);
    word_of_.reserve(total + 1);
    symbols_.push_back(kNone);
    word_of_.push_back(0);
    words.each([&](std::string_view word, std::int64_t count) {
      if (word.size() < 2) return;
      const auto index = static_cast<std::uint32_t>(counts_.size());
      counts_.push_back(count);
      for (const char c : word) symbols_.push_back(kAlphabet[static_cast<Byte>(c)]);
      symbols_.push_back(kNone);
      word_of_.insert(word_of_.end(), word.size() + 1, index);
    });
  }

  // Counting sort of all places by their pair of bytes.
  void first_pairs() {
    std::vector<std::uint64_t> starts(65537, 0);
    const auto dense = [&](std::size_t p) { return symbols_[p] << 8 | symbols_[p + 1]; };
    const auto is_pair = [&](std::size_t p) { return symbols_[p] != kNone && symbols_[p + 1] != kNone; };
    for (std::size_t p = 0; p + 1 < symbols_.size(); ++p)
      if (is_pair(p)) ++starts[dense(p) + 1];
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    places_.resize(starts.back());
    std::vector<std::uint64_t> next(starts.begin(), starts.end() - 1);
    std::vector<std::int64_t> counts(65536, 0);
    for (std::size_t p = 0; p + 1 < symbols_.size(); ++p)
      if (is_pair(p)) {
        places_[next[dense(p)]++] = static_cast<std::uint32_t>(p);
        counts[dense(p)] += counts_[word_of_[p]];
      }
    for (std::uint32_t d = 0; d < 65536; ++d) {
      if (starts[d] == starts[d + 1]) continue;
      const std::uint32_t index = index_.get(pair_key(d >> 8, d & 255), pairs_);
      pairs_[index].count = counts[d];
      add_stretch(pairs_[index], starts[d], static_cast<std::uint32_t>(starts[d + 1] - starts[d]));
      enqueue(index);
    }
  }

  void add_stretch(Pair& pair, std::uint64_t start, std::uint32_t length) {
    stretches_.push_back({start, length, pair.stretches});
    pair.stretches = static_cast<std::uint32_t>(stretches_.size() - 1);
  }

  void enqueue(std::uint32_t index) {
    const Pair& pair = pairs_[index];
    result_.largest_count = std::max(result_.largest_count, pair.count);
    if (pair.count > 0) queue_.push({pair.count, pair.key, index});
  }

  std::uint32_t id_of(std::string text) {
    const auto [entry, fresh] = ids_.emplace(text, static_cast<std::uint32_t>(strings_.size()));
    if (fresh) strings_.push_back(std::move(text));
    return entry->second;
  }

  // Places of a pair in ascending order, which is what makes runs of one symbol merge from the left.
  void gather(const Pair& pair) {
    found_.clear();
    unsigned stretches = 0;
    for (std::uint32_t s = pair.stretches; s != kNone; s = stretches_[s].next, ++stretches)
      found_.insert(found_.end(), places_.begin() + stretches_[s].start,
                    places_.begin() + stretches_[s].start + stretches_[s].length);
    if (stretches > 1) std::sort(found_.begin(), found_.end());
  }

  void merge(std::uint32_t index, std::uint32_t left, std::uint32_t right, std::uint32_t product) {
    gather(pairs_[index]);
    made_.clear();
    const auto left_length = length(left), right_length = length(right);
    for (const std::uint32_t place : found_) {
      const std::uint32_t middle = place + left_length;
      if (symbols_[place] != left || symbols_[middle] != right) continue;
      const std::uint32_t end = middle + right_length;
      const std::int64_t weight = counts_[word_of_[place]];
      const std::uint32_t before = symbols_[place - 1], after = symbols_[end];
      if (before != kNone) {
        pairs_[index_.get(pair_key(before, left), pairs_)].count -= weight;
        arise(before, product, weight, place - length(before));
      }
      if (after != kNone) {
        pairs_[index_.get(pair_key(right, after), pairs_)].count -= weight;
        arise(product, after, weight, place);
      }
      symbols_[middle - 1] = symbols_[middle] = kInside;
      symbols_[place] = symbols_[end - 1] = product;
    }
    settle();
  }

  void arise(std::uint32_t left, std::uint32_t right, std::int64_t weight, std::uint32_t place) {
    const std::uint32_t index = index_.get(pair_key(left, right), pairs_);
    pairs_[index].count += weight;
    if (pairs_[index].fresh++ == 0) touched_.push_back(index);
    made_.push_back({index, place});
  }

  // Gives the occurrences made by a step their stretches, and queues the pairs that grew.
  void settle() {
    std::uint64_t next = places_.size();
    places_.resize(next + made_.size());
    for (const std::uint32_t index : touched_) {
      Pair& pair = pairs_[index];
      add_stretch(pair, next, pair.fresh);
      next += pair.fresh;
      stretches_.back().length = 0;
      pair.fresh = 0;
    }
    for (const auto& [index, place] : made_) {
      Stretch& stretch = stretches_[pairs_[index].stretches];
      places_[stretch.start + stretch.length++] = place;
    }
    for (const std::uint32_t index : touched_) enqueue(index);
    touched_.clear();
  }

  std::uint32_t length(std::uint32_t id) const { return static_cast<std::uint32_t>(strings_[id].size()); }

  static constexpr std::uint32_t kInside = 0xFFFFFFFEu;  // a byte that neither begins nor ends its symbol

  const TrainOptions& options_;
  std::vector<std::uint32_t> symbols_, word_of_, places_, found_, touched_;
  std::vector<std::int64_t> counts_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made_;
  std::vector<Pair> pairs_;
  std::vector<Stretch> stretches_;
  PairIndex index_;
  std::priority_queue<Candidate, std::vector<Candidate>, Worse> queue_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  TrainResult result_;
};

}  // namespace

std::uint32_t alphabet_id(Byte byte) { return kAlphabet[byte]; }

TrainResult train(const WordTable<std::int64_t>& words, const TrainOptions& options, const TrainProgress& progress) {
  return Trainer(words, options).run(progress);
}

}  // namespace bpe
