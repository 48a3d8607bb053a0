// Incremental merges: each step touches only the places where its pair occurs. Symbols lie in one array over all unique
// words; a symbol writes its id at its first and last byte, so both neighbours are found without links.
#include "trainer.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <unordered_map>

#include "memory.hpp"
#include "pair_queue.hpp"

namespace megacpp {

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

// The places of a pair, as stretches of the occurrence array; a second stretch arises only when a product id is reused.
struct Stretch {
  std::uint64_t start;
  std::uint32_t length, next;
};

struct Pair {
  std::uint64_t key;
  std::int64_t count = 0;
  std::uint32_t stretches = kNone;
};

// A byte of a word: the symbol that begins or ends here, and how often the word occurs.
struct Cell {
  std::uint32_t symbol, weight;
};

// What a running step does beside one neighbouring symbol: its old pair loses `weight`, its new pair gains it.
struct Beside {
  std::int64_t weight = 0;
  std::uint64_t next = 0;
  std::uint32_t places = 0, old_pair = 0, new_pair = 0;
};

// Pair key -> index into the pairs; the key lies in the slot, so a look-up touches one line.
class PairIndex {
 public:
  PairIndex() : slots_(1u << 16) {}

  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[slot(key)]); }

  std::uint32_t get(std::uint64_t key, Large<Pair>& pairs) {
    for (std::size_t i = slot(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return slots_[i].pair;
      if (slots_[i].pair != kNone) continue;
      if (2 * (pairs.size() + 1) > slots_.size()) {
        grow();
        return get(key, pairs);
      }
      slots_[i] = {key, static_cast<std::uint32_t>(pairs.size())};
      pairs.push_back({key});
      return slots_[i].pair;
    }
  }

 private:
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    std::uint32_t pair = kNone;
  };

  std::size_t slot(std::uint64_t key) const { return mix(key ^ kSeed0, kSeed1) & (slots_.size() - 1); }

  void grow() {
    Large<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& entry : old) {
      if (entry.pair == kNone) continue;
      std::size_t i = slot(entry.key);
      while (slots_[i].pair != kNone) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = entry;
    }
  }

  Large<Slot> slots_;
};

class Trainer {
 public:
  Trainer(const WordTable<std::int64_t>& words, const TrainOptions& options) : options_(options) {
    load(words);
    std::array<char, 256> bytes{};
    for (unsigned b = 0; b < 256; ++b) bytes[kAlphabet[b]] = static_cast<char>(b);
    for (const char byte : bytes) id_of(std::string(1, byte));
    first_pairs();
  }

  TrainResult run(const TrainProgress& progress) {
    std::uint64_t made = 0;
    std::int64_t count = 0;
    Queued top{};
    const auto count_of = [this](std::uint32_t pair) { return pairs_[pair].count; };
    while (made < options_.new_tokens && queue_.pop(count_of, count, top) && count >= options_.min_count) {
      const auto left = static_cast<std::uint32_t>(top.key >> 32), right = static_cast<std::uint32_t>(top.key);
      std::string text = strings_[left] + strings_[right];
      if (options_.forbidden.contains(text)) {
        ++result_.dropped;
        continue;
      }
      const bool counts = !options_.known.contains(text) && !ids_.contains(text);
      const std::uint32_t product = id_of(std::move(text));
      result_.left.push_back(left);
      result_.right.push_back(right);
      result_.product.push_back(product);
      result_.counts.push_back(count);
      merge(top.pair, left, right, product);
      pairs_[top.pair].count = 0;
      made += counts;
      if (progress && (result_.left.size() & 1023) == 0) progress(made, options_.new_tokens);
    }
    return std::move(result_);
  }

