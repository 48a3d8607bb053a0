#include <unordered_set>

#include "search.hpp"

namespace megacpp {

// Show an offer with all that it needs, if that is worth its price and fits; which items are new. Most offers are too
// dear by the characters that they take at least.
Items Search::buy(const Offer& offer, const Growth& growth, double uses) {
  const bool is_member = offer.number >= 0 && facts_.excerpt(offer.item).exists;
  const std::int64_t least = is_member ? facts_.excerpt(offer.item).members[offer.number].chars : 0;
  if (declares(offer) || !growth.prices->is_affordable(growth.worth(uses, least), least)) return {};
  Trial trial(*this, growth);
  Items fresh = show(offer, trial.growth());
  return trial.accept(uses) ? fresh : Items{};
}

// Show an offer, and what it needs as far as there is room; which items are new.
Items Search::show(const Offer& offer, const Growth& growth) {
  if (declares(offer)) return {};
  const Depth depth(depth_);
  const Closure found = offered(offer, growth);
  if (!take(found, growth)) return {};
  Items fresh = found.items;
  append(fresh, note(offer, growth));
  return fresh;
}

Items Search::obtain(How how, const Offer& offer, const Growth& growth, double uses) {
  return how == How::kBought ? buy(offer, growth, uses) : show(offer, growth);
}

// Whether an offer adds nothing: what it offers is shown, or the class of which it offers more is not shown by its head.
bool Search::declares(const Offer& offer) const {
  const auto [item, number] = offer;
  if (number == kHead) return state_.shows(item);
  return !state_.is_head(item) || holds(state_.members(item), number);
}

// Show a closure if there is room for all of it, and what its variables and macro calls need complete.
bool Search::take(const Closure& closure, const Growth& growth) {
  if (!growth.try_reserve(closure.chars, closure.chunks)) return false;
  for (const Item item : closure.items) {
    state_.show(item, growth.distance);
    if (facts_.shortest(item).is_head) state_.set_head(item, true);
  }
  for (const Item item : closure.items)
    if (!facts_.is_alone(item)) show_company(item, growth);
  return true;
}

// Show what an item needs complete: a variable, a class without a name of its own, code without a signature, or a
// declaration that names members of classes; and the declaration ahead of a class template.
void Search::show_company(Item item, const Growth& growth) {
  const Company& company = facts_.company(item);
  if (company.is_variable) {
    define(company.completed, growth);
    show_members(company.completed, company.wanted, growth);
    for (const Offer& offer : company.filled) show(offer, growth);
    if (company.holder != kNone) show_members({company.holder}, company.own, growth);
    for (const std::int32_t each : company.evaluated) show_evaluated_one(each, growth);
  } else if (company.is_unnamed) {
    define(company.completed, growth);
  }
  if (company.ahead != kNone) show({company.ahead, kHead}, growth);
  if (company.has_code) look_into(facts_.passage(item), growth, How::kShown);
  for (const Offer& offer : company.qualified) {
    show({offer.item, kHead}, growth);
    show(offer, growth);
  }
}

// Items in their shortest form, with everything that these forms name and that is not shown yet, as far as there is
// room. The search starts with `chars` and `chunks` that are taken already.
Search::Closure Search::closure(const Items& items, const Growth& growth, std::int64_t chars, std::int64_t chunks) {
  Closure found{{}, chars, chunks};
  std::unordered_set<Item> taken;
  Items pending = items;
  for (std::size_t next = 0; next < pending.size(); ++next) {
    if (found.chars > growth.room->chars || found.chunks > growth.room->chunks) break;
    if (state_.shows(pending[next])) continue;
    const Shortest& shortest = facts_.shortest(pending[next]);
    const Item item = shortest.item;
    if (taken.contains(item) || state_.shows(item) || is_refused(item)) continue;
    taken.insert(item);
    found.items.push_back(item);
    const std::int64_t own = is_partial(item) ? kLongestStandIn : shortest.chars;
    if (own) {
      found.chars += own + kSeparatorChars + shortest.around;
      found.chunks += shortest.chunks;
    }
    append(pending, facts_.needed(item));
  }
  return found;
}

// What an offer takes, with everything that it names.
Search::Closure Search::offered(const Offer& offer, const Growth& growth) {
  const auto [item, number] = offer;
  if (number == kHead) return closure({item}, growth);
  if (!may_open(offer)) return {{}, 0, 0};
  const Numbers& shown = state_.members(item);
  const std::int64_t chunks_of_head = facts_.lengths(item).least > 0;
  if (number == kAll) {
    const Lengths& lengths = facts_.lengths(item);
    const std::int64_t more = lengths.declared - lengths.least - chars_of(item, shown, {});
    const std::int64_t chunks = facts_.end(item) - item - chunks_of_head;
    return closure(facts_.members_need(item), growth, std::max<std::int64_t>(0, more), chunks);
  }
  const Numbers more = without(facts_.with_named(offer), shown);
  const std::int64_t chars = chars_of(item, more, shown);
  const Items& named = facts_.named_by(item, shown.empty() ? joined(more, {kOpening}) : more);
  return closure(named, growth, chars, shown.empty() ? 1 - chunks_of_head : 0);
}

std::int64_t Search::chars_of(Item item, const Numbers& members, const Numbers& shown) {
  const Excerpt& excerpt = facts_.excerpt(item);
  if (!excerpt.exists || members.empty()) return 0;
  std::int64_t chars = shown.empty() ? excerpt.opening : 0;
  Numbers known;
  for (const std::int32_t each : shown)
    if (each != kOpening) known.push_back(excerpt.members[each].label);
  for (const std::int32_t each : members) {
    if (each == kOpening) continue;
    const Member& member = excerpt.members[each];
    chars += member.chars;
    if (std::find(known.begin(), known.end(), member.label) != known.end()) continue;
    known.push_back(member.label);
    chars += member.label_chars;
  }
  return chars;
}

// Record what is shown of a class from now on, and show what it needs if it is more than its head.
Items Search::note(const Offer& offer, const Growth& growth) {
  const auto [item, number] = offer;
  if (number == kHead || !may_open(offer)) return {};
  if (number != kAll) {
    const Numbers shown = state_.members(item);
    state_.set_members(item, joined(shown, facts_.with_named(offer)));
    Items fresh = show_bases(item, growth);
    append(fresh, show_special(item, growth));
    const Numbers more = without(state_.members(item), shown);
    for (const auto& [member, bodies] : facts_.bodies_within(item))
      if (holds(more, member))
        for (const Passage& body : bodies) show_used(body, growth);
    return fresh;
  }
  state_.set_head(item, false);
  state_.drop_members(item);
  Items fresh = show_bases(item, growth);
  append(fresh, show_special(item, growth));
  const Numbers& bodies = facts_.bodies(item);
  for (std::int32_t chunk = item; chunk < facts_.end(item); ++chunk)
    if (!holds(bodies, chunk)) append(fresh, look_into({chunk, chunk + 1}, growth, How::kShown));
  return fresh;
}

// Show the short specialisations of a class template that is defined.
Items Search::show_special(Item item, const Growth& growth) {
  Items fresh;
  for (const Item special : facts_.specialised(item)) {
    if (state_.shows(special)) continue;
    append(fresh, show({special, kHead}, growth));
    append(fresh, show({special, kAll}, growth));
  }
  return fresh;
}

// Show the members that a body uses, of its own class and of others. It may name none of these classes.
void Search::show_used(const Passage& body, const Growth& growth) {
  const Uses& wanted = facts_.used(body);
  for (const Item holder : facts_.used_classes(body.first)) {
    std::vector<UsedMember> found;
    add_used(holder, wanted, found);
    for (const UsedMember& each : found) {
      show({holder, kHead}, growth);
      show(each.offer, growth);
    }
  }
}

// Show the macros of an item, of so many characters, without what they expand to, if that is worth its price: with the
// macros on which their conditions depend, which decide whether they are defined at all, or else with those that the
// conditions call, without which no preprocessor can read them.
void Search::show_macro_alone(Item item, std::int64_t chars, const Growth& growth, std::int64_t uses) {
  if (state_.shows(item) || is_refused(item)) return;
  const Asked& asked = facts_.asked_around(item);
  for (const Items* conditions : {&asked.all, &asked.called}) {
    Trial trial(*this, growth);
    Closure found = closure(*conditions, trial.growth(), chars, facts_.end(item) - item);
    if (std::find(found.items.begin(), found.items.end(), item) == found.items.end()) found.items.push_back(item);
    if (take(found, trial.growth()) && trial.accept(static_cast<double>(uses))) return;
    if (asked.all.size() == asked.called.size()) return;
  }
}

}  // namespace megacpp
