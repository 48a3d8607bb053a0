#include "search.hpp"

#include <queue>
#include <tuple>

namespace megacpp {

namespace {

// The number of uses that it is worth that a document lacks nothing which its roots need.
constexpr double kCompletes = 32;
// The maximum number of characters of a declaration that comes first, with what it needs.
constexpr std::int64_t kLongestNaming = 120;

// An offer in a queue: its worth, negated, and the level of its unit come first.
using Ranked = std::tuple<double, std::int32_t, Offer>;

}  // namespace

std::int64_t Reached::total() const {
  std::int64_t sum = 0;
  for (const auto& [chunk, count] : chunks) sum += count;
  return sum;
}

std::int64_t Reached::named(std::int32_t chunk) const {
  for (const auto& [each, count] : chunks)
    if (each == chunk) return count;
  return 0;
}

// The search is breadth first. First come the items without which roots are wrong, then those that they use. At each
// distance, everything that is reached is shown in its shortest form. Then classes show all their members and functions
// their bodies.
void Search::choose(const std::vector<Passage>& roots, const std::vector<Opened>& opened, Room room, Prices& prices,
                    const Limits& limits) {
  facts_.limit();
  state_.clear();
  limits_ = limits;
  completed_.clear();
  depth_ = 0;
  for (const Passage& root : roots)
    for (std::int32_t chunk = root.first; chunk < root.last; ++chunk)
      if (const Item item = facts_.of(chunk); !state_.shows(item)) state_.show(item, 0);
  for (const Opened& each : opened) {
    state_.set_head(each.item, true);
    state_.set_members(each.item, each.members);
  }
  std::vector<Reached> reached = reached_by(targets_of(roots));
  std::vector<const Reached*> order = ordered(reached);
  Uses wanted = wanted_by(roots);
  Reserved macros = short_macros(order);
  for (const auto& [item, chars] : macros) room.chars -= chars;
  int refused = 0;
  const Growth first{&room, &prices, 1, true, &refused, false};
  Items fresh = declare(order, first);
  append(fresh, show_needed(roots, first));
  if (reach_.callers) append(fresh, show_callers(roots, first));
  release(macros, first);
  for (int distance = 1; distance <= reach_.declarations; ++distance) {
    const Growth growth{&room, &prices, distance, false, &refused, false};
    const Growth direct{&room, &prices, distance, distance == 1, &refused, false};
    append(fresh, show_cheapest(reached, wanted, direct, macros));
    if (distance == 1) {
      append(fresh, complete(roots, order, wanted, direct));
      release(macros, direct);
    }
    for (const auto& [item, chars] : Reserved(std::move(macros))) {
      room.chars += chars;
      const auto place =
          std::find_if(reached.begin(), reached.end(), [&](const auto& each) { return each.item == item; });
      show_macro_alone(item, chars, direct, place->total());
    }
    macros.clear();
    for (const Reached* each : order) {
      append(fresh, open_class(*each, growth));
      if (distance <= reach_.bodies) append(fresh, show_bodies(*each, growth));
    }
    if (distance == reach_.declarations || fresh.empty() || room.chars <= 0 || room.chunks <= 0) break;
    reached = reached_by(targets_behind(fresh));
    order = ordered(reached);
    wanted.clear();
    fresh.clear();
  }
}

std::vector<Target> Search::targets_of(const std::vector<Passage>& roots) {
  std::vector<Target> found;
  const auto add = [&](const std::vector<Target>& more) { found.insert(found.end(), more.begin(), more.end()); };
  for (const Passage& root : roots) {
    if (root.end >= 0) {
      add(facts_.targets_in(root));
      continue;
    }
    for (std::int32_t chunk = root.first; chunk < root.last; ++chunk) add(facts_.targets(chunk));
  }
  return found;
}

// The chunks of targets, by item, each with the number of chunks that use it by its name.
std::vector<Reached> Search::reached_by(const std::vector<Target>& targets) {
  std::vector<Reached> found;
  std::unordered_map<Item, std::size_t> places;
  for (const Target& target : targets) {
    const auto [place, is_new] = places.emplace(target.item, found.size());
    if (is_new) found.push_back({target.item, {}});
    auto& chunks = found[place->second].chunks;
    const auto same =
        std::find_if(chunks.begin(), chunks.end(), [&](const auto& each) { return each.first == target.chunk; });
    if (same == chunks.end())
      chunks.emplace_back(target.chunk, target.is_named);
    else
      same->second += target.is_named;
  }
  return found;
}

// Items in the order of their uses divided by their length, highest first. Of equal ones, the lowest level comes first.
std::vector<const Reached*> Search::ordered(const std::vector<Reached>& reached) {
  std::vector<std::tuple<double, std::int32_t, Item, const Reached*>> ranks;
  for (const Reached& each : reached) {
    const Lengths& lengths = facts_.lengths(each.item);
    const double rank = -static_cast<double>(each.total()) / static_cast<double>(lengths.least + kSeparatorChars);
    ranks.emplace_back(rank, lengths.level, each.item, &each);
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<const Reached*> result;
  result.reserve(ranks.size());
  for (const auto& rank : ranks) result.push_back(std::get<3>(rank));
  return result;
}

// How many roots use each entity. Methods that are defined outside of their classes count once.
Uses Search::wanted_by(const std::vector<Passage>& roots) {
  Uses wanted;
  for (const Passage& root : roots) {
    for (const auto& [id, count] : facts_.used(root)) wanted[id] += count;
    for (const auto& [id, count] : facts_.own(facts_.of(root.first))) wanted[id] += count;
  }
  return wanted;
}

// The short macros that are named, each with its characters: `TEST` of a test library. What they expand to may be too
// long. Then each is shown alone, for which room is reserved.
Search::Reserved Search::short_macros(const std::vector<const Reached*>& ordered) {
  Reserved found;
  for (const Reached* each : ordered) {
    if (each->total() == 0 || !facts_.is_macro(each->item)) continue;
    const Lengths& lengths = facts_.lengths(each->item);
    if (lengths.declared <= kLongestStandIn)
      found.emplace_back(each->item, lengths.declared + kSeparatorChars + lengths.around);
  }
  return found;
}

// Declare what is reached if a short declaration is enough, before long macros take the room.
Items Search::declare(const std::vector<const Reached*>& ordered, const Growth& growth) {
  Items fresh;
  for (const Reached* each : ordered) {
    const Item item = each->item;
    if (facts_.lengths(item).least > kLongestNaming && facts_.shortest(item).item == item) continue;
    Trial trial(*this, growth);
    const Items found = show({item, kHead}, trial.growth());
    if (trial.cost() <= kLongestNaming && trial.accept(static_cast<double>(each->total()))) append(fresh, found);
  }
  return fresh;
}

// Declare the most used items for their cost, with all that they need, and show `wanted` members of classes. Returns the
// new items. The room that is reserved for an item is released when the item is shown.
Items Search::show_cheapest(const std::vector<Reached>& reached, const Uses& wanted, const Growth& growth,
                            Reserved& reserved) {
  std::unordered_map<Offer, std::int64_t, HashOfOffer> uses;
  std::priority_queue<Ranked, std::vector<Ranked>, std::greater<>> waiting;
  const auto add = [&](const Offer& offer, std::int64_t count, std::int64_t chars) {
    uses[offer] = count;
    waiting.emplace(-growth.worth(static_cast<double>(count), chars), facts_.lengths(offer.item).level, offer);
  };
  for (const Reached& each : reached) add({each.item, kHead}, each.total(), facts_.lengths(each.item).least);
  Items parted;
  for (const Item item : state_.with_members())
    if (state_.distance(item) == 0) parted.push_back(item);
  for (const UsedMember& each : members_of(parted, wanted)) add(each.offer, each.uses, each.chars);
  Items fresh;
  while (!waiting.empty()) {
    const auto [rank, level, offer] = waiting.top();
    waiting.pop();
    if (-rank < growth.prices->least()) break;
    const auto count = static_cast<double>(uses[offer]);
    Items found;
    {
      Trial trial(*this, growth);
      found = show(offer, trial.growth());
      const double worth = growth.worth(count, trial.cost());
      if (!waiting.empty() && -worth > std::max(rank, std::get<0>(waiting.top()))) {
        waiting.emplace(-worth, level, offer);
        continue;
      }
      if (!trial.accept(count)) continue;
    }
    release(reserved, growth);
    append(fresh, found);
    found.push_back(offer.item);
    for (const UsedMember& each : members_of(found, wanted))
      if (!uses.contains(each.offer)) add(each.offer, each.uses, each.chars);
  }
  return fresh;
}

// Show all that the roots still lack, or nothing: a document that lacks nothing compiles. Together, this must be worth
// the price of `kCompletes` uses. Parts of it alone are often too dear, such as what the macro of a test expands to.
// Returns the new items.
Items Search::complete(const std::vector<Passage>& roots, const std::vector<const Reached*>& ordered,
                       const Uses& wanted, const Growth& growth) {
  const std::int64_t most = growth.affordable_chars(kCompletes);
  Trial trial(*this, growth, most);
  Items fresh = show_rest(roots, ordered, wanted, trial.growth());
  trial.room().chars += growth.room->chars - most;
  if (!trial.accept(kCompletes)) return {};
  if (growth.prices->is_free()) completed_ = std::exchange(growth.prices->taken, {});
  return fresh;
}

// Show all that the roots still lack, until there is no room for something.
Items Search::show_rest(const std::vector<Passage>& roots, const std::vector<const Reached*>& ordered,
                        const Uses& wanted, const Growth& growth) {
  Items fresh, heads;
  for (const Reached* each : ordered) {
    append(fresh, show({each->item, kHead}, growth));
    if (*growth.refused > 0) return fresh;
  }
  for (const Item item : state_.order())
    if (state_.is_head(item)) heads.push_back(item);
  for (const UsedMember& each : members_of(heads, wanted)) {
    append(fresh, show(each.offer, growth));
    if (*growth.refused > 0) return fresh;
  }
  append(fresh, show_needed(roots, growth));
  return fresh;
}

// Show all members of a class whose head is shown, if they and what they name fit. Returns the new items.
Items Search::open_class(const Reached& reached, const Growth& growth) {
  const Item item = reached.item;
  if (!state_.is_head(item) || (*limits_.barred)[item]) return {};
  Items fresh = buy({item, kAll}, growth, static_cast<double>(reached.total()) / kUnasked);
  if (state_.is_head(item)) return {};
  fresh.insert(fresh.begin(), item);
  return fresh;
}

// Release the room that is reserved for items that are shown now.
void Search::release(Reserved& reserved, const Growth& growth) {
  std::erase_if(reserved, [&](const auto& each) {
    if (!state_.shows(each.first)) return false;
    growth.room->chars += each.second;
    return true;
  });
}

// What the new items use in the forms in which they are shown. -1 - n means the signature of chunk n.
std::vector<Target> Search::targets_behind(const Items& fresh) {
  std::vector<Target> found;
  std::unordered_map<Item, bool> seen;
  const auto add = [&](std::int32_t lead) {
    const std::vector<Target>& more = facts_.targets(lead);
    found.insert(found.end(), more.begin(), more.end());
  };
  for (const Item item : fresh) {
    if (!seen.emplace(item, true).second) continue;
    if (state_.is_head(item)) {
      add(-1 - item);
      continue;
    }
    const Numbers& bodies = facts_.bodies(item);
    const Numbers hidden = without(bodies, state_.whole(item));
    for (std::int32_t chunk = item; chunk < facts_.end(item); ++chunk)
      if (!holds(hidden, chunk)) add(chunk);
    for (const std::int32_t chunk : hidden) add(-1 - chunk);
  }
  return found;
}

}  // namespace megacpp