 private:
  // Lays the words out in byte order, each followed by a separator, so that no symbol meets its neighbour's. In order,
  // words with a common beginning lie together, and a merge walks forward through memory.
  void load(const WordTable<std::int64_t>& words) {
    struct Word {
      std::uint64_t head;
      std::string_view text;
      std::int64_t count;
    };
    std::vector<Word> sorted;
    sorted.reserve(words.size());
    std::uint64_t total = 1;
    words.each([&](std::string_view word, std::int64_t count) {
      if (word.size() < 2) return;
      Byte head[8] = {};
      std::memcpy(head, word.data(), std::min<std::size_t>(8, word.size()));
      sorted.push_back({__builtin_bswap64(load8(head)), word, count});
      total += word.size() + 1;
    });
    std::sort(sorted.begin(), sorted.end(),
              [](const Word& a, const Word& b) { return a.head != b.head ? a.head < b.head : a.text < b.text; });
    if (total >= kInside) throw std::length_error("more than 4 GiB of unique words");
    cells_.reserve(total);
    cells_.push_back({kNone, 0});
    for (const Word& word : sorted) {
      const bool large = word.count >= kLarge;
      if (large) large_.emplace_back(static_cast<std::uint32_t>(cells_.size()), word.count);
      const std::uint32_t weight = large ? kLarge : static_cast<std::uint32_t>(word.count);
      for (const char c : word.text) cells_.push_back({kAlphabet[static_cast<Byte>(c)], weight});
      cells_.push_back({kNone, 0});
    }
  }

  // How often the word at `place` occurs; counts that do not fit a cell are found by the start of their word.
  std::int64_t weight_at(std::size_t place) const {
    if (cells_[place].weight != kLarge) return cells_[place].weight;
    const auto after = std::upper_bound(large_.begin(), large_.end(), place,
                                        [](std::size_t value, const auto& entry) { return value < entry.first; });
    return std::prev(after)->second;
  }

  // Counting sort of all places by their pair of bytes.
  void first_pairs() {
    std::vector<std::uint64_t> starts(65537, 0);
    const auto dense = [&](std::size_t p) { return cells_[p].symbol << 8 | cells_[p + 1].symbol; };
    const auto is_pair = [&](std::size_t p) { return cells_[p].symbol != kNone && cells_[p + 1].symbol != kNone; };
    for (std::size_t p = 0; p + 1 < cells_.size(); ++p)
      if (is_pair(p)) ++starts[dense(p) + 1];
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    places_.reserve(3 * starts.back());  // a merge takes one place away and makes at most two: never moved
    places_.resize(starts.back());
    std::vector<std::uint64_t> next(starts.begin(), starts.end() - 1);
    std::vector<std::int64_t> counts(65536, 0);
    for (std::size_t p = 0; p + 1 < cells_.size(); ++p)
      if (is_pair(p)) {
        places_[next[dense(p)]++] = static_cast<std::uint32_t>(p);
        counts[dense(p)] += weight_at(p);
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
    if (pair.count > 0) queue_.push(pair.count, pair.key, index);
  }

  std::uint32_t id_of(std::string text) {
    const auto [entry, fresh] = ids_.emplace(text, static_cast<std::uint32_t>(strings_.size()));
    if (fresh) {
      lengths_.push_back(static_cast<std::uint32_t>(text.size()));
      strings_.push_back(std::move(text));
      left_.emplace_back();
      right_.emplace_back();
    }
    return entry->second;
  }

  // Places of a pair in ascending order, which is what makes runs of one symbol merge from the left.
  void gather(const Pair& pair) {
    found_.clear();
    unsigned stretches = 0;
    for (std::uint32_t s = pair.stretches; s != kNone; s = stretches_[s].next, ++stretches) {
      const auto* first = places_.data() + stretches_[s].start;
      found_.insert(found_.end(), first, first + stretches_[s].length);
    }
    if (stretches > 1) std::sort(found_.begin(), found_.end());
  }

  void merge(std::uint32_t index, std::uint32_t left, std::uint32_t right, std::uint32_t product) {
    gather(pairs_[index]);
    const auto left_length = lengths_[left], right_length = lengths_[right];
    for (std::size_t i = 0; i < std::min(kAhead, found_.size()); ++i) __builtin_prefetch(&cells_[found_[i]]);
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (i + kAhead < found_.size()) __builtin_prefetch(&cells_[found_[i + kAhead]]);
      const std::uint32_t place = found_[i], middle = place + left_length;
      if (cells_[place].symbol != left || cells_[middle].symbol != right) continue;
      const std::uint32_t end = middle + right_length;
      const std::int64_t weight = weight_at(place);
      const std::uint32_t before = cells_[place - 1].symbol, after = cells_[end].symbol;
      if (before != kNone) meet(left_, before, touched_left_, made_left_, weight, place - lengths_[before]);
      if (after != kNone) meet(right_, after, touched_right_, made_right_, weight, place);
      cells_[middle - 1].symbol = cells_[middle].symbol = kInside;
      cells_[place].symbol = cells_[end - 1].symbol = product;
    }
    std::uint64_t next = places_.size();
    places_.resize(next + made_left_.size() + made_right_.size());
    each_beside(left, right, product, [this](Beside&, std::uint64_t old_key, std::uint64_t new_key) {
      index_.prefetch(old_key);
      index_.prefetch(new_key);
    });
    each_beside(left, right, product, [this](Beside& beside, std::uint64_t old_key, std::uint64_t new_key) {
      beside.old_pair = index_.get(old_key, pairs_);
      beside.new_pair = index_.get(new_key, pairs_);
      __builtin_prefetch(&pairs_[beside.old_pair]);
    });
    each_beside(left, right, product, [&](Beside& beside, std::uint64_t, std::uint64_t) { settle(beside, next); });
    for (const auto& [before, place] : made_left_) places_[left_[before].next++] = place;
    for (const auto& [after, place] : made_right_) places_[right_[after].next++] = place;
    for (const std::uint32_t before : touched_left_) left_[before] = {};
    for (const std::uint32_t after : touched_right_) right_[after] = {};
    for (const std::uint32_t grown : grown_) enqueue(grown);
    for (auto* list : {&touched_left_, &touched_right_, &grown_}) list->clear();
    for (auto* list : {&made_left_, &made_right_}) list->clear();
  }

