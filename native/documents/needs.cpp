#include <set>
#include <unordered_set>

#include "search.hpp"

namespace megacpp {

namespace {

// Each part of a root, and each item of the other roots as a passage, once.
std::vector<Passage> by_item(const Facts& facts, const std::vector<Passage>& roots) {
  std::vector<Passage> found;
  const auto add = [&](const Passage& passage) {
    if (std::find(found.begin(), found.end(), passage) == found.end()) found.push_back(passage);
  };
  for (const Passage& root : roots) {
    if (root.end >= 0) {
      add(root);
      continue;
    }
    for (std::int32_t chunk = root.first; chunk < root.last;) {
      const Item item = facts.of(chunk);
      add(facts.passage(item));
      chunk = facts.end(item);
    }
  }
  return found;
}

}  // namespace

// Show the classes of the methods among `roots`, the types and the fields that parts name of their classes, the bases of
// their classes, and the macros that they name.
Items Search::show_needed(const std::vector<Passage>& roots, const Growth& growth) {
  Items fresh;
  const std::vector<Passage> passages = by_item(facts_, roots);
  for (const Passage& each : passages) append(fresh, show_class_of(each, growth, How::kBought, kNeeded));
  for (const Passage& each : passages)
    if (each.end >= 0) append(fresh, show_own_of_part(each, growth));
  for (const Passage& each : passages) {
    const Item item = facts_.of(each.first);
    if (facts_.shortest(item).is_head) append(fresh, show_bases_of_root(item, growth));
  }
  for (const Passage& each : passages) append(fresh, show_macros(each, growth));
  for (const Passage& each : passages) {
    append(fresh, look_into(each, growth, How::kBought));
    append(fresh, show_evaluated(facts_.evaluated(each), growth));
  }
  return fresh;
}

// Show the types and the fields that a part of a class names of the class. Its functions are mostly longer.
Items Search::show_own_of_part(const Passage& part, const Growth& growth) {
  Items fresh;
  for (const UsedMember& each : members_of({facts_.of(part.first)}, facts_.used(part))) {
    const Excerpt& excerpt = facts_.excerpt(each.offer.item);
    if (excerpt.exists && !excerpt.members[each.offer.number].called) append(fresh, buy(each.offer, growth, kNeeded));
  }
  return fresh;
}

Items Search::show_bases_of_root(Item item, const Growth& growth) {
  {
    Trial trial(*this, growth);
    Items fresh = show_bases(item, trial.growth());
    if (trial.accept(kNeeded)) return fresh;
  }
  return show_bases(item, growth);
}

// Show the macros that the text of `passage` names, and the using-directives in front of it.
Items Search::show_macros(const Passage& passage, const Growth& growth) {
  Items fresh;
  for (const Item item : facts_.macros(passage)) {
    Trial trial(*this, growth);
    const Items found = show({item, kHead}, trial.growth());
    if (trial.accept(trial.cost() <= kShortClass ? kNeeded : 1)) append(fresh, found);
  }
  return fresh;
}

// Show the functions that call a root directly, with their bodies, the shortest first.
Items Search::show_callers(const std::vector<Passage>& roots, const Growth& growth) {
  std::unordered_set<std::int32_t> called;
  for (const Passage& root : roots)
    for (std::int32_t chunk = root.first; chunk < root.last; ++chunk) called.insert(chunk);
  std::set<std::pair<std::int64_t, std::int32_t>> places;
  for (const std::int32_t chunk : called)
    for (const std::int32_t caller : facts_.callers(chunk))
      if (!called.contains(caller)) places.emplace(facts_.chunk_chars(caller), caller);
  Items fresh;
  for (const auto& [chars, caller] : places) {
    const Item item = facts_.of(caller);
    append(fresh, buy({item, kHead}, growth, 1));
    if (state_.is_head(item)) append(fresh, buy({item, kAll}, growth, 1));
    append(fresh, show_bodies({item, {{caller, 1}}}, growth));
  }
  return fresh;
}

// Show the bodies of an item that are used, each with all that it needs if that fits; which items the search goes on
// from.
Items Search::show_bodies(const Reached& reached, const Growth& growth) {
  Items fresh;
  if (!may_show_bodies(reached.item)) return fresh;
  for (const std::int32_t chunk : facts_.bodies(reached.item)) {
    const std::int64_t used = reached.named(chunk);
    if (used == 0) continue;
    Trial trial(*this, growth);
    const Items found = show_body(reached.item, chunk, trial.growth());
    if (!trial.accept(static_cast<double>(used) / kUnasked)) continue;
    fresh.push_back(reached.item);
    append(fresh, found);
  }
  return fresh;
}

// Show the bodies of functions without which a compiler cannot call them, each if it is worth its price; which items
// are new.
Items Search::show_evaluated(const Numbers& functions, const Growth& growth) {
  Items fresh;
  for (const std::int32_t chunk : functions) {
    Trial trial(*this, growth);
    const Items found = show_evaluated_one(chunk, trial.growth());
    if (trial.accept(1)) append(fresh, found);
  }
  return fresh;
}

// Show the body of a function that a constant or a static assertion calls; which items are new.
Items Search::show_evaluated_one(std::int32_t chunk, const Growth& growth) {
  const Item item = facts_.of(chunk);
  Items fresh = show({item, kHead}, growth);
  if (may_show_bodies(item) && !holds(state_.whole(item), chunk)) {
    fresh.push_back(item);
    append(fresh, show_body(item, chunk, growth));
  }
  return fresh;
}

// Show the body of a chunk of a shown item with all that it needs, as far as there is room; which items are new.
Items Search::show_body(Item item, std::int32_t chunk, const Growth& growth) {
  const Depth depth(depth_);
  Items fresh;
  const Lengths& lengths = facts_.lengths(item);
  const bool is_hidden = lengths.declared == 0;
  if (is_hidden) append(fresh, show_class_of(facts_.passage(item), growth, How::kShown, 1));
  const std::int64_t cost = is_hidden ? lengths.whole + kSeparatorChars + lengths.around : facts_.body_chars(chunk);
  const Closure needed = closure(facts_.body_needs(chunk), growth, cost, is_hidden);
  if (!take(needed, growth)) return fresh;
  state_.show_body(item, chunk);
  append(fresh, needed.items);
  append(fresh, look_into({chunk, chunk + 1}, growth, How::kShown));
  return fresh;
}

}  // namespace megacpp
