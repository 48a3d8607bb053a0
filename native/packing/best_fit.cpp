#include "best_fit.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "draws.hpp"
#include "room.hpp"

namespace megacpp {
namespace {

using Column = std::span<const std::int64_t>;
using Numbers = std::vector<std::uint32_t>;

// Documents are taken in an order that jumps through memory; the one so many places on is fetched meanwhile.
constexpr std::size_t ahead = 16;

// A quantity of documents, and how much of it a row holds.
struct Quantity {
  Column amounts;
  std::int64_t limit;
};

// By what a document comes early or late, in the packed quantity: what it takes of that, or, where it takes a larger
// part of a row in the other one, the mean of both parts. By the larger part alone, and by the packed quantity alone,
// rows of real documents are emptier.
std::uint32_t size_of(const Quantity& packed, const Quantity& other, std::size_t document) {
  const std::int64_t amount = packed.amounts[document];
  const std::int64_t also = other.amounts[document] * packed.limit;
  if (also <= amount * other.limit) return static_cast<std::uint32_t>(amount);
  return static_cast<std::uint32_t>((amount + also / other.limit) / 2);
}

// Documents from large to small, in random order among equals.
Numbers decreasing(const Quantity& packed, const Quantity& other, Draws& draws) {
  const std::size_t documents = packed.amounts.size();
  Numbers sizes(documents);
  Numbers ends(static_cast<std::size_t>(packed.limit) + 2);
  for (std::size_t document = 0; document < documents; ++document) {
    sizes[document] = static_cast<std::uint32_t>(packed.limit) - size_of(packed, other, document);
    ++ends[sizes[document] + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  Numbers order(documents);
  Numbers places(ends.begin(), ends.end() - 1);
  for (std::size_t document = 0; document < documents; ++document)
    order[places[sizes[document]]++] = static_cast<std::uint32_t>(document);
  for (std::size_t size = 0; size + 1 < ends.size(); ++size)
    draws.shuffle(std::span(order).subspan(ends[size], ends[size + 1] - ends[size]));
  return order;
}

// Rows in random order, and the documents of each ascending.
Plan in_rows(Numbers row_of, std::uint32_t rows, Draws& draws) {
  Numbers place(rows);
  std::iota(place.begin(), place.end(), 0U);
  draws.shuffle(place);
  Plan plan{std::vector<std::int64_t>(row_of.size()), std::vector<std::int64_t>(rows + std::size_t{1})};
  for (std::uint32_t& row : row_of) {
    row = place[row];
    ++plan.offsets[row + std::size_t{1}];
  }
  std::partial_sum(plan.offsets.begin(), plan.offsets.end(), plan.offsets.begin());
  Numbers next(plan.offsets.begin(), plan.offsets.end() - 1);
  for (std::size_t document = 0; document < row_of.size(); ++document)
    plan.documents[next[row_of[document]]++] = static_cast<std::int64_t>(document);
  return plan;
}

}  // namespace

Plan best_fit(Column tokens, Column chunks, Limits limits, std::uint64_t seed) {
  const Quantity by_tokens{tokens, limits.tokens};
  const Quantity by_chunks{chunks, limits.chunks};
  const auto all = [](Column amounts) { return std::accumulate(amounts.begin(), amounts.end(), std::int64_t{0}); };
  const bool scarce = all(tokens) * limits.chunks < all(chunks) * limits.tokens;
  const Quantity& packed = scarce ? by_chunks : by_tokens;
  const Quantity& other = scarce ? by_tokens : by_chunks;
  Draws draws(seed);
  Rows rows(static_cast<std::uint32_t>(packed.limit), static_cast<std::uint32_t>(other.limit));
  Numbers row_of(tokens.size());
  const Numbers order = decreasing(packed, other, draws);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::uint32_t document = order[place];
    const std::uint32_t later = order[std::min(place + ahead, order.size() - 1)];
    __builtin_prefetch(&packed.amounts[later]);
    __builtin_prefetch(&other.amounts[later]);
    __builtin_prefetch(&row_of[later], 1);
    const auto size = static_cast<std::uint32_t>(packed.amounts[document]);
    row_of[document] = rows.place(size, static_cast<std::uint32_t>(other.amounts[document]));
  }
  return in_rows(std::move(row_of), rows.count(), draws);
}

}  // namespace megacpp