  using Made = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  static void meet(std::vector<Beside>& side, std::uint32_t neighbour, std::vector<std::uint32_t>& touched, Made& made,
                   std::int64_t weight, std::uint32_t place) {
    Beside& beside = side[neighbour];
    if (beside.places++ == 0) touched.push_back(neighbour);
    beside.weight += weight;
    made.emplace_back(neighbour, place);
  }

  // Calls `visit(beside, old pair's key, new pair's key)` for every neighbour met.
  template <class Visit>
  void each_beside(std::uint32_t left, std::uint32_t right, std::uint32_t product, Visit&& visit) {
    for (const std::uint32_t before : touched_left_)
      visit(left_[before], pair_key(before, left), pair_key(before, product));
    for (const std::uint32_t after : touched_right_)
      visit(right_[after], pair_key(right, after), pair_key(product, after));
  }

  // Moves the weight met beside one neighbour from its old pair to its new one, whose places get a stretch at `next`.
  void settle(Beside& beside, std::uint64_t& next) {
    pairs_[beside.old_pair].count -= beside.weight;
    pairs_[beside.new_pair].count += beside.weight;
    add_stretch(pairs_[beside.new_pair], next, beside.places);
    beside.next = next;
    next += beside.places;
    grown_.push_back(beside.new_pair);
  }

  static constexpr std::uint32_t kInside = 0xFFFFFFFEu;  // a byte that neither begins nor ends its symbol

  static constexpr std::uint32_t kLarge = 0xFFFFFFFFu;  // a weight that does not fit
  static constexpr std::size_t kAhead = 8;

  const TrainOptions& options_;
  Large<Cell> cells_;
  std::vector<std::pair<std::uint32_t, std::int64_t>>
      large_;  // (start, count) of words with a weight that does not fit
  Large<std::uint32_t> places_;
  std::vector<std::uint32_t> found_, lengths_, touched_left_, touched_right_, grown_;
  std::vector<Beside> left_, right_;
  Made made_left_, made_right_;
  Large<Pair> pairs_;
  std::vector<Stretch> stretches_;
  PairIndex index_;
  PairQueue queue_;
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  TrainResult result_;
};

}  // namespace

std::uint32_t alphabet_id(Byte byte) { return kAlphabet[byte]; }

TrainResult train(const WordTable<std::int64_t>& words, const TrainOptions& options, const TrainProgress& progress) {
  return Trainer(words, options).run(progress);
}

}  // namespace megacpp
